//! Something about a repository's alternates that hides objects from the reader.
//!
//! It is data, not an error: a repository whose alternate has gone still has its own objects, and
//! git only warns. Whoever reads the repository must report it, because what is not read is not
//! searched.
//!
//! How many there can be is bounded by how many entries are looked at, see `limits.rs`.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::bounded_file::FileError;

/// An alternate, or a list of them, that could not be followed.
#[derive(Debug)]
pub struct AlternateFault {
    path: PathBuf,
    reason: AlternateReason,
}

/// Why an alternate could not be followed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AlternateReason {
    /// The alternate does not exist.
    #[error("the object directory does not exist")]
    Missing,
    /// The alternate is there and is not a directory.
    #[error("the object directory is not a directory")]
    NotDirectory,
    /// The alternate, or the list, could not be read.
    #[error("it cannot be read: {0}")]
    Unreadable(FileError),
    /// The list belongs to an alternate that is as far from the repository as git goes.
    #[error("the list of alternates is nested too deep")]
    TooDeep,
    /// With this list there are more alternates than are followed for one repository.
    #[error("there are too many alternates; the list is not followed to its end")]
    TooMany,
}

impl AlternateFault {
    pub(crate) fn new(path: PathBuf, reason: AlternateReason) -> Self {
        Self { path, reason }
    }

    /// The object directory, or the `alternates` file, that is at fault.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is wrong with it.
    #[must_use]
    pub fn reason(&self) -> &AlternateReason {
        &self.reason
    }
}

impl fmt::Display for AlternateFault {
    #[expect(clippy::unnecessary_debug_formatting, reason = "escaped, see open_error.rs")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.path, self.reason)
    }
}
