//! Kernel file handles: the identity of a file that neither a rename nor a reused path can change.
//!
//! Plain data, stored inline, so that handling an event allocates nothing.
//! Source: open_by_handle_at(2), fanotify(7).

use std::fmt;

use crate::limits::{HANDLE_LEN_MAX, NAME_LEN_MAX};

/// A file system, by the id that statfs(2) and fanotify give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileSystemId(pub [u8; 8]);

/// A file handle together with its file system.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileHandle {
    file_system: FileSystemId,
    kind: i32,
    len: u8,
    bytes: [u8; HANDLE_LEN_MAX],
}

impl FileHandle {
    /// `None` if the handle is longer than any that the kernel makes.
    #[must_use]
    pub fn new(file_system: FileSystemId, kind: i32, handle: &[u8]) -> Option<Self> {
        let mut bytes = [0; HANDLE_LEN_MAX];
        bytes.get_mut(..handle.len())?.copy_from_slice(handle);
        Some(Self { file_system, kind, len: u8::try_from(handle.len()).ok()?, bytes })
    }

    /// The file system that the handle belongs to.
    #[must_use]
    pub fn file_system(&self) -> FileSystemId {
        self.file_system
    }

    /// The handle's type, meaningful only to the file system.
    #[must_use]
    pub fn kind(&self) -> i32 {
        self.kind
    }

    /// The handle's bytes, meaningful only to the file system.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl fmt::Debug for FileHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileHandle({:02x?}, {}, {:02x?})", self.file_system.0, self.kind, self.bytes())
    }
}

/// A file name: raw bytes without slash or NUL, as the kernel gives them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Name {
    len: u8,
    bytes: [u8; NAME_LEN_MAX],
}

impl Name {
    /// `None` if the name is empty, too long, or has a slash or a NUL in it.
    #[must_use]
    pub fn new(name: &[u8]) -> Option<Self> {
        if name.is_empty() || name.iter().any(|&byte| matches!(byte, 0 | b'/')) {
            return None;
        }
        let mut bytes = [0; NAME_LEN_MAX];
        bytes.get_mut(..name.len())?.copy_from_slice(name);
        Some(Self { len: u8::try_from(name.len()).ok()?, bytes })
    }

    /// The name.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.bytes().escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_and_names_are_bounded() {
        let id = FileSystemId([0; 8]);
        assert!(FileHandle::new(id, 1, &[0; HANDLE_LEN_MAX]).is_some());
        assert!(FileHandle::new(id, 1, &[0; HANDLE_LEN_MAX + 1]).is_none());
        assert!(Name::new(&[0xff; NAME_LEN_MAX]).is_some());
        assert!(Name::new(&[0xff; NAME_LEN_MAX + 1]).is_none());
        assert!(Name::new(b"a/b").is_none());
        assert!(Name::new(b"").is_none());
    }

    #[test]
    fn a_handle_is_all_of_its_parts() {
        let handle = |fs, kind, bytes: &[u8]| FileHandle::new(FileSystemId([fs; 8]), kind, bytes);
        assert_eq!(handle(1, 1, b"x"), handle(1, 1, b"x"));
        assert_ne!(handle(1, 1, b"x"), handle(2, 1, b"x"));
        assert_ne!(handle(1, 1, b"x"), handle(1, 2, b"x"));
        assert_ne!(handle(1, 1, b"x"), handle(1, 1, b"x\0"));
    }
}
