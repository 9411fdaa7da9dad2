//! The mounts below a watched path: file systems of their own, which need marks of their own.
//!
//! Reads `/proc/self/mountinfo` (proc(5)) and touches no mount. Which kinds of file systems are not worth a
//! mark, or could hang whoever touches them, is decided here by name.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Kinds that the kernel makes up.
const MADE_UP: &[&str] = &[
    "autofs",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "devpts",
    "devtmpfs",
    "efivarfs",
    "fusectl",
    "hugetlbfs",
    "mqueue",
    "nsfs",
    "proc",
    "pstore",
    "ramfs",
    "rpc_pipefs",
    "securityfs",
    "selinuxfs",
    "sysfs",
    "tracefs",
];

/// Kinds whose server may not answer, or which cannot identify files to fanotify.
const REMOTE: &[&str] =
    &["9p", "afs", "ceph", "cifs", "fuse", "gfs2", "glusterfs", "lustre", "nfs", "ocfs2", "smb3"];

/// Whether a file system is worth a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Files of this host.
    Local,
    /// Nothing that anybody wrote.
    MadeUp,
    /// Not watched: it could hang us, and tells only of this host's writes.
    Remote,
}

/// A mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Where it is.
    pub path: PathBuf,
    /// The file system's name, such as `ext4`.
    pub file_system: String,
    /// What that means.
    pub kind: Kind,
}

/// The mounts below `root`, without the one that `root` itself is on.
///
/// # Errors
///
/// If `/proc` cannot be read.
pub fn below(root: &Path) -> io::Result<Vec<Mount>> {
    Ok(parse(&fs::read("/proc/self/mountinfo")?)
        .filter(|mount| mount.path != root && mount.path.starts_with(root))
        .collect())
}

/// The lines of mountinfo; one that is not understood is left out.
fn parse(mountinfo: &[u8]) -> impl Iterator<Item = Mount> + '_ {
    mountinfo.split(|&byte| byte == b'\n').filter_map(|line| {
        let mut fields = line.split(|&byte| byte == b' ');
        let path = unescape(fields.nth(4)?);
        let name = fields.skip_while(|field| *field != b"-").nth(1)?;
        let file_system = String::from_utf8_lossy(name).into_owned();
        let kind = kind(&file_system);
        Some(Mount { path, file_system, kind })
    })
}

fn kind(name: &str) -> Kind {
    if MADE_UP.contains(&name) {
        Kind::MadeUp
    // Also fuse.sshfs, fuseblk and nfs4.
    } else if REMOTE.iter().any(|remote| name.starts_with(remote)) {
        Kind::Remote
    } else {
        Kind::Local
    }
}

/// Undoes the octal escapes of space, tab, newline and backslash.
fn unescape(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, behind)) = rest.split_first() {
        let octal =
            behind.get(..3).filter(|digits| digits.iter().all(|d| (b'0'..b'8').contains(d)));
        if let (b'\\', Some(digits)) = (byte, octal) {
            bytes.push(
                digits
                    .iter()
                    .fold(0_u8, |value, digit| value.wrapping_mul(8).wrapping_add(digit - b'0')),
            );
            rest = &behind[3..];
        } else {
            bytes.push(byte);
            rest = behind;
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_understood() {
        let text = b"22 28 0:21 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n\
                     36 35 98:0 /mnt1 /mnt/two\\040words rw master:1 - ext4 /dev/root rw\n\
                     broken line\n\
                     40 35 0:50 / /mnt/far rw - fuse.sshfs host:/ rw\n\
                     41 35 0:51 / /mnt/nfs rw shared:1 master:2 - nfs4 host:/ rw\n";
        let mounts: Vec<Mount> = parse(text).collect();
        let seen: Vec<_> = mounts
            .iter()
            .map(|mount| (mount.path.to_str().unwrap(), &*mount.file_system, mount.kind))
            .collect();
        assert_eq!(
            seen,
            [
                ("/sys", "sysfs", Kind::MadeUp),
                ("/mnt/two words", "ext4", Kind::Local),
                ("/mnt/far", "fuse.sshfs", Kind::Remote),
                ("/mnt/nfs", "nfs4", Kind::Remote),
            ]
        );
    }

    #[test]
    fn escapes_are_undone_and_nothing_else() {
        assert_eq!(unescape(br"/a\040b\134\011\012c"), Path::new("/a b\\\t\nc"));
        assert_eq!(unescape(br"/a\9\04"), Path::new(r"/a\9\04"));
    }

    #[test]
    fn the_mounts_of_this_machine_are_read() {
        let mounts = below(Path::new("/")).unwrap();
        assert!(mounts.iter().any(|mount| mount.path == Path::new("/proc")));
    }
}
