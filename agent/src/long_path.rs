//! Paths of open directories, also those that are longer than the kernel is willing to say.
//!
//! The kernel names an open file in at most one page. Beyond that the name is put together from below: the
//! parent is asked for the name of its child until an ancestor is short enough. What that may read is
//! bounded by `ENTRIES_MAX`, so that nobody can make it read all day.

use std::ffi::{CStr, OsStr};
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, Stat, fstat, openat, statat};

use crate::listing::{Listing, open_directory};

/// Entries of all parents together that are looked at for one path.
const ENTRIES_MAX: usize = 1_000_000;
/// Longest path that the kernel takes in one call, with room for a name.
const PATH_LEN_MAX: usize = 3800;

/// The path of an open file or directory as the kernel knows it.
///
/// # Errors
///
/// The kernel's; ENAMETOOLONG for a file whose path is longer than a page.
pub fn path_of(file: &OwnedFd) -> io::Result<PathBuf> {
    fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// The path of an open directory, of any length.
///
/// # Errors
///
/// The kernel's; ENAMETOOLONG if finding the path would take too long.
pub fn path_of_directory(directory: OwnedFd) -> io::Result<PathBuf> {
    let mut names: Vec<Box<CStr>> = Vec::new();
    let mut listing = Listing::new();
    let mut current = directory;
    let mut budget = ENTRIES_MAX;
    loop {
        match path_of(&current) {
            Err(error) if error.raw_os_error() == Some(libc::ENAMETOOLONG) => {}
            other => {
                let mut path = other?;
                path.extend(names.iter().rev().map(|name| OsStr::from_bytes(name.to_bytes())));
                return Ok(path);
            }
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let parent = openat(&current, c"..", flags, Mode::empty())?;
        names.push(name_in(&parent, &fstat(&current)?, &mut listing, &mut budget)?);
        current = parent;
    }
}

/// The name under which `child` stands in `parent`.
fn name_in(
    parent: &OwnedFd,
    child: &Stat,
    listing: &mut Listing,
    budget: &mut usize,
) -> io::Result<Box<CStr>> {
    let mut found = None;
    listing.read(parent.as_fd(), |entry| {
        *budget = budget.saturating_sub(1);
        if *budget > 0 && found.is_none() && entry.inode == child.st_ino {
            found = Some(Box::from(entry.name));
        }
    })?;
    found.ok_or_else(|| io::Error::from_raw_os_error(libc::ENAMETOOLONG))
}

/// Whether `path`, of any length, leads to this file without following a link at its end.
#[must_use]
pub fn leads_to(path: &Path, file: &Stat) -> bool {
    let stat = if path.as_os_str().len() <= PATH_LEN_MAX {
        statat(rustix::fs::CWD, path, AtFlags::SYMLINK_NOFOLLOW)
    } else {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return false };
        let Ok(parent) = open_directory(parent) else { return false };
        statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW)
    };
    stat.is_ok_and(|stat| (stat.st_dev, stat.st_ino) == (file.st_dev, file.st_ino))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_any_length_are_found() {
        let directory = tempfile::tempdir().unwrap();
        let mut path = directory.path().canonicalize().unwrap();
        let mut open = open_directory(&path).unwrap();
        for level in 0..60 {
            let name = format!("{level}-{}", "d".repeat(200));
            rustix::fs::mkdirat(&open, &*name, Mode::RWXU).unwrap();
            rustix::fs::mkdirat(&open, "other", Mode::RWXU).unwrap();
            path.push(&name);
            open = openat(&open, &*name, OFlags::PATH, Mode::empty()).unwrap();
            let again = openat(&open, c".", OFlags::PATH, Mode::empty()).unwrap();
            assert_eq!(path_of_directory(again).unwrap(), path);
            assert!(leads_to(&path, &fstat(&open).unwrap()));
        }
        assert!(path.as_os_str().len() > 12_000);
    }
}
