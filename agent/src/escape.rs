//! Text from outside, made safe to show: file names, process names and secrets are whatever an attacker
//! wants them to be.
//!
//! Pure functions from bytes to text. Two forms: backslash escapes for people, percent escapes for JSON
//! and the journal, where nothing but bytes that are not UTF-8 is a problem.

use std::borrow::Cow;
use std::fmt::Write as _;

/// For terminals: control characters, characters that reorder text, backslashes and bytes that are not
/// UTF-8 become escapes, so that a name cannot move the cursor, start a line or pretend to be another.
#[must_use]
pub fn for_people(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\\' => text.push_str("\\\\"),
                _ if character.is_control() || is_invisible(character) => {
                    text.extend(character.escape_default());
                }
                _ => text.push(character),
            }
        }
        for byte in chunk.invalid() {
            write!(text, "\\x{byte:02x}").expect("a String takes all");
        }
    }
    text
}

/// Characters that change the order of others or show nothing (Unicode's bidirectional and format
/// controls).
fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// The text itself if it is UTF-8; else with `%` and all bytes that are not UTF-8 percent-escaped.
///
/// Owned exactly if it is escaped.
#[must_use]
pub fn percent(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        text.push_str(&chunk.valid().replace('%', "%25"));
        for byte in chunk.invalid() {
            write!(text, "%{byte:02X}").expect("a String takes all");
        }
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_moves_a_terminal() {
        assert_eq!(for_people(b"/a/\x1b[2Jb\n\xff\\"), r"/a/\u{1b}[2Jb\n\xff\\");
        assert_eq!(for_people("a\u{202e}b\u{9b}c".as_bytes()), r"a\u{202e}b\u{9b}c");
        assert_eq!(for_people("/für/日本".as_bytes()), "/für/日本");
    }

    #[test]
    fn percent_is_only_for_bytes_that_are_not_text() {
        assert!(matches!(percent("/50%/ü\n".as_bytes()), Cow::Borrowed("/50%/ü\n")));
        assert_eq!(percent(b"/50%/\xff\xc3"), "/50%25/%FF%C3");
    }
}
