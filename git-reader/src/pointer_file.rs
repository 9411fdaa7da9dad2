//! A file that holds one path, by which git leads from one directory to another: the `.git` file
//! of a submodule or linked worktree, and `commondir`, see gitrepository-layout(5).
//!
//! Reading one gives a path and says nothing of what is there. It must not be followed from here:
//! git allows no chain of such files, and whoever asked checks the one directory it leads to.
//!
//! A path is any bytes but NUL. Line ends are dropped at the end only, as git does, because a
//! directory may have one within its name. A relative path starts at the file's own directory.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::bounded_file::BoundedFile;
use crate::limits::{COMMON_DIR_BYTES_MAX, GIT_FILE_BYTES_MAX, GIT_FILE_PREFIX};
use crate::open_error::OpenError;

/// One of the kinds of pointer file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PointerFile {
    /// A file named `.git`: `gitdir: ` and the path of a git directory.
    GitFile,
    /// The file `commondir` of a linked worktree's git directory: the path of the main one.
    CommonDir,
}

impl PointerFile {
    /// Where the file at `path` leads, or nothing when there is no such file.
    pub(crate) fn read(self, path: &Path) -> Result<Option<PathBuf>, OpenError> {
        let content = match BoundedFile::open(path).and_then(|file| file.read_all(self.bytes_max()))
        {
            Ok(content) => content,
            Err(error) if error.is_missing() => return Ok(None),
            Err(error) => return Err(OpenError::unreadable(path, error)),
        };
        let target = self
            .parse(&content)
            .map_err(|message| OpenError::Malformed { path: path.to_owned(), message })?;
        Ok(Some(path.parent().unwrap_or(Path::new("/")).join(target)))
    }

    fn parse(self, content: &[u8]) -> Result<&Path, &'static str> {
        let mut target =
            content.strip_prefix(self.prefix()).ok_or("it does not begin with `gitdir: `")?;
        while let [start @ .., b'\n' | b'\r'] = target {
            target = start;
        }
        if target.is_empty() {
            return Err("it holds no path");
        }
        if target.contains(&0) {
            return Err("its path holds a NUL byte");
        }
        Ok(Path::new(OsStr::from_bytes(target)))
    }

    const fn prefix(self) -> &'static [u8] {
        match self {
            Self::GitFile => GIT_FILE_PREFIX,
            Self::CommonDir => b"",
        }
    }

    const fn bytes_max(self) -> usize {
        match self {
            Self::GitFile => GIT_FILE_BYTES_MAX,
            Self::CommonDir => COMMON_DIR_BYTES_MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: PointerFile, content: &[u8], expected: Result<&[u8], &str>) {
        let actual = kind.parse(content).map(|path| path.as_os_str().as_bytes());
        assert_eq!(actual, expected, "{}", content.escape_ascii());
    }

    #[test]
    fn git_files() {
        let kind = PointerFile::GitFile;
        check(kind, b"gitdir: ../a/.git\n", Ok(b"../a/.git"));
        check(kind, b"gitdir: /a", Ok(b"/a"));
        check(kind, b"gitdir: a\r\n\n", Ok(b"a"));
        check(kind, b"gitdir:  a \n", Ok(b" a "));
        check(kind, b"gitdir: a\nb\n", Ok(b"a\nb"));
        check(kind, b"gitdir: \xff\xfe\n", Ok(b"\xff\xfe"));
        for content in [&b""[..], b"gitdir:", b"gitdir:a", b" gitdir: a", b"GITDIR: a"] {
            check(kind, content, Err("it does not begin with `gitdir: `"));
        }
        check(kind, b"gitdir: \n", Err("it holds no path"));
        check(kind, b"gitdir: a\0b\n", Err("its path holds a NUL byte"));
    }

    #[test]
    fn common_dirs() {
        let kind = PointerFile::CommonDir;
        check(kind, b"../..\n", Ok(b"../.."));
        check(kind, b"\r\n", Err("it holds no path"));
        check(kind, b"", Err("it holds no path"));
        check(kind, b"\0", Err("its path holds a NUL byte"));
    }

    #[test]
    fn a_relative_path_starts_at_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(".git");
        std::fs::write(&path, "gitdir: real\n").unwrap();
        let target = PointerFile::GitFile.read(&path).unwrap();
        assert_eq!(target, Some(directory.path().join("real")));
        std::fs::write(&path, "gitdir: /real\n").unwrap();
        let target = PointerFile::GitFile.read(&path).unwrap();
        assert_eq!(target, Some(PathBuf::from("/real")));
        let target = PointerFile::CommonDir.read(&directory.path().join("none")).unwrap();
        assert_eq!(target, None);
    }
}
