//! The reader: the one thread that drains the fanotify group.
//!
//! It takes events from the kernel as fast as they come, notes who caused them, coalesces them and hands
//! changes to the workers. It never opens a watched file, and never waits for workers, alerts or the
//! disk: what finds no room becomes a catch-up. It ends when it is told to, after all that waits is
//! handed out.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use crossbeam_channel::{Sender, TrySendError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::catchup::Request;
use crate::change::{Change, Source};
use crate::coalescer::{Coalescer, Kind};
use crate::escape::for_people;
use crate::fanotify::{FileHandle, Group, GroupError, Happening, Name};
use crate::inbox::Received;
use crate::limits::{BUSY_NAP, CATCHUP_SLACK, PENDING_MAX, QUICK_WAKES_MAX, READS_MAX, ROOT_RETRY};
use crate::process::Processes;
use crate::queue::Producer;
use crate::watchlist::{Root, Watchlist};

/// How soon to look again when the workers' queue is full.
const FULL_RETRY: Duration = Duration::from_millis(1);

/// The reader's state.
#[derive(Debug)]
pub struct Reader {
    /// The group, marked already.
    pub group: Group,
    /// What is watched.
    pub watchlist: Arc<RwLock<Watchlist>>,
    /// Watched paths that do not exist yet.
    pub missing: Vec<PathBuf>,
    /// Changes that come back.
    pub received: Received,
    /// Where changes go.
    pub producer: Producer,
    /// Where catch-ups are asked for.
    pub catchups: Sender<Request>,
    /// Whether a catch-up over lost events waits to begin.
    pub catchup_waits: Arc<AtomicBool>,
}

/// What the reader learns while it drains.
#[derive(Debug)]
struct Desk {
    coalescer: Coalescer,
    processes: Processes,
    catchups: Sender<Request>,
    watchlist: Arc<RwLock<Watchlist>>,
    /// When the kernel's queue was last seen empty.
    drained: SystemTime,
    /// Whether a catch-up waits to begin: it will cover every loss until then.
    catchup_waits: Arc<AtomicBool>,
}

impl Reader {
    /// Reads until told to stop.
    ///
    /// # Errors
    ///
    /// If the group or poll(2) fails: the agent is blind and must end.
    pub fn run(self) -> Result<(), GroupError> {
        let Self { mut group, watchlist, mut missing, received, producer, .. } = self;
        let mut desk = Desk {
            coalescer: Coalescer::new(),
            processes: Processes::new(),
            catchups: self.catchups,
            watchlist,
            drained: SystemTime::now(),
            catchup_waits: self.catchup_waits,
        };
        let mut next_look = Instant::now() + ROOT_RETRY;
        let mut stopping = false;
        let mut quick = 0_u32;
        loop {
            let now = Instant::now();
            let full = desk.coalescer.has_ready();
            let root_timer = (!missing.is_empty()).then_some(next_look);
            wait(&group, &received, timeout(&desk, root_timer, full, now))
                .map_err(|error| GroupError::Read(error.into()))?;
            // One file alone makes two or three events in a row, and its alert must not wait.
            quick = if now.elapsed() < BUSY_NAP { quick + 1 } else { 0 };
            if quick > QUICK_WAKES_MAX {
                // Events come one upon the other: let some gather, and the kernel merge them.
                sleep(BUSY_NAP);
            }
            received.silence();
            // What is written from here on is left to the next start.
            if !stopping {
                stopping = received.is_stopped();
                desk.drain(&mut group, &producer)?;
                desk.collect(&received);
            }
            if stopping {
                desk.coalescer.flush();
            }
            let now = Instant::now();
            desk.hand_out(&producer, now);
            if stopping && !desk.coalescer.has_ready() {
                return Ok(());
            }
            if now >= next_look {
                next_look = now + ROOT_RETRY;
                desk.look_for(&mut missing, &group);
            }
        }
    }
}

impl Desk {
    /// Takes everything that the kernel has, or a good part of it if others add to it all the time.
    fn drain(&mut self, group: &mut Group, producer: &Producer) -> Result<(), GroupError> {
        let started = SystemTime::now();
        for _ in 0..READS_MAX {
            let more = group.read(|happening, pid, pidfd| {
                self.on_event(&happening, pid, pidfd, Instant::now());
            })?;
            if !more {
                self.drained = started;
                return Ok(());
            }
            self.hand_out(producer, Instant::now());
        }
        Ok(())
    }

    fn on_event(&mut self, happening: &Happening, pid: i32, pidfd: Option<OwnedFd>, now: Instant) {
        let (file, at, kind) = match happening {
            Happening::Closed { file, at } => (file, *at, Kind::Closed),
            Happening::Renamed { file, at } => (file, Some(*at), Kind::Renamed),
            Happening::Created { file, at } => (file, Some(*at), Kind::Created),
            Happening::DirectoryRenamed { at } => return self.directory_renamed(at.as_ref()),
            Happening::Overflow => return self.lost("the kernel's event queue was full"),
        };
        let process = self.processes.identify(pid, pidfd);
        let change = Change { file: *file, at, process, source: Source::Fanotify, retries: 0 };
        self.take(change, kind, now);
    }

    fn take(&mut self, change: Change, kind: Kind, now: Instant) {
        if self.coalescer.take(change, kind, now).is_err() {
            self.lost("too many changed files wait to be scanned");
        }
    }

    fn directory_renamed(&mut self, at: Option<&(FileHandle, Name)>) {
        self.watchlist.read().unwrap_or_else(PoisonError::into_inner).renew();
        let Some(at) = at else { return };
        if self.catchups.try_send(Request::Moved(Box::new(*at))).is_err() {
            self.lost("too many moved directories wait to be looked at");
        }
    }

    /// Asks for a catch-up over the time since the kernel's queue was last empty.
    fn lost(&mut self, why: &'static str) {
        if self.catchup_waits.swap(true, Ordering::AcqRel) {
            return;
        }
        let since = self.drained - CATCHUP_SLACK;
        match self.catchups.try_send(Request::Lost { since, why }) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => {
                self.catchup_waits.store(false, Ordering::Release);
                log::error!("too many catch-ups wait: one is not made until events are lost again");
            }
            Err(TrySendError::Disconnected(_)) => log::error!("the catch-up thread has ended"),
        }
    }

    /// Takes what workers and walks hand in.
    fn collect(&mut self, received: &Received) {
        let now = Instant::now();
        // Half of the room is kept for events, which cannot wait; a walk can.
        while self.coalescer.pending() < PENDING_MAX / 2
            && let Some(change) = received.next()
        {
            if change.retries > 0 {
                // Perhaps for want of a descriptor; these may be the last ones.
                self.processes.forget();
            }
            self.take(change, Kind::Found, now);
        }
        if received.take_refused() > 0 {
            self.lost("too many files wait to be tried again");
        }
    }

    fn hand_out(&mut self, producer: &Producer, now: Instant) {
        while producer.has_room()
            && let Some(change) = self.coalescer.next(now)
        {
            producer.push(change);
        }
    }

    /// Begins to watch paths that have appeared.
    fn look_for(&mut self, missing: &mut Vec<PathBuf>, group: &Group) {
        missing.retain(|path| {
            let Ok(root) = Root::new(path) else { return true };
            let shown = for_people(path.as_os_str().as_bytes());
            if let Err(error) = group.mark(&root.path) {
                log::warn!("{error}");
                return false;
            }
            log::info!("{shown} has appeared and is watched now");
            let appeared = root.path.clone();
            let mut watchlist = self.watchlist.write().unwrap_or_else(PoisonError::into_inner);
            if !watchlist.add(root) {
                log::error!("too many watched paths: {shown} is not watched");
                return false;
            }
            drop(watchlist);
            if self.catchups.try_send(Request::Appeared(appeared)).is_err() {
                log::error!("{shown}: what was there before is not scanned");
            }
            false
        });
    }
}

/// How long to sleep at most.
fn timeout(desk: &Desk, root_timer: Option<Instant>, full: bool, now: Instant) -> Option<Duration> {
    let timers = [desk.coalescer.next_timer(), root_timer, full.then_some(now + FULL_RETRY)];
    timers.into_iter().flatten().min().map(|time| time.saturating_duration_since(now))
}

fn wait(group: &Group, received: &Received, timeout: Option<Duration>) -> Result<(), Errno> {
    let timeout = timeout.map(|timeout| Timespec {
        tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(timeout.subsec_nanos()),
    });
    let mut ready = [
        PollFd::from_borrowed_fd(group.as_fd(), PollFlags::IN),
        PollFd::from_borrowed_fd(received.as_fd(), PollFlags::IN),
    ];
    match poll(&mut ready, timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error),
    }
}
