//! What may be shown of a secret: its first and last four characters, or nothing if it is short.
//!
//! Stored inline, so that making one allocates nothing. Control characters are not escaped here: whoever
//! prints a redacted secret escapes it as any other text from outside.

use std::fmt;

use crate::limits::{REDACT_LEN_MIN, REDACT_SHOWN};

const ELLIPSIS: &str = "…";
/// Two ends of four characters of at most four bytes each, and the ellipsis.
const CAPACITY: usize = 2 * REDACT_SHOWN * 4 + ELLIPSIS.len();

/// The printable remains of a secret, for example `ghp_…wxyz`; a bare `…` for a secret under 16 characters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Redacted {
    text: [u8; CAPACITY],
    len: u8,
}

const _: () = assert!(CAPACITY <= u8::MAX as usize);

impl Redacted {
    /// Redacts `secret`. Bytes that are not UTF-8 count as one character each and show as U+FFFD.
    #[must_use]
    pub fn new(secret: &[u8]) -> Self {
        let mut redacted = Self { text: [0; CAPACITY], len: 0 };
        if characters(secret).count() < REDACT_LEN_MIN {
            redacted.push_str(ELLIPSIS);
            return redacted;
        }
        for character in characters(secret).take(REDACT_SHOWN) {
            redacted.push(character);
        }
        redacted.push_str(ELLIPSIS);
        let count = characters(secret).count();
        for character in characters(secret).skip(count - REDACT_SHOWN) {
            redacted.push(character);
        }
        redacted
    }

    /// The text.
    ///
    /// # Panics
    ///
    /// Never: only whole characters are ever stored.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.text[..usize::from(self.len)])
            .expect("only whole characters are stored")
    }

    fn push(&mut self, character: char) {
        self.push_str(character.encode_utf8(&mut [0; 4]));
    }

    fn push_str(&mut self, text: &str) {
        let from = usize::from(self.len);
        let to = from + text.len();
        self.text[from..to].copy_from_slice(text.as_bytes());
        self.len = u8::try_from(to).expect("the capacity fits a byte");
    }
}

/// The characters of `bytes`, each invalid byte sequence as one U+FFFD.
fn characters(bytes: &[u8]) -> impl Iterator<Item = char> + '_ {
    bytes.utf8_chunks().flat_map(|chunk| {
        let invalid = (!chunk.invalid().is_empty()).then_some(char::REPLACEMENT_CHARACTER);
        chunk.valid().chars().chain(invalid)
    })
}

impl fmt::Debug for Redacted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for Redacted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_four_characters_at_either_end() {
        assert_eq!(Redacted::new(b"abcd5678ijklmnop").as_str(), "abcd…mnop");
    }

    #[test]
    fn shows_nothing_of_a_short_secret() {
        assert_eq!(Redacted::new(b"abcd5678ijklmno").as_str(), "…");
        assert_eq!(Redacted::new(b"").as_str(), "…");
    }

    #[test]
    fn counts_characters_not_bytes() {
        assert_eq!(Redacted::new("äöüß".repeat(3).as_bytes()).as_str(), "…");
        assert_eq!(Redacted::new("😀".repeat(16).as_bytes()).as_str(), "😀😀😀😀…😀😀😀😀");
    }

    #[test]
    fn survives_bytes_that_are_not_text() {
        assert_eq!(
            Redacted::new(&[0xff; 40]).as_str(),
            "\u{fffd}\u{fffd}\u{fffd}\u{fffd}…\u{fffd}\u{fffd}\u{fffd}\u{fffd}"
        );
    }
}
