//! Repository in, blobs out: finds a git repository on disk and says where its objects are and
//! how they are named. It knows git's files and nothing of what is searched for in them.
//!
//! What it must not do: run `git` or anything else, follow a repository's settings into execution
//! (hooks, filters, aliases and `include` are never looked at), write, start threads, print, or
//! consult the environment. `GIT_DIR` and its kin are for the caller to interpret. Because
//! nothing is executed, `safe.directory` has nothing to protect here and is not asked.
//!
//! A repository is hostile input. Every file is opened without blocking, must prove on the open
//! handle that it is a regular file, and is read up to a bound that stands in `limits.rs`. Bytes
//! that make no sense give an error or are reported as data; they never give a panic. Paths are
//! raw bytes throughout.
//!
//! ```no_run
//! use std::path::Path;
//!
//! let repository = git_reader::Repository::discover(Path::new("."))?;
//! for directory in repository.object_directories().paths() {
//!     assert!(directory.is_absolute());
//! }
//! # Ok::<(), git_reader::OpenError>(())
//! ```

#![deny(missing_docs)]
#![forbid(unsafe_code)]

mod limits;

mod repository;

mod dot_git;
mod git_directory;
mod pointer_file;

mod config_reader;
mod repository_format;

mod alternate_fault;
mod alternates_reader;
mod object_directories;

mod object_id;

mod bounded_file;
mod open_error;

pub use alternate_fault::{AlternateFault, AlternateReason};
pub use bounded_file::FileError;
pub use object_directories::ObjectDirectories;
pub use object_id::{ObjectFormat, ObjectId, ObjectIdError};
pub use open_error::OpenError;
pub use repository::Repository;
