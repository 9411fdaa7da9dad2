//! fanotify: the kernel's events about files, and the handles that identify them.
//!
//! Nothing here decides what is scanned.

mod group;
mod handle;
mod record;
mod sys;

pub use group::{Group, GroupError, Happening};
pub use handle::{FileHandle, FileSystemId, Name};
pub use record::{Entry, Record, RecordError, Records};
pub use sys::handle_of;
pub(crate) use sys::{is_unreaped, open_by_handle};
