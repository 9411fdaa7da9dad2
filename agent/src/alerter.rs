//! The alerter: the one thread that shows alerts, in the journal or on standard output.
//!
//! Whatever it writes to may be slow or block; only workers with an alert to send ever wait for it.

use std::io::{self, Stdout};
use std::sync::Arc;

use anyhow::{Context, Result};
use crossbeam_channel::Receiver;
use engine::Engine;

use crate::alert::Alert;
use crate::journal::Journal;
use crate::report::{Format, Writer};

/// Where alerts go.
#[derive(Debug)]
pub enum Alerter {
    /// Standard output, a line each.
    Stdout(Writer<Stdout>),
    /// The journal; standard error if that fails, so that no alert is lost in silence.
    Journal(Journal),
}

impl Alerter {
    /// Alerts on standard output.
    #[must_use]
    pub fn stdout(format: Format) -> Self {
        Self::Stdout(Writer::new(io::stdout(), format))
    }

    /// Shows alerts until all senders are gone.
    ///
    /// # Errors
    ///
    /// If standard output cannot be written to any more.
    pub fn run(mut self, engine: &Arc<Engine>, alerts: &Receiver<Alert>) -> Result<()> {
        for alert in alerts {
            self.show(engine, &alert)?;
        }
        Ok(())
    }

    fn show(&mut self, engine: &Engine, alert: &Alert) -> Result<()> {
        let rule = engine.rule(alert.finding.rule);
        match self {
            Self::Stdout(writer) => writer.write(rule, alert).context("writing to standard output"),
            Self::Journal(journal) => {
                if let Err(error) = journal.alert(rule, alert) {
                    log::error!("the journal did not take an alert ({error}): it follows");
                    Writer::new(io::stderr(), Format::Jsonl)
                        .write(rule, alert)
                        .context("writing to standard error")?;
                }
                Ok(())
            }
        }
    }
}
