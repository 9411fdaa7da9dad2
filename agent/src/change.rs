//! A change: one file that may need a scan, as plain data that any thread or process could be sent.

use std::sync::Arc;

use crate::fanotify::{FileHandle, Name};
use crate::process::Process;

/// How the agent learned of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// An event.
    Fanotify,
    /// A walk after events were lost, or over a path that appeared.
    Catchup,
    /// `lapwing scan`.
    Scan,
}

impl Source {
    /// The word used in JSON and in the journal.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fanotify => "fanotify",
            Self::Catchup => "catchup",
            Self::Scan => "scan",
        }
    }
}

/// A file to scan.
#[derive(Clone, Debug)]
pub struct Change {
    /// The file.
    pub file: FileHandle,
    /// The directory and the name under which it was seen last.
    pub at: Option<(FileHandle, Name)>,
    /// Who changed it last.
    pub process: Option<Arc<Process>>,
    /// How it became known.
    pub source: Source,
    /// How often it could not be opened for now.
    pub retries: u8,
}

impl Change {
    /// Whether the name looks like one that the file will not keep. Such a file is scanned like any
    /// other, only a little later, so that its alert can carry the name that it gets.
    #[must_use]
    pub fn has_passing_name(&self) -> bool {
        self.at.is_none_or(|(_, name)| is_passing(name.bytes()))
    }
}

/// Names that editors, package managers, browsers and the kernel give to files on their way.
fn is_passing(name: &[u8]) -> bool {
    const ENDINGS: &[&[u8]] = &[
        b"~",
        b".tmp",
        b".temp",
        b".swp",
        b".swx",
        b".swpx",
        b".part",
        b".partial",
        b".crdownload",
        b".download",
        b".new",
        b".lock",
        b".dpkg-new",
        b".dpkg-tmp",
        b".atomic",
        b".save",
    ];
    const BEGINNINGS: &[&[u8]] =
        &[b"#", b".#", b".~", b".goutputstream-", b".nfs", b".tmp", b"tmp", b"~"];
    if ENDINGS.iter().any(|ending| name.ends_with(ending))
        || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || name.windows(5).any(|window| window == b".tmp.")
    {
        return true;
    }
    // sed's sedXXXXXX, vim's 4913, mkstemp's and rsync's .name.XXXXXX.
    let is_random = |part: &[u8]| part.len() >= 6 && part.iter().all(u8::is_ascii_alphanumeric);
    name.strip_prefix(b"sed").is_some_and(|rest| rest.len() == 6 && is_random(rest))
        || name == b"4913"
        || name.starts_with(b".")
            && name
                .rsplit(|&byte| byte == b'.')
                .next()
                .is_some_and(|end| is_random(end) && name.len() > end.len() + 2 && end.len() <= 12)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_on_their_way() {
        for name in [
            "#16",
            "a.env~",
            ".a.tmp",
            ".env.swp",
            "sedAb12Cd",
            "4913",
            ".goutputstream-X1Y2Z3",
            "config.lock",
            "x.dpkg-new",
            ".env.aB3dE6",
            "env.tmp.1234",
            "tmpab12cd",
        ] {
            assert!(is_passing(name.as_bytes()), "{name}");
        }
        for name in [".env", ".env.local", "a.txt", ".bashrc", "id_rsa", "secrets.yaml", "sedan"] {
            assert!(!is_passing(name.as_bytes()), "{name}");
        }
    }
}
