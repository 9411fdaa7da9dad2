//! A scan worker of `watch`: takes changes, scans their files, sends alerts.
//!
//! It owns its scanner and its locator and holds a file open only while it scans it. Allocates nothing for
//! a file without findings.

use std::hash::RandomState;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crossbeam_channel::Sender;
use engine::{Confidence, Engine, EngineError, Finding};

use crate::alert::Alert;
use crate::change::Change;
use crate::counters::Counters;
use crate::escape::for_people;
use crate::file_scanner::FileScanner;
use crate::inbox::Inbox;
use crate::known::{Identity, Known};
use crate::limits::{RETRIES_MAX, SECRETS_PER_FILE_MAX};
use crate::locator::{Located, Locator, Unavailable};
use crate::watchlist::Watchlist;

/// What all workers share.
#[derive(Clone, Debug)]
pub struct Shared {
    /// The rules, compiled.
    pub engine: Arc<Engine>,
    /// Findings below it are not reported.
    pub min_confidence: Confidence,
    /// What is watched.
    pub watchlist: Arc<RwLock<Watchlist>>,
    /// What was reported.
    pub known: Arc<Mutex<Known>>,
    /// What happened.
    pub counters: Arc<Counters>,
    /// Where alerts go.
    pub alerts: Sender<Alert>,
    /// Where files go that are to be tried again.
    pub inbox: Inbox,
}

/// One worker.
#[derive(Debug)]
pub struct Worker {
    shared: Shared,
    scanner: FileScanner,
    locator: Locator,
    hasher: RandomState,
    found: Vec<(Identity, Finding)>,
}

impl Worker {
    /// Allocates all that it needs.
    ///
    /// # Errors
    ///
    /// If the engine has no memory for another worker.
    pub fn new(shared: Shared) -> Result<Self, EngineError> {
        let hasher = {
            let known = shared.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.hasher().clone()
        };
        Ok(Self {
            hasher,
            scanner: FileScanner::new(Arc::clone(&shared.engine), shared.min_confidence)?,
            locator: Locator::new(Arc::clone(&shared.watchlist)),
            found: Vec::new(),
            shared,
        })
    }

    /// Deals with one change.
    pub fn process(&mut self, change: Change) {
        let located = match self.locator.open(&change) {
            Ok(located) => located,
            Err(reason) => return self.not_scanned(change, reason),
        };
        self.scan(&change, &located);
    }

    fn scan(&mut self, change: &Change, located: &Located) {
        let Self { scanner, found, hasher, .. } = self;
        found.clear();
        let mut dropped = 0_u64;
        let scanned = scanner.scan_file(
            located.file.as_fd(),
            &located.stat,
            &mut |finding: &Finding, _secret| {
                let identity = Known::identity(hasher, finding);
                if found.iter().any(|(known, _)| *known == identity) {
                    return;
                }
                if found.len() == SECRETS_PER_FILE_MAX {
                    dropped += 1;
                    return;
                }
                found.push((identity, finding.clone()));
            },
        );
        let counters = &self.shared.counters;
        let complete = scanned.as_ref().is_ok_and(|scanned| !scanned.shrank);
        match scanned {
            Ok(scanned) => {
                Counters::add(&counters.scanned, 1);
                Counters::add(&counters.bytes, scanned.bytes);
                Counters::add(&counters.shrank, u64::from(scanned.shrank));
            }
            Err(error) => {
                Counters::add(&counters.unreadable, 1);
                log::warn!("{}: {error}", for_people(self.locator.label()));
            }
        }
        if dropped > 0 {
            let path = for_people(self.locator.label());
            log::warn!(
                "{path}: {dropped} findings beyond the first {SECRETS_PER_FILE_MAX} secrets are \
                 not shown one by one; `lapwing scan` shows them all"
            );
        }
        self.report(change, located, complete);
    }

    /// Sends an alert for each finding that is new to the file's path.
    fn report(&mut self, change: &Change, located: &Located, complete: bool) {
        let known = &self.shared.known;
        if self.found.is_empty() {
            if complete {
                let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
                known.clean(self.locator.label());
            }
            return;
        }
        let Some(path) = self.locator.current_path(located) else {
            return Counters::add(&self.shared.counters.gone, 1);
        };
        known.lock().unwrap_or_else(PoisonError::into_inner).retain_new(
            path.as_os_str().as_bytes(),
            &mut self.found,
            complete,
        );
        for (_, finding) in self.found.drain(..) {
            Counters::add(&self.shared.counters.findings, 1);
            let alert = Alert {
                finding,
                path: path.clone(),
                process: change.process.clone(),
                source: change.source,
                secret: None,
            };
            if self.shared.alerts.send(alert).is_err() {
                // The alerter has ended and said why; the agent is stopping.
                return;
            }
        }
    }

    /// The path of the current file for messages, or what is known of it.
    fn shown(&self, change: &Change) -> String {
        match (self.locator.label(), change.at) {
            (b"", Some((_, name))) => format!("…/{}", for_people(name.bytes())),
            (b"", None) => "a file without a known path".to_owned(),
            (label, _) => for_people(label),
        }
    }

    fn not_scanned(&mut self, mut change: Change, reason: Unavailable) {
        let counters = &self.shared.counters;
        match reason {
            Unavailable::Elsewhere => Counters::add(&counters.elsewhere, 1),
            Unavailable::Gone | Unavailable::Unmounted => Counters::add(&counters.gone, 1),
            Unavailable::NotRegular => Counters::add(&counters.not_regular, 1),
            Unavailable::Busy(code) => {
                change.retries = change.retries.saturating_add(1);
                let shown = self.shown(&change);
                if change.retries > RETRIES_MAX || !self.shared.inbox.give_back(change) {
                    Counters::add(&counters.unreadable, 1);
                    let error = std::io::Error::from_raw_os_error(code);
                    log::warn!("{shown}: {error}; not scanned after {RETRIES_MAX} tries");
                }
            }
            Unavailable::Refused(code) => {
                Counters::add(&counters.unreadable, 1);
                let error = std::io::Error::from_raw_os_error(code);
                log::warn!("{}: {error}; not scanned", self.shown(&change));
            }
        }
    }
}
