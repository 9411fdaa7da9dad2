//! The agent's own log: to the journal under systemd, else to standard error.
//!
//! Nothing that comes from outside reaches it unescaped, and nothing of a secret ever.

use std::io::{self, Write};

use anyhow::{Context, Result};
use log::{LevelFilter, Log, Metadata, Record};
use systemd_journal_logger::JournalLog;

/// Starts logging to the journal.
///
/// # Errors
///
/// If journald does not listen, or a logger is there already.
pub fn to_journal() -> Result<()> {
    let journal = JournalLog::new().context("the journal does not answer")?;
    journal.with_syslog_identifier("lapwing".to_owned()).install()?;
    log::set_max_level(LevelFilter::Info);
    Ok(())
}

/// Starts logging to standard error; with `quiet` only errors.
///
/// # Errors
///
/// If a logger is there already.
pub fn to_stderr(quiet: bool) -> Result<()> {
    log::set_boxed_logger(Box::new(StderrLog))?;
    log::set_max_level(if quiet { LevelFilter::Error } else { LevelFilter::Info });
    Ok(())
}

/// `lapwing: warning: …`
struct StderrLog;

impl Log for StderrLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let level = match record.level() {
            log::Level::Error => "error: ",
            log::Level::Warn => "warning: ",
            _ => "",
        };
        // With standard error gone there is nobody left to tell.
        let _ = writeln!(io::stderr(), "lapwing: {level}{}", record.args());
    }

    fn flush(&self) {}
}
