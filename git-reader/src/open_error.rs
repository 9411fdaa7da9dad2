//! Why a repository could not be opened.
//!
//! Each message names the file and what is wrong with it, and stands alone: causes are part of
//! the message, so that a log line is complete. A message must not carry a file's content, which
//! may be anything that a path in a hostile repository leads to.
//!
//! Paths are shown escaped (`{:?}`), so that a name with control characters cannot write to the
//! terminal of whoever reads the message.

use std::path::PathBuf;

use crate::bounded_file::FileError;

/// Why a repository could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Discovery came to the root, or to a mount point, without meeting a repository.
    #[error("no repository at or above {path:?}")]
    NotFound {
        /// Where discovery began.
        path: PathBuf,
    },
    /// A directory lacks what every git directory has.
    #[error("{path:?} is not a git directory: {message}")]
    NotGitDirectory {
        /// The directory.
        path: PathBuf,
        /// What it lacks.
        message: &'static str,
    },
    /// A `.git` file leads to something that is not a git directory.
    #[error("{path:?} leads to no repository: {cause}")]
    GitFile {
        /// The `.git` file.
        path: PathBuf,
        /// What is wrong at the place it leads to.
        cause: Box<OpenError>,
    },
    /// A file could not be read, or a directory not be reached.
    #[error("{path:?} cannot be read: {cause}")]
    Unreadable {
        /// The file or directory.
        path: PathBuf,
        /// Why not.
        cause: FileError,
    },
    /// A file was read and makes no sense.
    #[error("{path:?} is malformed: {message}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        message: &'static str,
    },
    /// `core.repositoryFormatVersion` is none that is known, so nothing may be assumed of the
    /// layout.
    #[error("{path:?} asks for a repository format version that is not known")]
    UnknownVersion {
        /// The `config` file.
        path: PathBuf,
    },
    /// `extensions.objectFormat` is none that is known.
    #[error("{path:?} names an object format that is not known")]
    UnknownObjectFormat {
        /// The `config` file.
        path: PathBuf,
    },
}

impl OpenError {
    pub(crate) fn unreadable(path: impl Into<PathBuf>, cause: impl Into<FileError>) -> Self {
        Self::Unreadable { path: path.into(), cause: cause.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_the_file_and_cannot_drive_a_terminal() {
        let cause = OpenError::NotGitDirectory {
            path: PathBuf::from("/a\u{1b}[2J"),
            message: "HEAD is missing",
        };
        let error = OpenError::GitFile { path: PathBuf::from("/b/.git"), cause: Box::new(cause) };
        assert_eq!(
            error.to_string(),
            "\"/b/.git\" leads to no repository: \"/a\\u{1b}[2J\" is not a git directory: \
             HEAD is missing"
        );
    }
}
