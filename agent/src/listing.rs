//! The entries of one directory, read with one buffer and no allocation per entry.
//!
//! It follows no symbolic link and opens nothing but the directory itself.

use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};
use std::thread::sleep;
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, Stat, openat, statat};
use rustix::io::Errno;

/// Bytes of entries read at a time.
const BUFFER_LEN: usize = 32 * 1024;
/// Paths up to this length are opened in one call; `PATH_MAX` is 4096.
const OPEN_LEN_MAX: usize = 4000;
/// How often, and how far apart, a file that somebody holds a lease on is tried.
const LEASE_TRIES: u32 = 10;
const LEASE_WAIT: Duration = Duration::from_millis(50);

/// A buffer for entries.
#[derive(Debug)]
pub struct Listing {
    buffer: Box<[MaybeUninit<u8>]>,
}

/// One entry.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// Its name.
    pub name: &'a CStr,
    /// What it is.
    pub kind: FileType,
    /// Its inode number.
    pub inode: u64,
}

impl Listing {
    /// Allocates the buffer.
    #[must_use]
    pub fn new() -> Self {
        Self { buffer: vec![MaybeUninit::uninit(); BUFFER_LEN].into_boxed_slice() }
    }

    /// Passes on the entries of an open directory except `.` and `..`, until `on_entry` says stop.
    ///
    /// # Errors
    ///
    /// The kernel's; entries before it have been passed on.
    pub fn read(
        &mut self,
        directory: BorrowedFd<'_>,
        mut on_entry: impl FnMut(Entry<'_>),
    ) -> io::Result<()> {
        let mut entries = RawDir::new(directory, &mut self.buffer);
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            let inode = entry.ino();
            let kind = match entry.file_type() {
                FileType::Unknown => match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                    // Gone since it was listed.
                    Err(Errno::NOENT) => continue,
                    Err(error) => return Err(error.into()),
                },
                kind => kind,
            };
            on_entry(Entry { name, kind, inode });
        }
        Ok(())
    }
}

impl Default for Listing {
    fn default() -> Self {
        Self::new()
    }
}

/// Opens a directory by a path of any length, without following a link in its last component.
///
/// # Errors
///
/// The kernel's.
pub fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    let flags =
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if path.as_os_str().len() <= OPEN_LEN_MAX {
        return Ok(openat(CWD, path, flags, Mode::empty())?);
    }
    let mut open: Option<OwnedFd> = None;
    for component in path.components() {
        if component == Component::CurDir {
            continue;
        }
        let directory = open.as_ref().map_or(CWD, AsFd::as_fd);
        let name = component.as_os_str().as_bytes();
        open = Some(openat(directory, name, flags, Mode::empty())?);
    }
    open.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
}

/// Opens a file for reading that must be regular, without following a link. `None` if it is something
/// else. The attempt asks the holder of a lease to give it up, so it is made again a few times.
///
/// # Errors
///
/// The kernel's; [`io::ErrorKind::WouldBlock`] if somebody keeps a lease on it.
pub fn open_regular(directory: BorrowedFd<'_>, name: &CStr) -> io::Result<Option<(OwnedFd, Stat)>> {
    let flags =
        OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut tries = 0;
    let file = loop {
        match openat(directory, name, flags, Mode::empty()) {
            Err(Errno::WOULDBLOCK) if tries < LEASE_TRIES => {
                tries += 1;
                sleep(LEASE_WAIT);
            }
            other => break other?,
        }
    };
    let stat = rustix::fs::fstat(&file)?;
    let regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    Ok(regular.then_some((file, stat)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn lists_what_is_there() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("file"), "").unwrap();
        fs::create_dir(directory.path().join("directory")).unwrap();
        std::os::unix::fs::symlink("file", directory.path().join("link")).unwrap();
        let open = open_directory(directory.path()).unwrap();
        let mut seen = Vec::new();
        Listing::new()
            .read(open.as_fd(), |entry| seen.push((entry.name.to_owned(), entry.kind)))
            .unwrap();
        seen.sort_by(|one, other| one.0.cmp(&other.0));
        assert_eq!(
            seen,
            [
                (c"directory".to_owned(), FileType::Directory),
                (c"file".to_owned(), FileType::RegularFile),
                (c"link".to_owned(), FileType::Symlink),
            ]
        );
        assert!(open_regular(open.as_fd(), c"link").is_err());
        assert!(open_regular(open.as_fd(), c"file").unwrap().is_some());
    }

    #[test]
    fn paths_longer_than_the_kernel_takes_are_opened() {
        let directory = tempfile::tempdir().unwrap();
        let mut path = directory.path().to_owned();
        let mut open = open_directory(&path).unwrap();
        for _ in 0..40 {
            let name = "d".repeat(250);
            rustix::fs::mkdirat(&open, &*name, Mode::RWXU).unwrap();
            path.push(&name);
            open = rustix::fs::openat(&open, &*name, OFlags::RDONLY, Mode::empty()).unwrap();
        }
        assert!(path.as_os_str().len() > 10_000);
        open_directory(&path).unwrap();
    }
}
