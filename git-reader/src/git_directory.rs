//! A directory that git would take for a repository's own: `HEAD`, `objects` and `refs`, see
//! gitrepository-layout(5).
//!
//! It owns the decision whether a directory is one, and where the part is that linked worktrees
//! share (`commondir`, see git-worktree(1)). It must not read settings, nor more of `HEAD` than
//! it takes to tell that it is a `HEAD`.
//!
//! Both paths are absolute and free of symbolic links. `commondir` is followed once, as git does,
//! so it cannot form a loop. git asks for `refs` even where `reftable` holds the references;
//! either is enough here, because a repository that git refuses may still hold secrets.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::bounded_file::{BoundedFile, FileError};
use crate::limits::HEAD_BYTES_MAX;
use crate::object_id::{ObjectFormat, ObjectId};
use crate::open_error::OpenError;
use crate::pointer_file::PointerFile;

/// A git directory and the directory it shares with its worktrees; mostly the same.
#[derive(Debug)]
pub(crate) struct GitDirectory {
    pub(crate) git_dir: PathBuf,
    pub(crate) common_dir: PathBuf,
}

impl GitDirectory {
    pub(crate) fn open(path: &Path) -> Result<Self, OpenError> {
        let git_dir = canonical(path)?;
        let lacking = |message| OpenError::NotGitDirectory { path: git_dir.clone(), message };
        if !git_dir.is_dir() {
            return Err(lacking("it is not a directory"));
        }
        check_head(&git_dir.join("HEAD")).map_err(|fault| match fault {
            HeadFault::Missing => lacking("HEAD is missing"),
            HeadFault::Malformed => lacking("HEAD names neither a reference nor an object"),
            HeadFault::Unreadable(cause) => OpenError::unreadable(git_dir.join("HEAD"), cause),
        })?;
        let common_dir = match PointerFile::CommonDir.read(&git_dir.join("commondir"))? {
            Some(target) => canonical(&target)?,
            None => git_dir.clone(),
        };
        if !common_dir.join("objects").is_dir() {
            return Err(lacking("there is no objects directory"));
        }
        if !common_dir.join("refs").is_dir() && !common_dir.join("reftable").is_dir() {
            return Err(lacking("there is neither a refs nor a reftable directory"));
        }
        assert!(git_dir.is_absolute());
        assert!(common_dir.is_absolute());
        Ok(Self { git_dir, common_dir })
    }
}

fn canonical(path: &Path) -> Result<PathBuf, OpenError> {
    fs::canonicalize(path).map_err(|error| OpenError::unreadable(path, error))
}

/// Why a file is not a `HEAD`.
enum HeadFault {
    Missing,
    Malformed,
    Unreadable(FileError),
}

impl From<FileError> for HeadFault {
    fn from(error: FileError) -> Self {
        if error.is_missing() { Self::Missing } else { Self::Unreadable(error) }
    }
}

fn check_head(path: &Path) -> Result<(), HeadFault> {
    let metadata = fs::symlink_metadata(path).map_err(FileError::from)?;
    let valid = if metadata.is_symlink() {
        // In old repositories HEAD is a link to the branch. It is judged by its text alone: the
        // branch need not exist yet.
        let target = fs::read_link(path).map_err(FileError::from)?;
        target.as_os_str().as_bytes().starts_with(b"refs/")
    } else {
        is_head(&BoundedFile::open(path)?.read_start(HEAD_BYTES_MAX)?)
    };
    if valid { Ok(()) } else { Err(HeadFault::Malformed) }
}

/// Whether a file that begins so is a `HEAD`: a reference below `refs/`, or an object id in
/// either format. What follows the id is not looked at, as in git.
fn is_head(start: &[u8]) -> bool {
    if let Some(reference) = start.strip_prefix(b"ref:") {
        return reference.trim_ascii_start().starts_with(b"refs/");
    }
    // Digits enough for the shorter format: the start of a longer id passes too.
    let format = ObjectFormat::Sha1;
    start.get(..format.hex_bytes()).is_some_and(|hex| ObjectId::from_hex(format, hex).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads() {
        for start in [
            &b"ref: refs/heads/main\n"[..],
            b"ref:refs/heads/main",
            b"ref: \t\nrefs/",
            b"ref: refs/heads/.invalid\n",
            b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391\n",
            b"E69DE29BB2D1D6434B8B29AE775AD8C2E48C5391 and more",
            b"473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813\n",
        ] {
            assert!(is_head(start), "{}", start.escape_ascii());
        }
        for start in [
            &b""[..],
            b"ref: ",
            b"ref: heads/main",
            b" ref: refs/heads/main",
            b"e69de29bb2d1d6434b8b29ae775ad8c2e48c539\n",
            b"\0\0\0\0",
            &[0xff; HEAD_BYTES_MAX],
        ] {
            assert!(!is_head(start), "{}", start.escape_ascii());
        }
    }
}
