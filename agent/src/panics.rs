//! What a panic does: it is a bug of ours, and must neither leak nor go unnoticed.
//!
//! The message of a panic could hold any bytes, so only its place is said. Within [`guarded`] it costs the
//! input being scanned; anywhere else the process ends, so that whoever started it notices: an agent that
//! goes on with a thread less is blind and looks alive.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// A panic within [`guarded`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Panicked;

/// Sets what panics do in this process.
pub fn install() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        log::error!("a bug in lapwing at {place}; please report it");
        if !GUARDED.get() {
            #[expect(clippy::exit, reason = "without a core dump, which could hold secrets")]
            std::process::exit(2);
        }
    }));
}

/// Runs `body`, whose state the caller throws away if it panics.
///
/// # Errors
///
/// [`Panicked`] if it does.
pub fn guarded<T>(body: impl FnOnce() -> T) -> Result<T, Panicked> {
    GUARDED.set(true);
    let outcome = catch_unwind(AssertUnwindSafe(body));
    GUARDED.set(false);
    outcome.map_err(|_| Panicked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guarded_panic_is_an_error() {
        assert_eq!(guarded(|| 1), Ok(1));
        assert_eq!(guarded(|| panic!("a bug")), Err::<(), _>(Panicked));
        assert!(!GUARDED.get());
    }
}
