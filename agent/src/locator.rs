//! From handles to open files and paths.
//!
//! Files are opened by handle only: the path is a label. No mount is held open: a directory of the file
//! system is opened for one file and closed again, and what it is is checked, since another file system
//! may be mounted there by now. Each worker has a locator; it remembers up to `DIRECTORIES_MAX` directories
//! until a directory is renamed.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use rustix::fs::{FileType, Stat, fstat};

use crate::change::Change;
use crate::fanotify::{FileHandle, open_by_handle};
use crate::file_system;
use crate::limits::DIRECTORIES_MAX;
use crate::long_path::{leads_to, path_of, path_of_directory};
use crate::watchlist::Watchlist;

/// Why a file is not scanned. None of these is a fault of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unavailable {
    /// It is not watched.
    Elsewhere,
    /// It is gone.
    Gone,
    /// It is a directory, a FIFO, a device, a socket or a symbolic link.
    NotRegular,
    /// Somebody holds a lease on it, or the process has no descriptor or memory left: later. With the
    /// error number.
    Busy(i32),
    /// Its file system is not mounted where it was.
    Unmounted,
    /// The kernel refused, with this error number.
    Refused(i32),
}

/// A file open for reading.
#[derive(Debug)]
pub struct Located {
    /// Open, regular, not blocking.
    pub file: OwnedFd,
    /// What it was when it was opened.
    pub stat: Stat,
}

/// Resolves handles for one worker.
#[derive(Debug)]
pub struct Locator {
    watchlist: Arc<RwLock<Watchlist>>,
    /// The paths of directories that concern us, `None` for the others.
    directories: HashMap<FileHandle, Option<PathBuf>>,
    generation: u64,
    /// The path under which the current file was last seen.
    label: Vec<u8>,
}

impl Locator {
    /// Remembers nothing yet.
    #[must_use]
    pub fn new(watchlist: Arc<RwLock<Watchlist>>) -> Self {
        Self {
            watchlist,
            directories: HashMap::with_capacity(DIRECTORIES_MAX),
            generation: 0,
            label: Vec::with_capacity(4096),
        }
    }

    /// Opens the file of a change, if it is watched, regular and still there.
    ///
    /// # Errors
    ///
    /// Why not.
    pub fn open(&mut self, change: &Change) -> Result<Located, Unavailable> {
        let watchlist = Arc::clone(&self.watchlist);
        let watchlist = watchlist.read().unwrap_or_else(PoisonError::into_inner);
        if watchlist.generation() != self.generation {
            self.directories.clear();
            self.generation = watchlist.generation();
        }
        self.label.clear();
        let mut failure = Unavailable::Unmounted;
        for mount_point in watchlist.mount_points(change.file.file_system()) {
            match self.open_below(mount_point, &watchlist, change) {
                Ok(located) => return Ok(located),
                // Another mount of the same file system may show the file where it is watched.
                Err(Unavailable::Elsewhere) => failure = Unavailable::Elsewhere,
                Err(Unavailable::Unmounted) => {}
                Err(other) => return Err(other),
            }
        }
        Err(failure)
    }

    fn open_below(
        &mut self,
        mount_point: &Path,
        watchlist: &Watchlist,
        change: &Change,
    ) -> Result<Located, Unavailable> {
        let mount =
            file_system::open_directory(mount_point).map_err(|error| {
                match unavailable(&error) {
                    busy @ Unavailable::Busy(_) => busy,
                    _ => Unavailable::Unmounted,
                }
            })?;
        if file_system::id_of_file(&mount).ok() != Some(change.file.file_system()) {
            return Err(Unavailable::Unmounted);
        }
        let known = self.label_by_name(&mount, watchlist, change);
        if known == Some(false) {
            return Err(Unavailable::Elsewhere);
        }
        // Opening a FIFO or a device can act on it, so look first at what it is.
        let path_only = open_by_handle(mount.as_fd(), &change.file, libc::O_PATH);
        let path_only = path_only.map_err(|error| unavailable(&error))?;
        let stat = fstat(&path_only).map_err(|error| unavailable(&error.into()))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(Unavailable::NotRegular);
        }
        if known.is_none() {
            // Its directory is gone or unknown: ask for the path that it has now.
            let path = path_of(&path_only).map_err(|error| unavailable(&error))?;
            if !watchlist.contains(path.as_os_str().as_bytes()) {
                return Err(Unavailable::Elsewhere);
            }
            self.label.extend_from_slice(path.as_os_str().as_bytes());
        }
        let flags = libc::O_RDONLY | libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_NOFOLLOW;
        let file = open_by_handle(mount.as_fd(), &change.file, flags);
        let file = file.map_err(|error| unavailable(&error))?;
        Ok(Located { file, stat })
    }

    /// Sets the label from the directory and the name that came with the event. Says whether that path is
    /// watched; `None` if the directory cannot be resolved.
    fn label_by_name(
        &mut self,
        mount: &OwnedFd,
        watchlist: &Watchlist,
        change: &Change,
    ) -> Option<bool> {
        let (directory, name) = change.at?;
        if !self.directories.contains_key(&directory) {
            if self.directories.len() == DIRECTORIES_MAX {
                self.directories.clear();
            }
            let flags = libc::O_PATH | libc::O_DIRECTORY;
            let open = open_by_handle(mount.as_fd(), &directory, flags).ok()?;
            let path = path_of_directory(open).ok()?;
            let concerns = watchlist.concerns_directory(path.as_os_str().as_bytes());
            self.directories.insert(directory, concerns.then_some(path));
        }
        let Some(path) = self.directories.get(&directory)? else { return Some(false) };
        self.label.extend_from_slice(path.as_os_str().as_bytes());
        if self.label != b"/" {
            self.label.push(b'/');
        }
        self.label.extend_from_slice(name.bytes());
        let watched = watchlist.contains(&self.label);
        if !watched {
            self.label.clear();
        }
        Some(watched)
    }

    /// The path under which the file opened last was seen.
    #[must_use]
    pub fn label(&self) -> &[u8] {
        &self.label
    }

    /// The path that the open file has now, for an alert: the one that it was seen under if it still
    /// leads there, else the one that the kernel knows. `None` if it has none any more, or none that is
    /// watched.
    #[must_use]
    pub fn current_path(&self, located: &Located) -> Option<PathBuf> {
        // A rename may come in between looking and comparing: look again.
        for _ in 0..3 {
            let now = fstat(&located.file).ok()?;
            if now.st_nlink == 0 {
                return None;
            }
            let seen = PathBuf::from(std::ffi::OsString::from_vec(self.label.clone()));
            if leads_to(&seen, &now) {
                return Some(seen);
            }
            let path = path_of(&located.file).ok()?;
            let watchlist = self.watchlist.read().unwrap_or_else(PoisonError::into_inner);
            if leads_to(&path, &now) {
                return watchlist.contains(path.as_os_str().as_bytes()).then_some(path);
            }
        }
        None
    }
}

fn unavailable(error: &io::Error) -> Unavailable {
    match error.raw_os_error() {
        Some(libc::ESTALE | libc::ENOENT) => Unavailable::Gone,
        Some(
            code @ (libc::EAGAIN | libc::ETXTBSY | libc::EMFILE | libc::ENFILE | libc::ENOMEM),
        ) => Unavailable::Busy(code),
        Some(libc::ELOOP | libc::ENXIO | libc::ENODEV | libc::EISDIR) => Unavailable::NotRegular,
        code => Unavailable::Refused(code.unwrap_or(0)),
    }
}
