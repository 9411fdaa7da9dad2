//! The system calls of the agent that no safe library offers: the one file of the agent with `unsafe`.
//!
//! Opening by file handle, making handles from names, taking over the descriptors that events bring,
//! and asking whether a pidfd's process is still there. Every function is sound for all arguments; each returns the kernel's error unchanged.
//! Sources: open_by_handle_at(2), name_to_handle_at(2), pidfd_send_signal(2), fanotify(7).
#![expect(unsafe_code, reason = "system calls on file handles")]

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use fanotify::low_level;

use super::handle::{FileHandle, FileSystemId};
use super::record::{Record, RecordError, Records};
use crate::limits::HANDLE_LEN_MAX;

/// `struct file_handle` with room for the longest handle.
#[repr(C)]
struct RawHandle {
    header: libc::file_handle,
    bytes: [u8; HANDLE_LEN_MAX],
}

const _: () = {
    assert!(HANDLE_LEN_MAX == 128);
    assert!(std::mem::offset_of!(RawHandle, bytes) == size_of::<libc::file_handle>());
};

impl RawHandle {
    fn new(kind: i32, handle: &[u8], len: usize) -> Self {
        assert!(handle.len() <= len);
        assert!(len <= HANDLE_LEN_MAX);
        let handle_bytes = libc::c_uint::try_from(len).expect("at most HANDLE_LEN_MAX");
        let header = libc::file_handle { handle_bytes, handle_type: kind, f_handle: [] };
        let mut bytes = [0; HANDLE_LEN_MAX];
        bytes[..handle.len()].copy_from_slice(handle);
        Self { header, bytes }
    }
}

/// Opens the file that `handle` names; `mount` is any open file of its file system.
pub(crate) fn open_by_handle(
    mount: BorrowedFd<'_>,
    handle: &FileHandle,
    flags: libc::c_int,
) -> io::Result<OwnedFd> {
    let mut raw = RawHandle::new(handle.kind(), handle.bytes(), handle.bytes().len());
    // SAFETY: the pointer is derived from all of `raw`, whose header says no more bytes than follow
    // it; the kernel reads those and keeps no reference.
    let fd = unsafe {
        libc::open_by_handle_at(mount.as_raw_fd(), (&raw mut raw).cast(), flags | libc::O_CLOEXEC)
    };
    own(fd)
}

/// The handle of `name` in `directory`, without following a symbolic link.
///
/// # Errors
///
/// The kernel's.
pub fn handle_of(
    file_system: FileSystemId,
    directory: BorrowedFd<'_>,
    name: &CStr,
) -> io::Result<FileHandle> {
    let mut raw = RawHandle::new(0, &[], HANDLE_LEN_MAX);
    let mut mount_id = 0;
    // SAFETY: `name` is NUL-terminated; the header of `raw` gives the room behind it, which is all that
    // the kernel writes; `mount_id` is writable.
    let code = unsafe {
        libc::name_to_handle_at(
            directory.as_raw_fd(),
            name.as_ptr(),
            (&raw mut raw).cast(),
            &raw mut mount_id,
            0,
        )
    };
    if code < 0 {
        return Err(io::Error::last_os_error());
    }
    let len = raw.header.handle_bytes as usize;
    raw.bytes
        .get(..len)
        .and_then(|bytes| FileHandle::new(file_system, raw.header.handle_type, bytes))
        .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

/// Whether the process of `pidfd` has not been reaped, so that its pid still means it.
pub(crate) fn is_unreaped(pidfd: &OwnedFd) -> bool {
    let (no_signal, no_flags) = (0, 0);
    // SAFETY: signal 0 is only a check; a null siginfo is allowed.
    let code = unsafe {
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            pidfd.as_raw_fd(),
            no_signal,
            std::ptr::null::<libc::siginfo_t>(),
            no_flags,
        )
    };
    // EPERM says that it is there and not ours to signal.
    code == 0 || io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
}

/// The descriptor of a fanotify group, so that only a group's bytes are taken for events.
#[derive(Debug)]
pub(crate) struct GroupFd(OwnedFd);

impl GroupFd {
    /// fanotify_init(2).
    pub(crate) fn init(flags: u32, event_flags: u32) -> io::Result<Self> {
        own(low_level::fanotify_init(flags, event_flags)?).map(Self)
    }

    /// Reads once into `buffer` and passes on each event with the pidfd that came with it.
    ///
    /// Returns the number of events. [`io::ErrorKind::WouldBlock`] says that there are none.
    pub(crate) fn read(
        &self,
        buffer: &mut [u8],
        mut on_event: impl FnMut(Result<Record, RecordError>, Option<OwnedFd>),
    ) -> io::Result<usize> {
        let len = rustix::io::read(&self.0, &mut *buffer)?;
        let mut count = 0;
        for record in Records::new(&buffer[..len]) {
            // The kernel made this descriptor for this event, and each event is seen once.
            let pidfd = record.ok().and_then(|record| record.pidfd).map(own).transpose()?;
            on_event(record, pidfd);
            count += 1;
        }
        Ok(count)
    }
}

impl AsFd for GroupFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Takes ownership of a descriptor that the kernel has just made, or its error. Private to this file,
/// where every caller passes what a system call returned.
fn own(fd: libc::c_int) -> io::Result<OwnedFd> {
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: see above: the descriptor is open and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_leads_back_to_its_file() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("a"), "text").unwrap();
        let open = std::fs::File::open(directory.path()).unwrap();
        let handle = handle_of(FileSystemId([0; 8]), open.as_fd(), c"a").unwrap();
        let file = open_by_handle(open.as_fd(), &handle, libc::O_RDONLY).unwrap();
        assert_eq!(io::read_to_string(std::fs::File::from(file)).unwrap(), "text");
        std::fs::remove_file(directory.path().join("a")).unwrap();
        let error = open_by_handle(open.as_fd(), &handle, libc::O_RDONLY).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ESTALE));
    }
}
