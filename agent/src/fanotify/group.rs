//! The fanotify group: made once, marked a file system at a time, read in batches.
//!
//! Notification only, with file handles and names instead of descriptors, so that a queued event holds
//! nothing open. The queue is bounded: what the kernel had to drop arrives as [`Happening::Overflow`].
//! It does not filter by path and opens no file. Source: fanotify(7), fanotify_init(2), fanotify_mark(2).

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use fanotify::low_level;

use super::handle::{FileHandle, Name};
use super::record::{Entry, Record, RecordError};
use super::sys::GroupFd;
use crate::escape::for_people;
use crate::limits::EVENT_BUFFER_LEN;

/// What is asked of the kernel: every way in which a file's content can get a name. `ONDIR` reports
/// renamed directories, whose new paths the caches must learn.
const MASK: u64 = libc::FAN_CLOSE_WRITE
    | libc::FAN_MOVED_TO
    | libc::FAN_RENAME
    | libc::FAN_CREATE
    | libc::FAN_ONDIR;

/// Why there is no group, or no mark.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GroupError {
    /// `fanotify_init` failed.
    #[error("fanotify_init: {0}{hint}", hint = init_hint(.0))]
    Init(#[source] io::Error),
    /// `fanotify_mark` failed.
    #[error("cannot watch the file system of {path}: {source}{hint}", hint = mark_hint(.source))]
    Mark {
        /// The watched path.
        path: String,
        /// The kernel's reason.
        source: io::Error,
    },
    /// `read` on the group failed.
    #[error("reading events: {0}")]
    Read(#[source] io::Error),
    /// The kernel sent what cannot be understood.
    #[error(transparent)]
    Record(#[from] RecordError),
}

fn init_hint(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EINVAL) => " (the agent needs Linux 5.17 or later)",
        Some(libc::EPERM) => {
            " (CAP_SYS_ADMIN is needed in the initial user namespace: run as root on the host)"
        }
        Some(libc::EMFILE) => {
            " (too many fanotify groups: see /proc/sys/fs/fanotify/max_user_groups)"
        }
        Some(libc::ENOSYS) => " (the kernel is built without CONFIG_FANOTIFY)",
        _ => "",
    }
}

fn mark_hint(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EXDEV) => " (a btrfs subvolume cannot be watched as a whole)",
        Some(libc::ENODEV | libc::EOPNOTSUPP) => {
            " (this kind of file system cannot identify files to fanotify)"
        }
        Some(libc::EPERM) => " (not permitted in this user namespace: run as root on the host)",
        _ => "",
    }
}

/// How a file came to hold what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// A descriptor open for writing was closed.
    Closed {
        /// The file.
        file: FileHandle,
        /// Where it is.
        at: Option<(FileHandle, Name)>,
    },
    /// The file got its name here by a rename.
    Renamed {
        /// The file.
        file: FileHandle,
        /// Where it is now.
        at: (FileHandle, Name),
    },
    /// The file was created or linked under this name; it may still be open.
    Created {
        /// The file.
        file: FileHandle,
        /// Where it is.
        at: (FileHandle, Name),
    },
    /// A directory was renamed: paths below it have changed.
    DirectoryRenamed {
        /// Where it is now.
        at: Option<(FileHandle, Name)>,
    },
    /// The kernel's queue was full and events were lost.
    Overflow,
}

/// An open fanotify group.
#[derive(Debug)]
pub struct Group {
    fd: GroupFd,
    buffer: Box<[u8]>,
    own_pid: i32,
}

impl Group {
    /// Makes a group with the kernel's bounded queue (`/proc/sys/fs/fanotify/max_queued_events`).
    ///
    /// # Errors
    ///
    /// [`GroupError::Init`] with what to do about it.
    pub fn new() -> Result<Self, GroupError> {
        let flags = low_level::FAN_CLASS_NOTIF
            | low_level::FAN_CLOEXEC
            | low_level::FAN_NONBLOCK
            | libc::FAN_REPORT_DFID_NAME_TARGET
            | libc::FAN_REPORT_PIDFD;
        let event_flags = (libc::O_RDONLY | libc::O_CLOEXEC | libc::O_LARGEFILE).cast_unsigned();
        Ok(Self {
            fd: GroupFd::init(flags, event_flags).map_err(GroupError::Init)?,
            buffer: vec![0; EVENT_BUFFER_LEN].into_boxed_slice(),
            own_pid: rustix::process::getpid().as_raw_nonzero().get(),
        })
    }

    /// Marks the whole file system that `path` is on. Marking it again changes nothing.
    ///
    /// # Errors
    ///
    /// [`GroupError::Mark`] with what to do about it.
    pub fn mark(&self, path: &Path) -> Result<(), GroupError> {
        let flags = low_level::FAN_MARK_ADD | low_level::FAN_MARK_FILESYSTEM;
        let fd = self.fd.as_fd().as_raw_fd();
        low_level::fanotify_mark(fd, flags, MASK, low_level::AT_FDCWD, path).map_err(|source| {
            let path = for_people(path.as_os_str().as_encoded_bytes());
            GroupError::Mark { path, source }
        })
    }

    /// Passes on the events of one read, in the kernel's order, each with its process id and pidfd.
    /// Our own writes are left out. Returns whether there may be more to read.
    ///
    /// # Errors
    ///
    /// [`GroupError::Read`] or [`GroupError::Record`]: the group is of no use any more.
    pub fn read(
        &mut self,
        mut on_event: impl FnMut(Happening, i32, Option<OwnedFd>),
    ) -> Result<bool, GroupError> {
        let mut failure = None;
        let own_pid = self.own_pid;
        let read = self.fd.read(&mut self.buffer, |record, pidfd| match record {
            Ok(record) if record.pid == own_pid => {}
            Ok(record) => {
                if let Some(happening) = interpret(&record) {
                    on_event(happening, record.pid, pidfd);
                }
            }
            Err(error) => failure = Some(error),
        });
        if let Some(error) = failure {
            return Err(error.into());
        }
        match read {
            Ok(count) => Ok(count > 0),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(true),
            Err(error) => Err(GroupError::Read(error)),
        }
    }
}

impl AsFd for Group {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// What a record means. Merged events are read as the strongest of their bits.
fn interpret(record: &Record) -> Option<Happening> {
    let has = |bits: u64| record.mask & bits != 0;
    if has(low_level::FAN_Q_OVERFLOW) {
        return Some(Happening::Overflow);
    }
    let place = |entry: Option<Entry>| entry.and_then(|e| e.name.map(|name| (e.directory, name)));
    let (old, new) = (place(record.entry), place(record.new_entry));
    if has(low_level::FAN_ONDIR) {
        return has(libc::FAN_RENAME).then_some(Happening::DirectoryRenamed { at: new });
    }
    let file = record.target?;
    if has(libc::FAN_RENAME) {
        return new.map(|at| Happening::Renamed { file, at });
    }
    if has(libc::FAN_CLOSE_WRITE) {
        return Some(Happening::Closed { file, at: old });
    }
    // A rename is reported as FAN_RENAME too, with both names: MOVED_TO alone adds nothing to it.
    if has(libc::FAN_CREATE) {
        return old.map(|at| Happening::Created { file, at });
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fanotify::record::Records;
    use crate::fanotify::record::tests::samples;

    #[test]
    fn records_become_happenings() {
        let bytes = samples().concat();
        let mut happenings =
            Records::new(&bytes).map(|record| interpret(&record.unwrap()).unwrap());
        assert!(matches!(happenings.next(), Some(Happening::Closed { at: Some(_), .. })));
        let Some(Happening::Renamed { at: (_, name), .. }) = happenings.next() else {
            panic!("a rename")
        };
        assert_eq!(name.bytes(), b"new\xff\n");
        assert_eq!(happenings.next(), Some(Happening::Overflow));
    }
}
