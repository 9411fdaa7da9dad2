//! The queue between the reader and the scan workers.
//!
//! One producer owns a deque that never holds more than `QUEUE_MAX` changes; consumers steal from it and
//! sleep when it is empty. It knows nothing of what a change means. Nothing is allocated once the deque
//! has grown to its bound.

use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crossbeam_deque::{Steal, Stealer, Worker};

use crate::change::Change;
use crate::limits::QUEUE_MAX;

#[derive(Debug, Default)]
struct Shared {
    len: AtomicUsize,
    sleeping: AtomicUsize,
    closed: Mutex<bool>,
    wake: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, bool> {
        // A flag cannot be left half changed.
        self.closed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The end that the reader holds. Dropping it closes the queue.
#[derive(Debug)]
pub struct Producer {
    deque: Worker<Change>,
    shared: Arc<Shared>,
}

/// The end that a worker holds.
#[derive(Clone, Debug)]
pub struct Consumer {
    stealer: Stealer<Change>,
    shared: Arc<Shared>,
}

/// Makes a queue.
#[must_use]
pub fn queue() -> (Producer, Consumer) {
    let deque = Worker::new_fifo();
    let shared = Arc::new(Shared::default());
    let consumer = Consumer { stealer: deque.stealer(), shared: Arc::clone(&shared) };
    (Producer { deque, shared }, consumer)
}

impl Producer {
    /// Whether a change can be pushed.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.shared.len.load(Ordering::Acquire) < QUEUE_MAX
    }

    /// Adds a change and wakes a worker.
    ///
    /// # Panics
    ///
    /// If there is no room: only this end adds, so [`has_room`](Self::has_room) can be trusted.
    pub fn push(&self, change: Change) {
        assert!(self.has_room());
        self.shared.len.fetch_add(1, Ordering::AcqRel);
        self.deque.push(change);
        // Pairs with the fence in `take`: either we see the sleeper or it sees the change.
        fence(Ordering::SeqCst);
        if self.shared.sleeping.load(Ordering::Relaxed) > 0 {
            drop(self.shared.lock());
            self.shared.wake.notify_one();
        }
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        *self.shared.lock() = true;
        self.shared.wake.notify_all();
    }
}

impl Consumer {
    /// Waits for a change. `None` once the queue is closed and empty.
    #[must_use]
    pub fn take(&self) -> Option<Change> {
        loop {
            if let Some(change) = self.steal() {
                return Some(change);
            }
            let closed = self.shared.lock();
            self.shared.sleeping.fetch_add(1, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            let change = self.steal();
            if change.is_none() && !*closed {
                drop(self.shared.wake.wait(closed));
                self.shared.sleeping.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            self.shared.sleeping.fetch_sub(1, Ordering::Relaxed);
            return change;
        }
    }

    fn steal(&self) -> Option<Change> {
        loop {
            match self.stealer.steal() {
                Steal::Success(change) => {
                    self.shared.len.fetch_sub(1, Ordering::AcqRel);
                    return Some(change);
                }
                Steal::Empty => return None,
                Steal::Retry => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::change::Source;
    use crate::fanotify::{FileHandle, FileSystemId};

    fn change(number: u32) -> Change {
        let file = FileHandle::new(FileSystemId([0; 8]), 0, &number.to_le_bytes()).unwrap();
        Change { file, at: None, process: None, source: Source::Fanotify, retries: 0 }
    }

    #[test]
    fn every_change_is_taken_once_and_workers_end() {
        const COUNT: u32 = 50_000;
        let (producer, consumer) = queue();
        let workers: Vec<_> = (0..4)
            .map(|_| {
                let consumer = consumer.clone();
                thread::spawn(move || {
                    std::iter::from_fn(|| consumer.take())
                        .map(|change| u32::from_le_bytes(change.file.bytes().try_into().unwrap()))
                        .collect::<Vec<u32>>()
                })
            })
            .collect();
        for number in 0..COUNT {
            while !producer.has_room() {
                thread::yield_now();
            }
            producer.push(change(number));
            if number % 1000 == 0 {
                thread::sleep(std::time::Duration::from_micros(200));
            }
        }
        drop(producer);
        let mut taken: Vec<u32> =
            workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect();
        taken.sort_unstable();
        assert!(taken.into_iter().eq(0..COUNT));
    }

    #[test]
    fn room_is_bounded() {
        let (producer, consumer) = queue();
        for number in 0..u32::try_from(QUEUE_MAX).unwrap() {
            producer.push(change(number));
        }
        assert!(!producer.has_room());
        assert!(consumer.take().is_some());
        assert!(producer.has_room());
    }
}
