//! A safe wrapper around Vectorscan's literal databases: the one file of the engine with `unsafe`.
//!
//! It compiles a set of literals into a database and scans slices with it. It knows nothing of rules. The
//! database is one for vectors of buffers, used with one buffer: for single blocks, Vectorscan also builds
//! a DFA that serves only inputs of up to 70 bytes, which takes it 28 ms and 14 MiB for 500 literals. The callback that C calls only appends to a log of fixed capacity: it never allocates,
//! never panics and never calls back into Vectorscan. Every length is checked before it is narrowed.
#![expect(unsafe_code, reason = "FFI to Vectorscan")]

use std::ffi::{CStr, c_char, c_int, c_uint, c_ulonglong, c_void};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use vectorscan_rs_sys as hs;

use crate::limits::{BLOCK_LEN_MAX, LITERAL_LEN_MAX};

/// A byte string to look for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Literal {
    /// The bytes; lower case where `caseless`.
    pub(crate) bytes: Vec<u8>,
    /// Whether ASCII case is ignored.
    pub(crate) caseless: bool,
}

/// One occurrence of a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Hit {
    /// Offset just behind the literal in the scanned slice.
    pub(crate) end: u32,
    /// Index of the literal in the slice that the database was compiled from.
    pub(crate) literal: u32,
}

/// Occurrences in the order in which Vectorscan reported them; the capacity is fixed.
#[derive(Debug)]
pub(crate) struct HitLog {
    hits: Vec<Hit>,
    capacity: usize,
}

impl HitLog {
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        assert!(capacity > 0);
        Self { hits: Vec::with_capacity(capacity), capacity }
    }

    /// Orders the hits by end and then by literal, which they nearly are. Returns their number.
    pub(crate) fn sort(&mut self) -> usize {
        if !self.hits.is_sorted() {
            self.hits.sort_unstable();
        }
        self.hits.len()
    }

    pub(crate) fn hit(&self, index: usize) -> Hit {
        self.hits[index]
    }

    fn has_room(&self) -> bool {
        self.hits.len() < self.capacity
    }
}

/// How a scan ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The whole slice was looked at.
    Complete,
    /// The log was full before the end; what it holds says nothing about what is missing.
    LogFull,
}

/// Why Vectorscan could not be set up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SetupError {
    #[error("this processor lacks the instructions that Vectorscan needs (SSE4.2 on x86-64)")]
    Processor,
    #[error("Vectorscan refused the literals: {0}")]
    Compile(String),
    #[error("out of memory for Vectorscan's scratch space")]
    Memory,
}

/// An immutable, compiled set of literals.
#[derive(Debug)]
pub(crate) struct LiteralDatabase {
    database: NonNull<hs::hs_database_t>,
}

// SAFETY: a compiled database is never written after `hs_compile_lit_multi` returned it; Vectorscan
// documents that threads may scan with the same database, each with a scratch space of its own.
unsafe impl Send for LiteralDatabase {}
// SAFETY: as above; no method gives out mutable access.
unsafe impl Sync for LiteralDatabase {}

impl LiteralDatabase {
    /// Compiles `literals`, whose indices become the hits' `literal`.
    ///
    /// # Panics
    ///
    /// If there is no literal, or one is empty or longer than [`LITERAL_LEN_MAX`]: the caller's bug.
    pub(crate) fn compile(literals: &[Literal]) -> Result<Self, SetupError> {
        assert!(!literals.is_empty());
        for literal in literals {
            assert!(!literal.bytes.is_empty());
            assert!(literal.bytes.len() <= LITERAL_LEN_MAX);
        }
        // SAFETY: takes no argument and reads only the processor's feature flags.
        if unsafe { hs::hs_valid_platform() } != ok() {
            return Err(SetupError::Processor);
        }
        let count = c_uint::try_from(literals.len()).expect("RULES_MAX bounds the literals");
        let expressions: Vec<*const c_char> =
            literals.iter().map(|literal| literal.bytes.as_ptr().cast()).collect();
        let lens: Vec<usize> = literals.iter().map(|literal| literal.bytes.len()).collect();
        let flags: Vec<c_uint> = literals
            .iter()
            .map(|literal| if literal.caseless { hs::HS_FLAG_CASELESS } else { 0 })
            .collect();
        let ids: Vec<c_uint> = (0..count).collect();
        let mut database = ptr::null_mut();
        let mut error = ptr::null_mut();
        // SAFETY: the four arrays have `count` elements each and every expression has the length that
        // `lens` gives; all of them, and the two results, outlive the call.
        let code = unsafe {
            hs::hs_compile_lit_multi(
                expressions.as_ptr(),
                flags.as_ptr(),
                ids.as_ptr(),
                lens.as_ptr(),
                count,
                hs::HS_MODE_VECTORED,
                ptr::null(),
                &raw mut database,
                &raw mut error,
            )
        };
        match NonNull::new(database) {
            Some(database) if code == ok() => Ok(Self { database }),
            _ => Err(SetupError::Compile(take_message(error))),
        }
    }
}

impl Drop for LiteralDatabase {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `hs_compile_lit_multi` and is freed only here.
        unsafe { hs::hs_free_database(self.database.as_ptr()) };
    }
}

/// Copies the text of a compile error and frees it.
fn take_message(error: *mut hs::hs_compile_error_t) -> String {
    let Some(error) = NonNull::new(error) else { return "no reason given".to_owned() };
    // SAFETY: a non-null error from the compiler points to a valid structure until it is freed.
    let message = unsafe { error.as_ref() }.message;
    assert!(!message.is_null());
    // SAFETY: `message` is a NUL-terminated string owned by the error.
    let text = unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned();
    // SAFETY: the error came from the compiler and is freed only here.
    unsafe { hs::hs_free_compile_error(error.as_ptr()) };
    text
}

/// A database together with one thread's scratch space for it, so that the two cannot be mismatched.
#[derive(Debug)]
pub(crate) struct LiteralScanner {
    database: Arc<LiteralDatabase>,
    scratch: NonNull<hs::hs_scratch_t>,
}

// SAFETY: the scratch space is plain memory without ties to the thread that allocated it, and `scan`
// takes `&mut self`, so that only one thread uses it at a time.
unsafe impl Send for LiteralScanner {}

impl LiteralScanner {
    pub(crate) fn new(database: Arc<LiteralDatabase>) -> Result<Self, SetupError> {
        let mut scratch = ptr::null_mut();
        // SAFETY: the database is valid, and a null scratch pointer asks for a new space.
        let code = unsafe { hs::hs_alloc_scratch(database.database.as_ptr(), &raw mut scratch) };
        match NonNull::new(scratch) {
            Some(scratch) if code == ok() => Ok(Self { database, scratch }),
            _ => Err(SetupError::Memory),
        }
    }

    pub(crate) fn database(&self) -> Arc<LiteralDatabase> {
        Arc::clone(&self.database)
    }

    /// Replaces the contents of `log` with the occurrences in `bytes`.
    ///
    /// # Panics
    ///
    /// If `bytes` is longer than a block with one literal before it.
    pub(crate) fn scan(&mut self, bytes: &[u8], log: &mut HitLog) -> Outcome {
        assert!(bytes.len() <= BLOCK_LEN_MAX + LITERAL_LEN_MAX);
        let length = c_uint::try_from(bytes.len()).expect("limits.rs keeps blocks below 4 GiB");
        let data: *const c_char = bytes.as_ptr().cast();
        log.hits.clear();
        // SAFETY: the one buffer is readable for its length, and pointer and length outlive the call; the scratch space was allocated for this
        // database and is not in use, since `self` is borrowed mutably; `log` outlives the call and
        // is touched by nothing but the callback during it.
        let code = unsafe {
            hs::hs_scan_vector(
                self.database.database.as_ptr(),
                &raw const data,
                &raw const length,
                1,
                0,
                self.scratch.as_ptr(),
                Some(append_hit),
                ptr::from_mut(log).cast(),
            )
        };
        if code == hs::HS_SCAN_TERMINATED {
            return Outcome::LogFull;
        }
        assert!(code == ok(), "hs_scan_vector failed with code {code}");
        Outcome::Complete
    }
}

impl Drop for LiteralScanner {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `hs_alloc_scratch` and is freed only here.
        unsafe { hs::hs_free_scratch(self.scratch.as_ptr()) };
    }
}

/// The callback: appends one hit, or ends the scan where there is no room for it.
unsafe extern "C" fn append_hit(
    literal: c_uint,
    _from: c_ulonglong,
    to: c_ulonglong,
    _flags: c_uint,
    context: *mut c_void,
) -> c_int {
    // SAFETY: `scan` passes a pointer to a log that it borrows mutably for the whole call.
    let log = unsafe { &mut *context.cast::<HitLog>() };
    let Ok(end) = u32::try_from(to) else { return 1 };
    if !log.has_room() {
        return 1;
    }
    log.hits.push(Hit { end, literal });
    0
}

fn ok() -> c_int {
    hs::HS_SUCCESS.cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(text: &str, caseless: bool) -> Literal {
        Literal { bytes: text.as_bytes().to_vec(), caseless }
    }

    fn scanner(literals: &[Literal]) -> LiteralScanner {
        LiteralScanner::new(Arc::new(LiteralDatabase::compile(literals).unwrap())).unwrap()
    }

    #[test]
    fn reports_every_occurrence_with_its_end() {
        let mut scanner = scanner(&[literal("abc", false), literal("bcd", true)]);
        let mut log = HitLog::with_capacity(16);
        assert_eq!(scanner.scan(b"xabcd BCD ABC", &mut log), Outcome::Complete);
        assert_eq!(log.sort(), 3);
        let hits: Vec<_> = log.hits.iter().map(|hit| (hit.end, hit.literal)).collect();
        assert_eq!(hits, [(4, 0), (5, 1), (9, 1)]);
    }

    #[test]
    fn a_full_log_ends_the_scan_without_growing() {
        let mut scanner = scanner(&[literal("aaa", false)]);
        let mut log = HitLog::with_capacity(8);
        assert_eq!(scanner.scan(&[b'a'; 64], &mut log), Outcome::LogFull);
        assert_eq!(log.sort(), 8);
        assert_eq!(scanner.scan(&[b'a'; 10], &mut log), Outcome::Complete);
        assert_eq!(log.sort(), 8);
    }

    #[test]
    fn literals_are_bytes_not_patterns() {
        let mut scanner = scanner(&[literal("a.c", false), literal("\0\0\u{1}", false)]);
        let mut log = HitLog::with_capacity(8);
        assert_eq!(scanner.scan(b"abc a.c \0\0\x01", &mut log), Outcome::Complete);
        assert_eq!(log.sort(), 2);
    }

    #[test]
    fn empty_input_has_no_hits() {
        let mut log = HitLog::with_capacity(1);
        assert_eq!(scanner(&[literal("abc", false)]).scan(b"", &mut log), Outcome::Complete);
        assert_eq!(log.sort(), 0);
    }
}
