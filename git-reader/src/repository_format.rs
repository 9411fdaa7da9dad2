//! What a repository's `config` says about the form of its objects, see git-config(1) and
//! gitrepository-layout(5).
//!
//! It reads `core.repositoryFormatVersion` and `extensions.objectFormat` and must not read any
//! other setting: what is never read cannot be followed into execution.
//!
//! The last of several settings counts, as in git. git refuses an extension that it does not
//! know; here it is passed over, because all that are defined concern references, remotes or
//! worktrees, and none how an object is stored. For the same reason the object format is believed
//! in a repository of version 0, which git refuses.

use std::path::Path;

use crate::bounded_file::BoundedFile;
use crate::config_reader::ConfigReader;
use crate::limits::CONFIG_BYTES_MAX;
use crate::object_id::ObjectFormat;
use crate::open_error::OpenError;

/// The format of a repository.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RepositoryFormat {
    pub(crate) object_format: ObjectFormat,
}

impl RepositoryFormat {
    /// Reads the format of the repository whose `config` is at `path`. Without such a file it is
    /// the one that git began with.
    pub(crate) fn read(path: &Path) -> Result<Self, OpenError> {
        let file = BoundedFile::open(path).and_then(|file| file.read_all(CONFIG_BYTES_MAX));
        match file {
            Ok(content) => Self::parse(&content).map_err(|fault| {
                let path = path.to_owned();
                match fault {
                    FormatFault::Version => OpenError::UnknownVersion { path },
                    FormatFault::ObjectFormat => OpenError::UnknownObjectFormat { path },
                }
            }),
            Err(error) if error.is_missing() => Ok(Self { object_format: ObjectFormat::Sha1 }),
            Err(error) => Err(OpenError::unreadable(path, error)),
        }
    }

    fn parse(content: &[u8]) -> Result<Self, FormatFault> {
        let mut version = Some(b"0".to_vec());
        let mut name = Some(ObjectFormat::Sha1.name().as_bytes().to_vec());
        for entry in ConfigReader::new(content) {
            if entry.is("core", "repositoryformatversion") {
                version = entry.value;
            } else if entry.is("extensions", "objectformat") {
                name = entry.value;
            }
        }
        if !matches!(version.as_deref(), Some(b"0" | b"1")) {
            return Err(FormatFault::Version);
        }
        let object_format = name.as_deref().and_then(ObjectFormat::from_name);
        Ok(Self { object_format: object_format.ok_or(FormatFault::ObjectFormat)? })
    }
}

/// The setting that is not understood.
#[derive(Debug, PartialEq, Eq)]
enum FormatFault {
    Version,
    ObjectFormat,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(content: &[u8], expected: Result<ObjectFormat, FormatFault>) {
        let expected = expected.map(|object_format| RepositoryFormat { object_format });
        assert_eq!(RepositoryFormat::parse(content), expected, "{}", content.escape_ascii());
    }

    #[test]
    fn formats() {
        check(b"", Ok(ObjectFormat::Sha1));
        check(b"[core]\nrepositoryformatversion = 0\n", Ok(ObjectFormat::Sha1));
        check(
            b"[core]\nrepositoryformatversion = 1\n[extensions]\nobjectFormat = sha256\n",
            Ok(ObjectFormat::Sha256),
        );
        check(b"[extensions]\nobjectformat = sha256\n", Ok(ObjectFormat::Sha256));
        check(b"[extensions]objectformat=sha256\nobjectformat=sha1", Ok(ObjectFormat::Sha1));
        check(b"[extensions]\nunheardOf = yes\n", Ok(ObjectFormat::Sha1));
        check(b"[extensions \"x\"]\nobjectformat = md5\n", Ok(ObjectFormat::Sha1));
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        check(b"[extensions]\nobjectformat = md5\n", Err(FormatFault::ObjectFormat));
        check(b"[extensions]\nobjectformat\n", Err(FormatFault::ObjectFormat));
        check(b"[extensions]\nobjectformat = \"sha256\n", Err(FormatFault::ObjectFormat));
        check(b"[core]\nrepositoryformatversion = 2\n", Err(FormatFault::Version));
        check(b"[core]\nrepositoryformatversion = \xff\n", Err(FormatFault::Version));
        check(b"[core]\nrepositoryformatversion\n", Err(FormatFault::Version));
    }

    #[test]
    fn a_file_beyond_the_bound_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("config");
        std::fs::File::create(&path).unwrap().set_len(CONFIG_BYTES_MAX as u64 + 1).unwrap();
        assert!(matches!(RepositoryFormat::read(&path), Err(OpenError::Unreadable { .. })));
        std::fs::remove_file(&path).unwrap();
        let format = RepositoryFormat::read(&path).unwrap();
        assert_eq!(format.object_format, ObjectFormat::Sha1);
    }
}
