//! The directories in which a repository's objects are: its own `objects` and the alternates it
//! borrows from, see gitrepository-layout(5).
//!
//! It owns the walk over `info/alternates` and what could not be followed. It must not open an
//! object or a pack, and it must not treat a lost alternate as the loss of the repository.
//!
//! Every path is absolute, free of symbolic links, and listed once, so a loop of alternates ends
//! where it began. The walk is breadth first: an alternate is met at its least depth, and the
//! bound on depth cannot hide what a shorter way leads to. How many entries are looked at and how
//! many bytes are read is bounded for the walk as a whole.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::alternate_fault::{AlternateFault, AlternateReason};
use crate::alternates_reader::AlternatesReader;
use crate::bounded_file::{BoundedFile, FileError};
use crate::limits::{ALTERNATE_COUNT_MAX, ALTERNATE_DEPTH_MAX, ALTERNATES_BYTES_MAX};

/// Where a repository's objects are.
#[derive(Debug)]
pub struct ObjectDirectories {
    paths: Vec<PathBuf>,
    faults: Vec<AlternateFault>,
}

impl ObjectDirectories {
    /// Finds the object directories of the repository whose own is at `own`.
    pub(crate) fn find(own: &Path) -> io::Result<Self> {
        let own = fs::canonicalize(own)?;
        let mut walk = Walk {
            known: HashSet::from([own.clone()]),
            found: Self { paths: vec![own], faults: Vec::new() },
            entries_left: ALTERNATE_COUNT_MAX,
            bytes_left: ALTERNATES_BYTES_MAX,
        };
        let mut level_start = 0;
        for depth in 0..=ALTERNATE_DEPTH_MAX {
            let level_end = walk.found.paths.len();
            for index in level_start..level_end {
                walk.follow(index, depth);
            }
            level_start = level_end;
        }
        let found = walk.found;
        assert!(found.paths.len() <= 1 + ALTERNATE_COUNT_MAX);
        assert_eq!(found.paths.len(), walk.known.len());
        Ok(found)
    }

    /// The directories, the repository's own first.
    #[must_use]
    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// The alternates that could not be followed. Objects may be missing for each of them.
    #[must_use]
    pub fn faults(&self) -> &[AlternateFault] {
        &self.faults
    }
}

/// A walk over alternates, under way.
struct Walk {
    found: ObjectDirectories,
    known: HashSet<PathBuf>,
    entries_left: usize,
    bytes_left: usize,
}

impl Walk {
    /// Follows the list of the directory found as number `index`, which is `depth` steps away
    /// from the repository.
    fn follow(&mut self, index: usize, depth: usize) {
        let base = self.found.paths[index].clone();
        let list = base.join("info/alternates");
        let content = match BoundedFile::open(&list).and_then(|file| file.read_all(self.bytes_left))
        {
            Ok(content) => content,
            Err(error) if error.is_missing() => return,
            Err(FileError::TooLong { .. }) => return self.fault(list, AlternateReason::TooMany),
            Err(error) => return self.fault(list, AlternateReason::Unreadable(error)),
        };
        self.bytes_left -= content.len();
        for entry in AlternatesReader::new(&content) {
            if depth == ALTERNATE_DEPTH_MAX {
                return self.fault(list, AlternateReason::TooDeep);
            }
            if self.entries_left == 0 {
                return self.fault(list, AlternateReason::TooMany);
            }
            self.entries_left -= 1;
            // A relative path starts at the object directory, not at the list.
            self.add(base.join(OsStr::from_bytes(&entry)));
        }
    }

    fn add(&mut self, path: PathBuf) {
        match fs::canonicalize(&path).map_err(FileError::from) {
            Ok(real) if !real.is_dir() => self.fault(path, AlternateReason::NotDirectory),
            Ok(real) => {
                if self.known.insert(real.clone()) {
                    self.found.paths.push(real);
                }
            }
            Err(error) if error.is_missing() => self.fault(path, AlternateReason::Missing),
            Err(error) => self.fault(path, AlternateReason::Unreadable(error)),
        }
    }

    fn fault(&mut self, path: PathBuf, reason: AlternateReason) {
        self.found.faults.push(AlternateFault::new(path, reason));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes object directories `0` to `count - 1` below `root`.
    fn make(root: &Path, count: usize) -> PathBuf {
        let root = fs::canonicalize(root).unwrap();
        for number in 0..count {
            fs::create_dir_all(root.join(number.to_string()).join("info")).unwrap();
        }
        root
    }

    fn list(root: &Path, number: usize, content: impl AsRef<[u8]>) {
        fs::write(root.join(format!("{number}/info/alternates")), content).unwrap();
    }

    fn numbers(found: &ObjectDirectories, root: &Path) -> Vec<String> {
        let name = |path: &PathBuf| path.strip_prefix(root).unwrap().display().to_string();
        found.paths().iter().map(name).collect()
    }

    #[test]
    fn loops_end_where_they_began() {
        let directory = tempfile::tempdir().unwrap();
        let root = make(directory.path(), 3);
        list(&root, 0, "../1\n../0\n../1/\n../2/../1\n");
        list(&root, 1, format!("# back\n{}\n\"../\\062\"\n", root.join("0").display()));
        list(&root, 2, "../0\n");
        let found = ObjectDirectories::find(&root.join("0")).unwrap();
        assert_eq!(numbers(&found, &root), ["0", "1", "2"]);
        assert!(found.faults().is_empty());
    }

    #[test]
    fn what_cannot_be_followed_is_reported() {
        let directory = tempfile::tempdir().unwrap();
        let root = make(directory.path(), 2);
        fs::write(root.join("file"), b"").unwrap();
        fs::create_dir(root.join("1/info/alternates")).unwrap();
        list(&root, 0, "../gone\n../file\n../fi\0le\n../1\n");
        let found = ObjectDirectories::find(&root.join("0")).unwrap();
        assert_eq!(numbers(&found, &root), ["0", "1"]);
        let [missing, file, nul, unreadable] = found.faults() else {
            panic!("{:?}", found.faults());
        };
        assert!(matches!(missing.reason(), AlternateReason::Missing));
        assert_eq!(missing.path(), root.join("0/../gone"));
        assert!(matches!(file.reason(), AlternateReason::NotDirectory));
        assert!(matches!(nul.reason(), AlternateReason::Unreadable(FileError::Io(_))));
        assert!(matches!(unreadable.reason(), AlternateReason::Unreadable(FileError::NotRegular)));
        assert_eq!(unreadable.path(), root.join("1/info/alternates"));
    }

    #[test]
    fn a_chain_ends_at_the_bound() {
        let directory = tempfile::tempdir().unwrap();
        let root = make(directory.path(), ALTERNATE_DEPTH_MAX + 2);
        for number in 0..=ALTERNATE_DEPTH_MAX {
            list(&root, number, format!("../{}\n", number + 1));
        }
        let found = ObjectDirectories::find(&root.join("0")).unwrap();
        assert_eq!(found.paths().len(), ALTERNATE_DEPTH_MAX + 1);
        let [fault] = found.faults() else { panic!("{:?}", found.faults()) };
        assert!(matches!(fault.reason(), AlternateReason::TooDeep));
        // A shorter way to the last one is enough for it to be found, whatever the order.
        list(&root, 0, format!("../1\n../{}\n", ALTERNATE_DEPTH_MAX + 1));
        let found = ObjectDirectories::find(&root.join("0")).unwrap();
        assert_eq!(found.paths().len(), ALTERNATE_DEPTH_MAX + 2);
    }

    #[test]
    fn count_and_length_are_bounded() {
        let directory = tempfile::tempdir().unwrap();
        let root = make(directory.path(), 2);
        list(&root, 0, "../gone\n".repeat(ALTERNATE_COUNT_MAX + 1));
        let found = ObjectDirectories::find(&root.join("0")).unwrap();
        assert_eq!(found.faults().len(), ALTERNATE_COUNT_MAX + 1);
        let last = found.faults().last().unwrap();
        assert!(matches!(last.reason(), AlternateReason::TooMany));

        list(&root, 0, format!("../1\n{}", "\n".repeat(ALTERNATES_BYTES_MAX / 2)));
        list(&root, 1, "\n".repeat(ALTERNATES_BYTES_MAX / 2));
        let found = ObjectDirectories::find(&root.join("0")).unwrap();
        assert_eq!(found.paths().len(), 2);
        let [fault] = found.faults() else { panic!("{:?}", found.faults()) };
        assert!(matches!(fault.reason(), AlternateReason::TooMany));
        assert_eq!(fault.path(), root.join("1/info/alternates"));
    }
}
