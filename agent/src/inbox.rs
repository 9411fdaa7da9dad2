//! The way back to the reader: files to try again and files that a walk found.
//!
//! A bounded channel and an eventfd that wakes the reader. Workers never wait for room, since the reader
//! may be waiting for them; a walk does.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crossbeam_channel::{Receiver, Sender, TrySendError};
use rustix::event::{EventfdFlags, eventfd};

use crate::change::Change;
use crate::limits::INBOX_MAX;

#[derive(Debug)]
struct Bell {
    eventfd: OwnedFd,
    stop: AtomicBool,
    refused: AtomicU64,
}

/// The senders' end.
#[derive(Clone, Debug)]
pub struct Inbox {
    sender: Sender<Change>,
    bell: Arc<Bell>,
}

/// The reader's end.
#[derive(Debug)]
pub struct Received {
    receiver: Receiver<Change>,
    bell: Arc<Bell>,
}

/// Makes an inbox.
///
/// # Errors
///
/// If the kernel has no descriptor left.
pub fn inbox() -> io::Result<(Inbox, Received)> {
    let (sender, receiver) = crossbeam_channel::bounded(INBOX_MAX);
    let bell = Arc::new(Bell {
        eventfd: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        stop: AtomicBool::new(false),
        refused: AtomicU64::new(0),
    });
    Ok((Inbox { sender, bell: Arc::clone(&bell) }, Received { receiver, bell }))
}

impl Inbox {
    /// Hands back a change that could not be dealt with now. Without room it is counted as lost, which
    /// makes the reader catch up. `false` says that the reader has ended.
    #[must_use]
    pub fn give_back(&self, change: Change) -> bool {
        match self.sender.try_send(change) {
            Ok(()) => {}
            Err(TrySendError::Disconnected(_)) => return false,
            Err(TrySendError::Full(_)) => {
                self.bell.refused.fetch_add(1, Ordering::Relaxed);
            }
        }
        self.ring();
        true
    }

    /// Hands in a change that a walk found; waits for room. `false` says that the reader has ended.
    #[must_use]
    pub fn hand_in(&self, change: Change) -> bool {
        let sent = self.sender.send(change).is_ok();
        self.ring();
        sent
    }

    /// Tells the reader to stop.
    pub fn stop(&self) {
        self.bell.stop.store(true, Ordering::Release);
        self.ring();
    }

    fn ring(&self) {
        // A full counter is a bell that rings already.
        let _ = rustix::io::write(&self.bell.eventfd, &1_u64.to_ne_bytes());
    }
}

impl Received {
    /// The next change handed in, if there is one.
    #[must_use]
    pub fn next(&self) -> Option<Change> {
        self.receiver.try_recv().ok()
    }

    /// Whether the reader is to stop.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.bell.stop.load(Ordering::Acquire)
    }

    /// How many changes found no room since this was asked last.
    #[must_use]
    pub fn take_refused(&self) -> u64 {
        self.bell.refused.swap(0, Ordering::Relaxed)
    }

    /// Silences the bell; what is handed in from now on rings it again.
    pub fn silence(&self) {
        let mut count = [0; 8];
        // Nothing to read is what is wanted.
        let _ = rustix::io::read(&self.bell.eventfd, &mut count);
    }
}

impl AsFd for Received {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.eventfd.as_fd()
    }
}
