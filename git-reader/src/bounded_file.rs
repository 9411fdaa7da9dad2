//! A file of a repository, opened so that its owner cannot make the reader wait or run out of
//! memory.
//!
//! It owns the open handle and the knowledge that the handle is a regular file. It must not be
//! given to anyone as a bare [`File`], because the bound would then be forgotten. Symbolic links
//! are followed, as git follows them.
//!
//! A FIFO, a device, a socket or a directory is refused before a byte is read. No more than one
//! byte beyond the bound is ever read; that byte tells a file that is too long from one that just
//! fits, also when the file grows meanwhile.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// A regular file, open and not yet read.
#[derive(Debug)]
pub(crate) struct BoundedFile {
    file: File,
}

/// Why a file could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It is a directory, a FIFO, a device or a socket.
    #[error("it is not a regular file")]
    NotRegular,
    /// It is longer than any such file has reason to be.
    #[error("it is longer than {bytes_max} bytes")]
    TooLong {
        /// The bound it passed.
        bytes_max: usize,
    },
    /// The system refused.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl BoundedFile {
    pub(crate) fn open(path: &Path) -> Result<Self, FileError> {
        // Asked by name first, because opening alone has effects on some devices.
        if !fs::metadata(path)?.is_file() {
            return Err(FileError::NotRegular);
        }
        // The name may lead to something else by now. O_NONBLOCK keeps a FIFO from blocking the
        // open and O_NOCTTY a terminal from becoming ours; the handle then has the last word.
        let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        if !file.metadata()?.is_file() {
            return Err(FileError::NotRegular);
        }
        Ok(Self { file })
    }

    /// The whole file, which must not be longer than `bytes_max`.
    pub(crate) fn read_all(self, bytes_max: usize) -> Result<Vec<u8>, FileError> {
        let bytes = self.read_start(bytes_max.saturating_add(1))?;
        if bytes.len() > bytes_max { Err(FileError::TooLong { bytes_max }) } else { Ok(bytes) }
    }

    /// The first `bytes_max` bytes of the file, or all of it when it is shorter.
    pub(crate) fn read_start(self, bytes_max: usize) -> Result<Vec<u8>, FileError> {
        let limit = u64::try_from(bytes_max).unwrap_or(u64::MAX);
        let mut bytes = Vec::new();
        self.file.take(limit).read_to_end(&mut bytes)?;
        assert!(bytes.len() <= bytes_max);
        Ok(bytes)
    }
}

impl FileError {
    /// Whether there is no such file, as opposed to one that cannot be read.
    pub(crate) fn is_missing(&self) -> bool {
        let Self::Io(error) = self else { return false };
        matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_the_longest_file_that_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, b"12345678").unwrap();
        let open = || BoundedFile::open(&path).unwrap();
        assert_eq!(open().read_all(8).unwrap(), b"12345678");
        assert!(matches!(open().read_all(7), Err(FileError::TooLong { bytes_max: 7 })));
        assert_eq!(open().read_start(3).unwrap(), b"123");
        assert_eq!(open().read_start(9).unwrap(), b"12345678");
    }

    #[test]
    fn only_regular_files_are_opened() {
        let directory = tempfile::tempdir().unwrap();
        for path in [directory.path(), Path::new("/dev/zero"), Path::new("/dev/tty")] {
            assert!(matches!(BoundedFile::open(path), Err(FileError::NotRegular)), "{path:?}");
        }
    }

    #[test]
    fn missing_is_told_from_unreadable() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        fs::write(&file, b"").unwrap();
        assert!(BoundedFile::open(&directory.path().join("none")).unwrap_err().is_missing());
        assert!(BoundedFile::open(&file.join("below")).unwrap_err().is_missing());
        assert!(!FileError::NotRegular.is_missing());
    }
}
