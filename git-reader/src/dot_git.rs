//! What stands under the name `.git` in a directory, by which the directory becomes a work tree,
//! see gitrepository-layout(5).
//!
//! It says where a git directory is said to be. It must not judge whether one is there: that is
//! for `git_directory.rs`.
//!
//! A `.git` that is neither a directory nor a regular file is an error, as it is for git. It is
//! never opened.

use std::fs;
use std::path::{Path, PathBuf};

use crate::bounded_file::FileError;
use crate::open_error::OpenError;
use crate::pointer_file::PointerFile;

/// What a directory has under the name `.git`.
#[derive(Debug)]
pub(crate) enum DotGit {
    /// Nothing.
    Absent,
    /// A directory: the usual repository.
    Directory(PathBuf),
    /// A file that leads elsewhere: a submodule, a linked worktree, or a repository made with
    /// `git init --separate-git-dir`.
    File {
        /// The file.
        path: PathBuf,
        /// Where it leads.
        target: PathBuf,
    },
}

impl DotGit {
    pub(crate) fn find(directory: &Path) -> Result<Self, OpenError> {
        let path = directory.join(".git");
        let metadata = match fs::metadata(&path).map_err(FileError::from) {
            Ok(metadata) => metadata,
            Err(error) if error.is_missing() => return Ok(Self::Absent),
            Err(error) => return Err(OpenError::unreadable(path, error)),
        };
        if metadata.is_dir() {
            return Ok(Self::Directory(path));
        }
        // Nothing is there only when it was removed since it was looked at.
        Ok(match PointerFile::GitFile.read(&path)? {
            Some(target) => Self::File { path, target },
            None => Self::Absent,
        })
    }
}
