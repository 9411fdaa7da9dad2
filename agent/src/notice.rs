//! Notices about the agent itself that somebody may be waiting for: events lost, events made good.
//!
//! In the journal they carry a `MESSAGE_ID`; elsewhere they are lines of the log.

use std::sync::Arc;

use crate::journal::{EVENTS_LOST, Journal, RECOVERED};

/// Where notices go.
#[derive(Clone, Debug, Default)]
pub struct Notices {
    journal: Option<Arc<Journal>>,
}

impl Notices {
    /// Notices in the journal.
    #[must_use]
    pub fn in_journal(journal: Journal) -> Self {
        Self { journal: Some(Arc::new(journal)) }
    }

    /// Events were lost, and a catch-up was asked for.
    pub fn events_lost(&self, why: &str) {
        let message =
            format!("{why}: some events were lost; looking for what they would have told");
        self.send(EVENTS_LOST, &message, &[]);
    }

    /// A catch-up has ended: the files that it found are being scanned.
    pub fn recovered(&self, found: u64, failed: u64) {
        let message = format!(
            "caught up with lost events: {found} changed files found, {failed} paths could not be read"
        );
        self.send(RECOVERED, &message, &[("FOUND", found), ("FAILED", failed)]);
    }

    fn send(&self, id: &str, message: &str, fields: &[(&str, u64)]) {
        let Some(journal) = &self.journal else {
            log::warn!("{message}");
            return;
        };
        if let Err(error) = journal.notice(id, message, fields) {
            log::error!("the journal did not take a notice ({error}): {message}");
        }
    }
}
