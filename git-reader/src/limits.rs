//! Every bound of this crate, each with its reason.
//!
//! A bound that lives anywhere else is a bound nobody can relate to the others. This file holds
//! numbers only: what happens when one is passed is decided, and documented, where it is used.
//!
//! The relations between the numbers are checked when the crate is compiled.

/// Longest path the kernel takes, with its closing NUL: `PATH_MAX` of `<linux/limits.h>`.
/// A longer path names nothing that could be opened.
const PATH_BYTES_MAX: usize = 4096;

/// What a `.git` file begins with, see gitrepository-layout(5).
pub(crate) const GIT_FILE_PREFIX: &[u8] = b"gitdir: ";

/// Longest `.git` file. git takes a mebibyte, but such a file holds one path and line ends, so
/// twice the longest path is generous.
pub(crate) const GIT_FILE_BYTES_MAX: usize = 2 * PATH_BYTES_MAX;

/// Longest `commondir` file: one path and line ends, as in a `.git` file.
pub(crate) const COMMON_DIR_BYTES_MAX: usize = 2 * PATH_BYTES_MAX;

/// How much of `HEAD` is read. git judges `HEAD` by its first 255 bytes as well, so a longer file
/// is no fault: whether it names a branch or an object is decided in the first few.
pub(crate) const HEAD_BYTES_MAX: usize = 255;

/// Longest `config` file. A branch with its remote takes about a hundred bytes, so this leaves
/// room for some forty thousand of them.
pub(crate) const CONFIG_BYTES_MAX: usize = 4 << 20;

/// Most entries of `alternates` files looked at for one repository, over all files. Each costs a
/// few system calls. Real repositories have one, hosting services a handful.
pub(crate) const ALTERNATE_COUNT_MAX: usize = 1024;

/// Most bytes of `alternates` files read for one repository, over all files: room for as many
/// entries as may be looked at, each as long as a path can be. A sum rather than a bound for each
/// file, so that a thousand directories cannot each bring a file of the longest kind.
pub(crate) const ALTERNATES_BYTES_MAX: usize = ALTERNATE_COUNT_MAX * PATH_BYTES_MAX;

/// Deepest alternate: a repository's own `alternates` file lists those of depth 1. git stops at
/// the same depth ("nesting too deep"), so objects behind a deeper one are no part of the
/// repository for git either.
pub(crate) const ALTERNATE_DEPTH_MAX: usize = 6;

/// Most directories that discovery tries, the first included: a path of the longest kind made
/// of names one byte long.
pub(crate) const ANCESTOR_COUNT_MAX: usize = PATH_BYTES_MAX / 2;

// A `.git` file with the longest path the kernel takes, and a line end of two bytes, must fit.
const _: () = assert!(GIT_FILE_BYTES_MAX >= GIT_FILE_PREFIX.len() + PATH_BYTES_MAX + 2);
const _: () = assert!(COMMON_DIR_BYTES_MAX >= PATH_BYTES_MAX + 2);
// A detached `HEAD` holds an object id, the longest being SHA-256's 64 hex digits.
const _: () = assert!(HEAD_BYTES_MAX >= 64);
// Following a chain to its end must not be stopped by the count.
const _: () = assert!(ALTERNATE_DEPTH_MAX < ALTERNATE_COUNT_MAX);
// Nothing that is read whole may be large enough to hurt a host that has little memory.
const _: () = assert!(CONFIG_BYTES_MAX <= 4 << 20);
const _: () = assert!(ALTERNATES_BYTES_MAX <= 4 << 20);
