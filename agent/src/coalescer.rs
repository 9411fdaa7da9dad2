//! The coalescer: which file is scanned when.
//!
//! The first change of a file is scanned at once; repeats wait until the file has been quiet for
//! [`QUIET`], at most [`QUIET_MAX`], and become one scan. A file under a passing or no name waits up to
//! [`SETTLE`] for its real one. It owns the waiting changes and nothing else: no thread, no clock (the
//! caller says what time it is) and no file. When it is full it says so and forgets nothing that waits.
//!
//! Memory is bounded by [`PENDING_MAX`] changes and [`REMEMBERED_MAX`] files, and reserved up front.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::time::Instant;

use crate::change::Change;
use crate::limits::{PENDING_MAX, QUIET, QUIET_MAX, REMEMBERED_MAX, SETTLE};

/// What happened to the file of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It was closed after writing.
    Closed,
    /// It got a name by a rename.
    Renamed,
    /// It was created or linked and may still be open.
    Created,
    /// It is to be looked at again, or was found by a walk.
    Found,
}

/// There is no room for a change that has to wait: it was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many files wait to be scanned")]
pub struct Full;

/// A file by a hash under a random key; two files with the same one are one in 2^64 pairs.
type Key = u64;

#[derive(Debug)]
struct Remembered {
    /// When something is due, or when the file may be forgotten.
    due: Instant,
    /// The slot of the change that waits.
    waiting: Option<u32>,
}

#[derive(Debug)]
struct Waiting {
    change: Change,
    since: Instant,
    /// Whether the content is complete as far as is known.
    complete: bool,
    /// Whether the file was scanned before, so that this is a repeat.
    repeat: bool,
}

/// The files with recent changes.
#[derive(Debug)]
pub struct Coalescer {
    hasher: RandomState,
    files: HashMap<Key, Remembered>,
    /// One timer for each remembered file; it is set anew if it rings before the file is due.
    timers: BinaryHeap<Reverse<(Instant, Key)>>,
    /// The changes that wait or are ready, and the slots that are free.
    slots: Vec<Option<Waiting>>,
    free: Vec<u32>,
    ready: VecDeque<u32>,
}

impl Coalescer {
    /// Makes a coalescer and reserves all the memory that it will need.
    #[must_use]
    pub fn new() -> Self {
        Self {
            hasher: RandomState::new(),
            files: HashMap::with_capacity(REMEMBERED_MAX),
            timers: BinaryHeap::with_capacity(REMEMBERED_MAX),
            slots: Vec::with_capacity(PENDING_MAX),
            free: Vec::with_capacity(PENDING_MAX),
            ready: VecDeque::with_capacity(PENDING_MAX),
        }
    }

    /// Takes a change.
    ///
    /// # Errors
    ///
    /// [`Full`] if there is no room for it: the caller must catch up by other means.
    pub fn take(&mut self, change: Change, kind: Kind, now: Instant) -> Result<(), Full> {
        let key = self.hasher.hash_one(change.file);
        let Some(file) = self.files.get_mut(&key) else {
            return self.take_first(key, change, kind, now);
        };
        if let Some(slot) = file.waiting {
            let waiting = self.slots[slot as usize].as_mut().expect("a waiting change has a slot");
            waiting.merge(change, kind);
            if waiting.repeat {
                file.due = (now + QUIET).min(waiting.since + QUIET_MAX);
            } else if waiting.is_settled() {
                file.waiting = None;
                file.due = now + QUIET;
                self.ready.push_back(slot);
            }
            return Ok(());
        }
        let slot = self.store(Waiting { change, since: now, complete: true, repeat: true })?;
        if let Some(file) = self.files.get_mut(&key) {
            file.waiting = Some(slot);
            file.due = now + QUIET;
        }
        Ok(())
    }

    fn take_first(
        &mut self,
        key: Key,
        change: Change,
        kind: Kind,
        now: Instant,
    ) -> Result<(), Full> {
        if self.files.len() >= REMEMBERED_MAX {
            return Err(Full);
        }
        let complete = kind != Kind::Created && change.retries == 0;
        let waiting = Waiting { change, since: now, complete, repeat: false };
        let settled = waiting.is_settled();
        let slot = self.store(waiting)?;
        let due = now + if settled { QUIET } else { SETTLE };
        if settled {
            self.ready.push_back(slot);
        }
        self.files.insert(key, Remembered { due, waiting: (!settled).then_some(slot) });
        self.timers.push(Reverse((due, key)));
        Ok(())
    }

    /// The next change to scan, if one is due.
    pub fn next(&mut self, now: Instant) -> Option<Change> {
        while let Some(&Reverse((time, key))) = self.timers.peek()
            && time <= now
        {
            self.timers.pop();
            self.ring(key, now);
        }
        let slot = self.ready.pop_front()?;
        self.free.push(slot);
        let waiting = self.slots[slot as usize].take().expect("a ready change has a slot");
        Some(waiting.change)
    }

    /// The timer of a file has run out.
    fn ring(&mut self, key: Key, now: Instant) {
        let file = self.files.get_mut(&key).expect("a timer belongs to a remembered file");
        if file.due <= now {
            let Some(slot) = file.waiting.take() else {
                self.files.remove(&key);
                return;
            };
            self.ready.push_back(slot);
            file.due = now + QUIET;
        }
        self.timers.push(Reverse((file.due, key)));
    }

    /// When to call [`next`](Self::next) again; `None` if nothing is remembered.
    #[must_use]
    pub fn next_timer(&self) -> Option<Instant> {
        self.timers.peek().map(|&Reverse((time, _))| time)
    }

    /// Number of changes that wait or are ready.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether a change is ready now.
    #[must_use]
    pub fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Makes all that waits ready, for the end.
    pub fn flush(&mut self) {
        self.ready.extend(self.files.values().filter_map(|file| file.waiting));
        self.files.clear();
        self.timers.clear();
    }

    fn store(&mut self, waiting: Waiting) -> Result<u32, Full> {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = Some(waiting);
            return Ok(slot);
        }
        if self.slots.len() == PENDING_MAX {
            return Err(Full);
        }
        self.slots.push(Some(waiting));
        Ok(u32::try_from(self.slots.len() - 1).expect("PENDING_MAX fits 32 bits"))
    }
}

impl Default for Coalescer {
    fn default() -> Self {
        Self::new()
    }
}

impl Waiting {
    fn merge(&mut self, change: Change, kind: Kind) {
        self.complete |= kind != Kind::Created;
        // A placeholder such as `#16` never replaces the name that a link or a rename gave.
        let names = matches!(kind, Kind::Renamed | Kind::Created);
        if change.at.is_some() && (names || !change.has_passing_name()) {
            self.change.at = change.at;
        }
        if change.process.is_some() {
            self.change.process = change.process;
        }
        self.change.retries = self.change.retries.max(change.retries);
    }

    /// Whether nothing is to be gained by waiting longer.
    fn is_settled(&self) -> bool {
        self.complete && !self.change.has_passing_name()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::change::Source;
    use crate::fanotify::{FileHandle, FileSystemId, Name};

    fn handle(number: u32) -> FileHandle {
        FileHandle::new(FileSystemId([1; 8]), 1, &number.to_le_bytes()).unwrap()
    }

    fn change(number: u32, name: &str) -> Change {
        let at = Name::new(name.as_bytes()).map(|name| (handle(u32::MAX), name));
        let source = Source::Fanotify;
        Change { file: handle(number), at, process: None, source, retries: 0 }
    }

    fn name(change: &Change) -> String {
        String::from_utf8(change.at.unwrap().1.bytes().to_vec()).unwrap()
    }

    fn names(coalescer: &mut Coalescer, now: Instant) -> Vec<String> {
        std::iter::from_fn(|| coalescer.next(now)).map(|change| name(&change)).collect()
    }

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn the_first_close_is_ready_at_once_and_repeats_become_one() {
        let (mut coalescer, start) = (Coalescer::new(), Instant::now());
        coalescer.take(change(1, "a"), Kind::Closed, start).unwrap();
        assert_eq!(names(&mut coalescer, start), ["a"]);
        for at in 1..100 {
            coalescer.take(change(1, "a"), Kind::Closed, start + at * MS).unwrap();
            assert!(names(&mut coalescer, start + at * MS).is_empty());
        }
        assert!(names(&mut coalescer, start + 300 * MS).is_empty());
        assert_eq!(names(&mut coalescer, start + 350 * MS), ["a"]);
        assert!(names(&mut coalescer, start + 10_000 * MS).is_empty());
        assert_eq!((coalescer.next_timer(), coalescer.pending()), (None, 0));
    }

    #[test]
    fn a_file_that_is_never_quiet_is_still_scanned() {
        let (mut coalescer, start) = (Coalescer::new(), Instant::now());
        let mut scans = 0;
        for at in 0..20_000 {
            let now = start + at * MS;
            coalescer.take(change(1, "log"), Kind::Closed, now).unwrap();
            scans += names(&mut coalescer, now).len();
        }
        assert!((4..=6).contains(&scans), "{scans} scans in 20 seconds");
    }

    #[test]
    fn a_temporary_file_waits_for_its_rename() {
        let (mut coalescer, start) = (Coalescer::new(), Instant::now());
        coalescer.take(change(1, ".a.tmp"), Kind::Closed, start).unwrap();
        assert!(names(&mut coalescer, start + MS).is_empty());
        coalescer.take(change(1, "a"), Kind::Renamed, start + 2 * MS).unwrap();
        assert_eq!(names(&mut coalescer, start + 2 * MS), ["a"]);
        assert!(names(&mut coalescer, start + 5_000 * MS).is_empty());
    }

    #[test]
    fn a_temporary_file_that_stays_is_scanned_under_its_name() {
        let (mut coalescer, start) = (Coalescer::new(), Instant::now());
        coalescer.take(change(1, "a.tmp"), Kind::Closed, start).unwrap();
        assert_eq!(names(&mut coalescer, start + SETTLE), ["a.tmp"]);
    }

    #[test]
    fn a_file_linked_from_nowhere_gets_its_name_in_either_order() {
        let (mut coalescer, start) = (Coalescer::new(), Instant::now());
        coalescer.take(change(1, "#16"), Kind::Closed, start).unwrap();
        coalescer.take(change(1, "linked"), Kind::Created, start + MS).unwrap();
        assert_eq!(names(&mut coalescer, start + MS), ["linked"]);
        coalescer.take(change(2, "other"), Kind::Created, start).unwrap();
        assert!(names(&mut coalescer, start + MS).is_empty());
        coalescer.take(change(2, "#17"), Kind::Closed, start + 2 * MS).unwrap();
        assert_eq!(names(&mut coalescer, start + 2 * MS), ["other"]);
    }

    #[test]
    fn creating_then_closing_is_one_scan() {
        let (mut coalescer, start) = (Coalescer::new(), Instant::now());
        coalescer.take(change(1, "a"), Kind::Created, start).unwrap();
        coalescer.take(change(1, "a"), Kind::Closed, start + 40 * MS).unwrap();
        assert_eq!(names(&mut coalescer, start + 40 * MS), ["a"]);
        assert!(names(&mut coalescer, start + 5_000 * MS).is_empty());
    }

    #[test]
    fn a_hard_link_is_scanned_though_nobody_closes_it() {
        let (mut coalescer, start) = (Coalescer::new(), Instant::now());
        coalescer.take(change(1, "link"), Kind::Created, start).unwrap();
        assert_eq!(names(&mut coalescer, start + SETTLE), ["link"]);
    }

    #[test]
    fn full_is_an_error_and_loses_nothing_that_waits() {
        let (mut coalescer, start) = (Coalescer::new(), Instant::now());
        for number in 0..u32::try_from(PENDING_MAX).unwrap() {
            coalescer.take(change(number, "a"), Kind::Closed, start).unwrap();
        }
        assert_eq!(coalescer.take(change(u32::MAX, "b"), Kind::Closed, start), Err(Full));
        assert_eq!(names(&mut coalescer, start).len(), PENDING_MAX);
        coalescer.take(change(u32::MAX, "b"), Kind::Closed, start).unwrap();
        assert_eq!(names(&mut coalescer, start), ["b"]);
    }

    #[test]
    fn flush_gives_out_what_waits() {
        let (mut coalescer, start) = (Coalescer::new(), Instant::now());
        coalescer.take(change(1, "a.tmp"), Kind::Closed, start).unwrap();
        coalescer.take(change(2, "b"), Kind::Created, start).unwrap();
        coalescer.flush();
        let mut left = names(&mut coalescer, start);
        left.sort();
        assert_eq!(left, ["a.tmp", "b"]);
        assert_eq!(coalescer.pending(), 0);
    }
}
