//! Who wrote a file: what can be learned of a process from its pidfd, at once, before it is gone.
//!
//! What is not known is left out, never guessed. Facts read from `/proc/PID` count only if the pidfd says
//! afterwards that the process has not been reaped: then the pid meant it all along. A process that
//! closes its files by exiting has no `exe` any more. It is the last closer, not always the writer.
//! Bounded: the last `PROCESSES_MAX` processes are remembered, each with its pidfd, and none of them when
//! descriptors run out.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::{fs, io};

use crate::fanotify::is_unreaped;
use crate::limits::PROCESSES_MAX;

/// A process as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// In our pid namespace; `None` for a process outside of it.
    pub pid: Option<i32>,
    /// The command's name, at most 15 bytes.
    pub comm: Option<OsString>,
    /// The executable.
    pub exe: Option<PathBuf>,
    /// The real user id.
    pub uid: Option<u32>,
}

/// The processes seen last, newest at the back.
#[derive(Debug, Default)]
pub struct Processes {
    known: VecDeque<(i32, OwnedFd, Arc<Process>)>,
}

impl Processes {
    /// Remembers nobody yet.
    #[must_use]
    pub fn new() -> Self {
        Self { known: VecDeque::with_capacity(PROCESSES_MAX) }
    }

    /// Lets go of all descriptors.
    pub fn forget(&mut self) {
        self.known.clear();
    }

    /// The process of an event.
    pub fn identify(&mut self, pid: i32, pidfd: Option<OwnedFd>) -> Option<Arc<Process>> {
        if pid <= 0 {
            return None;
        }
        if let Some(index) = self.known.iter().rposition(|(known, _, _)| *known == pid) {
            // As long as the remembered process is not reaped, nobody else has its pid.
            if is_unreaped(&self.known[index].1) {
                return Some(Arc::clone(&self.known[index].2));
            }
            self.known.remove(index);
        }
        let process = if let Some(pidfd) = &pidfd {
            examine(pid, pidfd)
        } else {
            // The process is gone, or the kernel had no descriptor to give: opening files comes first.
            self.forget();
            Process { pid: Some(pid), ..Process::default() }
        };
        let process = Arc::new(process);
        if let Some(pidfd) = pidfd {
            if self.known.len() == PROCESSES_MAX {
                self.known.pop_front();
            }
            self.known.push_back((pid, pidfd, Arc::clone(&process)));
        }
        Some(process)
    }
}

fn examine(pid: i32, pidfd: &OwnedFd) -> Process {
    let comm = fs::read(format!("/proc/{pid}/comm")).ok().map(|mut comm| {
        comm.pop_if(|byte| *byte == b'\n');
        std::os::unix::ffi::OsStringExt::from_vec(comm)
    });
    let uid = real_uid(pid).ok().flatten();
    let exe = fs::read_link(format!("/proc/{pid}/exe")).ok();
    if is_unreaped(pidfd) {
        return Process { pid: Some(pid), comm, exe, uid };
    }
    Process { pid: Some(pid), ..Process::default() }
}

/// The first number of the line `Uid:` in `/proc/PID/status`, see proc(5).
fn real_uid(pid: i32) -> io::Result<Option<u32>> {
    let status = fs::read(format!("/proc/{pid}/status"))?;
    let line = status.split(|&byte| byte == b'\n').find_map(|line| line.strip_prefix(b"Uid:\t"));
    Ok(line
        .and_then(|line| line.split(u8::is_ascii_whitespace).next())
        .and_then(|uid| std::str::from_utf8(uid).ok())
        .and_then(|uid| uid.parse().ok()))
}

#[cfg(test)]
mod tests {
    use rustix::process::{Pid, PidfdFlags, getuid, pidfd_open};

    use super::*;

    fn pidfd(pid: i32) -> OwnedFd {
        pidfd_open(Pid::from_raw(pid).unwrap(), PidfdFlags::empty()).unwrap()
    }

    #[test]
    fn a_living_process_is_known_in_full_and_remembered() {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        let mut processes = Processes::new();
        let process = processes.identify(pid, Some(pidfd(pid))).unwrap();
        assert_eq!(process.pid, Some(pid));
        assert_eq!(process.uid, Some(getuid().as_raw()));
        assert_eq!(process.exe, std::env::current_exe().ok());
        assert!(process.comm.is_some());
        let again = processes.identify(pid, None).unwrap();
        assert!(Arc::ptr_eq(&process, &again));
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a process that can be reaped")]
    fn a_reaped_process_is_only_a_pid() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let pidfd = pidfd(pid);
        child.wait().unwrap();
        let process = Processes::new().identify(pid, Some(pidfd)).unwrap();
        assert_eq!(*process, Process { pid: Some(pid), ..Process::default() });
    }

    #[test]
    fn a_process_outside_our_namespace_is_unknown() {
        assert_eq!(Processes::new().identify(0, None), None);
    }

    #[test]
    fn memory_is_bounded() {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        let mut processes = Processes::new();
        for other in 0..2 * i32::try_from(PROCESSES_MAX).unwrap() {
            processes.identify(1_000_000 + other, Some(pidfd(pid)));
        }
        assert_eq!(processes.known.len(), PROCESSES_MAX);
    }
}
