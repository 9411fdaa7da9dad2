//! Catching up: a walk over watched paths for what no event told.
//!
//! It runs on a thread of its own, one request after the other, and hands what it finds to the reader like
//! any other change. It compares change times of inodes, which nobody can set back, and scans nothing.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crossbeam_channel::Receiver;
use rustix::fs::{AtFlags, FileType, Stat, fstat, statat};

use crate::change::{Change, Source};
use crate::escape::for_people;
use crate::fanotify::{FileHandle, FileSystemId, Name, handle_of, open_by_handle};
use crate::file_system;
use crate::inbox::Inbox;
use crate::listing::{Listing, open_directory};
use crate::long_path::path_of_directory;
use crate::notice::Notices;
use crate::watchlist::Watchlist;

/// How often, and how far apart, a directory is tried when the system is short of descriptors.
const TRIES: u32 = 100;
const WAIT: Duration = Duration::from_millis(100);

/// What to catch up with.
#[derive(Clone, Debug)]
pub enum Request {
    /// Events were lost: everything watched that changed since this time.
    Lost {
        /// Time before which nothing was lost.
        since: SystemTime,
        /// What was full.
        why: &'static str,
    },
    /// A path has become watched: everything in it.
    Appeared(PathBuf),
    /// A directory was moved, perhaps into a watched path: everything in it.
    Moved(Box<(FileHandle, Name)>),
}

/// The thread's state.
#[derive(Debug)]
pub struct Catchup {
    watchlist: Arc<RwLock<Watchlist>>,
    inbox: Inbox,
    notices: Notices,
    listing: Listing,
    waits: Arc<AtomicBool>,
    found: u64,
    failed: u64,
}

impl Catchup {
    /// Makes the state. `waits` is cleared when a catch-up over lost events begins.
    #[must_use]
    pub fn new(
        watchlist: Arc<RwLock<Watchlist>>,
        inbox: Inbox,
        notices: Notices,
        waits: Arc<AtomicBool>,
    ) -> Self {
        Self { watchlist, inbox, notices, listing: Listing::new(), waits, found: 0, failed: 0 }
    }

    /// Deals with requests until there are no more.
    pub fn run(mut self, requests: &Receiver<Request>) {
        for request in requests {
            (self.found, self.failed) = (0, 0);
            match request {
                Request::Lost { since, why } => {
                    // Before the walk: what is lost from here on needs another one.
                    self.waits.store(false, Ordering::Release);
                    self.notices.events_lost(why);
                    let since = since.duration_since(UNIX_EPOCH).unwrap_or_default();
                    for root in self.roots() {
                        self.walk(&root, Some(since));
                    }
                    self.notices.recovered(self.found, self.failed);
                }
                Request::Appeared(path) => self.walk(&path, None),
                Request::Moved(place) => {
                    if let Some(path) = self.resolve(&place.0, &place.1) {
                        self.walk(&path, None);
                    }
                }
            }
        }
    }

    fn roots(&self) -> Vec<PathBuf> {
        let watchlist = self.watchlist.read().unwrap_or_else(PoisonError::into_inner);
        watchlist.roots().iter().map(|root| root.path.clone()).collect()
    }

    /// The watched path of a directory that was moved.
    fn resolve(&self, directory: &FileHandle, name: &Name) -> Option<PathBuf> {
        let watchlist = self.watchlist.read().unwrap_or_else(PoisonError::into_inner);
        watchlist.mount_points(directory.file_system()).find_map(|mount_point| {
            let mount = file_system::open_directory(mount_point).ok()?;
            if file_system::id_of_file(&mount).ok()? != directory.file_system() {
                return None;
            }
            let flags = libc::O_PATH | libc::O_DIRECTORY;
            let open = open_by_handle(mount.as_fd(), directory, flags).ok()?;
            let path =
                path_of_directory(open).ok()?.join(std::ffi::OsStr::from_bytes(name.bytes()));
            watchlist.contains(path.as_os_str().as_bytes()).then_some(path)
        })
    }

    /// Hands in the regular files at and below `path`; with `since`, those that changed then or later.
    fn walk(&mut self, path: &Path, since: Option<Duration>) {
        if path.is_file() {
            let parent = path.parent().unwrap_or(Path::new("/"));
            let name = path.file_name().unwrap_or_default();
            if let Err(error) = self.hand_in_one(parent, name.as_bytes()) {
                self.not_walked(path, &error);
            }
            return;
        }
        let mut todo = vec![(path.to_owned(), since)];
        let mut tries = 0;
        while let Some((path, since)) = todo.pop() {
            match self.list(&path, since, &mut todo) {
                Err(error) if is_for_now(&error) && tries < TRIES => {
                    tries += 1;
                    sleep(WAIT);
                    todo.push((path, since));
                }
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    self.not_walked(&path, &error);
                }
                _ => tries = 0,
            }
        }
    }

    fn not_walked(&mut self, path: &Path, error: &io::Error) {
        self.failed += 1;
        log::warn!("catching up: {}: {error}", for_people(path.as_os_str().as_bytes()));
    }

    fn hand_in_one(&mut self, parent: &Path, name: &[u8]) -> io::Result<()> {
        let open = file_system::open_directory(parent)?;
        let file_system = file_system::id_of_file(&open)?;
        let directory = handle_of_directory(file_system, &open)?;
        let name = std::ffi::CString::new(name)?;
        hand_in(&self.inbox, directory, open.as_fd(), &name)?;
        self.found += 1;
        Ok(())
    }

    fn list(
        &mut self,
        path: &Path,
        since: Option<Duration>,
        todo: &mut Vec<(PathBuf, Option<Duration>)>,
    ) -> io::Result<()> {
        let open = open_directory(path)?;
        let file_system = file_system::id_of_file(&open)?;
        let watched = {
            let watchlist = self.watchlist.read().unwrap_or_else(PoisonError::into_inner);
            watchlist.mount_points(file_system).next().is_some()
        };
        if !watched || file_system::is_pseudo(&open)? {
            return Ok(());
        }
        // A directory that changed without an entry being made was moved: all in it may be new here.
        let stat = fstat(&open)?;
        let since =
            since.filter(|since| change_time(&stat) < *since || modify_time(&stat) >= *since);
        let directory = handle_of_directory(file_system, &open)?;
        let Self { listing, inbox, found, failed, .. } = self;
        listing.read(open.as_fd(), |entry| match entry.kind {
            FileType::Directory => {
                todo.push((path.join(std::ffi::OsStr::from_bytes(entry.name.to_bytes())), since));
            }
            FileType::RegularFile => {
                let changed = since.is_none_or(|since| {
                    statat(&open, entry.name, AtFlags::SYMLINK_NOFOLLOW)
                        .is_ok_and(|stat| change_time(&stat) >= since)
                });
                if changed {
                    match hand_in(inbox, directory, open.as_fd(), entry.name) {
                        Ok(()) => *found += 1,
                        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                        Err(error) => {
                            *failed += 1;
                            let name = for_people(entry.name.to_bytes());
                            let path = for_people(path.as_os_str().as_bytes());
                            log::warn!("catching up: {path}/{name}: {error}");
                        }
                    }
                }
            }
            _ => {}
        })
    }
}

/// Whether the system, rather than the directory, is short of something.
fn is_for_now(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM))
}

fn handle_of_directory(id: FileSystemId, directory: &OwnedFd) -> io::Result<FileHandle> {
    handle_of(id, directory.as_fd(), c".")
}

fn hand_in(
    inbox: &Inbox,
    directory: FileHandle,
    open: BorrowedFd<'_>,
    name: &std::ffi::CStr,
) -> io::Result<()> {
    let file = handle_of(directory.file_system(), open, name)?;
    let at = Name::new(name.to_bytes()).map(|name| (directory, name));
    let change = Change { file, at, process: None, source: Source::Catchup, retries: 0 };
    if inbox.hand_in(change) {
        return Ok(());
    }
    Err(io::Error::other("the reader has ended"))
}

fn change_time(stat: &Stat) -> Duration {
    time(stat.st_ctime, stat.st_ctime_nsec)
}

fn modify_time(stat: &Stat) -> Duration {
    time(stat.st_mtime, stat.st_mtime_nsec)
}

fn time(seconds: i64, nanoseconds: u64) -> Duration {
    let nanoseconds = u32::try_from(nanoseconds).unwrap_or(0);
    Duration::new(u64::try_from(seconds).unwrap_or(0), nanoseconds)
}
