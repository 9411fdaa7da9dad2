//! File systems and mounts as seen from a path or an open file.
//!
//! Small questions to the kernel, each answered without holding anything open.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FsWord, Mode, OFlags, StatxFlags, fstatvfs, open, statvfs, statx};

use crate::fanotify::FileSystemId;

/// The id of the file system that `path` is on.
///
/// # Errors
///
/// The kernel's.
pub fn id_of_path(path: &Path) -> io::Result<FileSystemId> {
    Ok(id(statvfs(path)?.f_fsid))
}

/// The id of the file system that an open file is on.
///
/// # Errors
///
/// The kernel's.
pub fn id_of_file(file: impl AsFd) -> io::Result<FileSystemId> {
    Ok(id(fstatvfs(file)?.f_fsid))
}

/// statvfs(3) has the two 32-bit words of the kernel's id in one number, the first one lowest.
fn id(number: u64) -> FileSystemId {
    let mut bytes = [0; 8];
    let words = number.to_le_bytes();
    for (word, bytes) in words.chunks_exact(4).zip(bytes.chunks_exact_mut(4)) {
        let word: [u8; 4] = word.try_into().expect("chunks of four");
        bytes.copy_from_slice(&u32::from_le_bytes(word).to_ne_bytes());
    }
    FileSystemId(bytes)
}

/// Opens a directory for a moment, so that handles of its file system can be resolved.
///
/// # Errors
///
/// The kernel's.
pub fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(open(path, flags, Mode::empty())?)
}

/// The topmost ancestor of a canonical path that is on the same mount: its mount point.
///
/// # Errors
///
/// The kernel's.
pub fn mount_point(path: &Path) -> io::Result<PathBuf> {
    let mount = mount_id(path)?;
    let mut top = path;
    while let Some(parent) = top.parent()
        && mount_id(parent)? == mount
    {
        top = parent;
    }
    Ok(top.to_owned())
}

fn mount_id(path: &Path) -> io::Result<u64> {
    Ok(statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID)?.stx_mnt_id)
}

/// Whether the directory's file system is one that the kernel makes up: nothing on it was written by
/// anybody, and reading it can wait or act.
///
/// # Errors
///
/// The kernel's.
pub fn is_pseudo(directory: impl AsFd) -> io::Result<bool> {
    // linux/magic.h
    const PSEUDO: &[FsWord] = &[
        0x9fa0,      // proc
        0x6265_6572, // sysfs
        0x0027_e0eb, // cgroup
        0x6367_7270, // cgroup2
        0x1cd1,      // devpts
        0x6462_6720, // debugfs
        0x7472_6163, // tracefs
        0x7363_6673, // securityfs
        0xcafe_4a11, // bpf
        0x6165_676c, // pstore
        0x6265_6570, // configfs
        0xde5e_81e4, // efivarfs
        0x1980_0202, // mqueue
        0x4249_4e4d, // binfmt_misc
        0x6e73_6673, // nsfs
        0xf97c_ff8c, // selinuxfs
    ];
    Ok(PSEUDO.contains(&rustix::fs::fstatfs(directory)?.f_type))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mount_point_of_proc_is_found_from_within() {
        assert_eq!(mount_point(Path::new("/proc/sys/fs")).unwrap(), Path::new("/proc"));
        assert_eq!(mount_point(Path::new("/")).unwrap(), Path::new("/"));
    }

    #[test]
    fn pseudo_file_systems_are_known() {
        assert!(is_pseudo(open_directory(Path::new("/proc")).unwrap()).unwrap());
        assert!(is_pseudo(open_directory(Path::new("/sys")).unwrap()).unwrap());
        assert!(!is_pseudo(open_directory(Path::new("/")).unwrap()).unwrap());
    }

    #[test]
    fn paths_and_open_files_agree_on_the_id() {
        let directory = tempfile::tempdir().unwrap();
        let open = open_directory(directory.path()).unwrap();
        assert_eq!(id_of_path(directory.path()).unwrap(), id_of_file(&open).unwrap());
    }
}
