//! What happened to the files that the agent was told of, counted so that nothing is skipped in silence.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of a run; written by all threads, read at the end and for `STATUS=`.
#[derive(Debug, Default)]
pub struct Counters {
    /// Files scanned to their end.
    pub scanned: AtomicU64,
    /// Bytes read of them.
    pub bytes: AtomicU64,
    /// Findings reported.
    pub findings: AtomicU64,
    /// Changes outside the watched paths.
    pub elsewhere: AtomicU64,
    /// Files gone before they could be read.
    pub gone: AtomicU64,
    /// Directories, FIFOs, devices, sockets and links.
    pub not_regular: AtomicU64,
    /// Files that became shorter while they were read.
    pub shrank: AtomicU64,
    /// Files that could not be read.
    pub unreadable: AtomicU64,
}

impl Counters {
    /// Adds to a counter.
    pub fn add(counter: &AtomicU64, amount: u64) {
        counter.fetch_add(amount, Ordering::Relaxed);
    }

    /// Reads a counter.
    #[must_use]
    pub fn get(counter: &AtomicU64) -> u64 {
        counter.load(Ordering::Relaxed)
    }

    /// One line with everything that is not zero.
    #[must_use]
    pub fn summary(&self) -> String {
        let get = Self::get;
        let mut text = format!(
            "{} files ({} bytes) scanned, {} findings",
            get(&self.scanned),
            get(&self.bytes),
            get(&self.findings)
        );
        for (counter, what) in [
            (&self.unreadable, "could not be read"),
            (&self.shrank, "became shorter while they were read"),
            (&self.gone, "were gone before they could be read"),
        ] {
            if get(counter) > 0 {
                write!(text, ", {} {what}", get(counter)).expect("a String takes all");
            }
        }
        text
    }
}
