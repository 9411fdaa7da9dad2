//! What is watched: the paths given, canonical, and the mounts through which their files are reached.
//!
//! Events come from whole file systems; this decides which of them matter, by path. Nothing is held open.
//! Shared by the reader, which adds paths that appear, and the workers, which ask.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, io};

use crate::fanotify::FileSystemId;
use crate::file_system;
use crate::limits::ROOTS_MAX;

/// A watched path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// Canonical: absolute, without symbolic links.
    pub path: PathBuf,
    /// The mount that the path is on. Handles are resolved here: it is there as long as the mount is.
    pub mount_point: PathBuf,
    /// Its file system.
    pub file_system: FileSystemId,
}

impl Root {
    /// Looks at a path.
    ///
    /// # Errors
    ///
    /// If it does not exist or cannot be looked at.
    pub fn new(path: &Path) -> io::Result<Self> {
        let path = fs::canonicalize(path)?;
        let mount_point = file_system::mount_point(&path)?;
        let file_system = file_system::id_of_path(&path)?;
        Ok(Self { path, mount_point, file_system })
    }
}

/// The watched paths.
#[derive(Debug, Default)]
pub struct Watchlist {
    roots: Vec<Root>,
    generation: AtomicU64,
}

impl Watchlist {
    /// Adds a path. Returns `false` if the list is full.
    #[must_use]
    pub fn add(&mut self, root: Root) -> bool {
        if self.roots.len() == ROOTS_MAX {
            return false;
        }
        self.roots.push(root);
        self.renew();
        true
    }

    /// The watched paths.
    #[must_use]
    pub fn roots(&self) -> &[Root] {
        &self.roots
    }

    /// Changes whenever what was learned about directories may be wrong.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// A directory was renamed: paths have changed. Waits for nobody.
    pub fn renew(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether `path` is watched.
    #[must_use]
    pub fn contains(&self, path: &[u8]) -> bool {
        self.roots.iter().any(|root| is_within(path, root.path.as_os_str().as_bytes()))
    }

    /// Whether something in the directory may be watched.
    #[must_use]
    pub fn concerns_directory(&self, directory: &[u8]) -> bool {
        self.roots.iter().any(|root| {
            let root = root.path.as_os_str().as_bytes();
            // The second case is a watched file, whose directory is not watched.
            is_within(directory, root) || parent(root) == Some(directory)
        })
    }

    /// The mount points through which the watched files of a file system are reached, each once.
    pub fn mount_points(&self, file_system: FileSystemId) -> impl Iterator<Item = &Path> {
        self.roots.iter().enumerate().filter_map(move |(index, root)| {
            let same = |earlier: &Root| {
                earlier.file_system == file_system && earlier.mount_point == root.mount_point
            };
            let first = root.file_system == file_system && !self.roots[..index].iter().any(same);
            first.then_some(root.mount_point.as_path())
        })
    }
}

fn is_within(path: &[u8], root: &[u8]) -> bool {
    root == b"/"
        || path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

fn parent(path: &[u8]) -> Option<&[u8]> {
    match path.iter().rposition(|&byte| byte == b'/')? {
        0 => Some(b"/"),
        slash => Some(&path[..slash]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(paths: &[&str]) -> Watchlist {
        let mut list = Watchlist::default();
        for path in paths {
            let (path, mount_point) = (PathBuf::from(path), PathBuf::from("/"));
            let file_system = FileSystemId([0; 8]);
            assert!(list.add(Root { path, mount_point, file_system }));
        }
        list
    }

    #[test]
    fn a_root_contains_itself_and_what_is_below() {
        let list = list(&["/home", "/etc/app.conf"]);
        for path in ["/home", "/home/a", "/home/a/b", "/etc/app.conf"] {
            assert!(list.contains(path.as_bytes()), "{path}");
        }
        for path in ["/homes", "/hom", "/", "/etc/app.conf.bak", "/etc", "(unreachable)/home/a"] {
            assert!(!list.contains(path.as_bytes()), "{path}");
        }
        assert!(list.concerns_directory(b"/etc"));
        assert!(list.concerns_directory(b"/home/a"));
        assert!(!list.concerns_directory(b"/etc/ssh"));
    }

    #[test]
    fn the_root_directory_contains_everything() {
        assert!(list(&["/"]).contains(b"/any/thing"));
        assert!(list(&["/file"]).concerns_directory(b"/"));
    }

    #[test]
    fn each_mount_point_is_given_once() {
        let list = list(&["/home", "/etc", "/opt"]);
        assert_eq!(list.mount_points(FileSystemId([0; 8])).count(), 1);
        assert_eq!(list.mount_points(FileSystemId([1; 8])).count(), 0);
    }
}
