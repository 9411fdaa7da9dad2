//! The entries of an `objects/info/alternates` file one by one, see gitrepository-layout(5).
//!
//! It reads syntax: one path a line, `#` for a comment, and C-style quotes around a path that
//! needs them. It must not resolve a path or ask whether anything is there.
//!
//! Any bytes are taken; what git reads in a malformed line is read here too. Each byte is looked
//! at a bounded number of times, because a quoted path ends at the next quote at the latest.

use std::borrow::Cow;

/// An iterator over the paths that an `alternates` file lists. No path is empty.
#[derive(Debug)]
pub(crate) struct AlternatesReader<'a> {
    rest: &'a [u8],
}

impl<'a> AlternatesReader<'a> {
    pub(crate) fn new(content: &'a [u8]) -> Self {
        Self { rest: content }
    }

    /// Takes one line, or one quoted path, which may hold line ends.
    fn next_entry(&mut self) -> Cow<'a, [u8]> {
        if let Some((path, rest)) = unquote(self.rest) {
            // git drops the one byte that follows the quote, a line end in a sound file.
            self.rest = rest.get(1..).unwrap_or_default();
            return Cow::Owned(path);
        }
        let end = self.rest.iter().position(|&byte| byte == b'\n').unwrap_or(self.rest.len());
        let (line, rest) = self.rest.split_at(end);
        self.rest = rest.get(1..).unwrap_or_default();
        Cow::Borrowed(if line.starts_with(b"#") { b"" } else { line })
    }
}

impl<'a> Iterator for AlternatesReader<'a> {
    type Item = Cow<'a, [u8]>;

    fn next(&mut self) -> Option<Cow<'a, [u8]>> {
        while !self.rest.is_empty() {
            let entry = self.next_entry();
            if !entry.is_empty() {
                return Some(entry);
            }
        }
        None
    }
}

/// The path quoted at the start of `text` and what follows the closing quote; nothing when the
/// text is not quoted, or not soundly.
fn unquote(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut rest = text.strip_prefix(b"\"")?;
    let mut path = Vec::new();
    loop {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        match byte {
            b'"' => return Some((path, rest)),
            b'\\' => {
                let (meant, after) = unescape(rest)?;
                path.push(meant);
                rest = after;
            }
            _ => path.push(byte),
        }
    }
}

/// The byte that the text after a backslash stands for and what follows it.
fn unescape(text: &[u8]) -> Option<(u8, &[u8])> {
    let (&first, rest) = text.split_first()?;
    let meant = match first {
        b'a' => 0x07,
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 0x0b,
        b'\\' | b'"' => first,
        b'0'..=b'3' => return unescape_octal(text),
        _ => return None,
    };
    Some((meant, rest))
}

fn unescape_octal(text: &[u8]) -> Option<(u8, &[u8])> {
    let (digits, rest) = text.split_at_checked(3)?;
    let mut meant = 0;
    for &digit in digits {
        if !matches!(digit, b'0'..=b'7') {
            return None;
        }
        // The first digit is 3 at most, so nothing is shifted out.
        meant = meant << 3 | (digit - b'0');
    }
    Some((meant, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(content: &[u8], expected: &[&[u8]]) {
        let actual: Vec<_> = AlternatesReader::new(content).map(Cow::into_owned).collect();
        assert_eq!(actual, expected, "{}", content.escape_ascii());
    }

    #[test]
    fn plain_lines() {
        check(b"", &[]);
        check(b"/a\n../b\n", &[b"/a", b"../b"]);
        check(b"\n\n/a", &[b"/a"]);
        check(b"# /a\n/b # c\n #d\n", &[b"/b # c", b" #d"]);
        check(b"/a\r\n", &[b"/a\r"]);
        check(b"/a\0b\n\xff\n", &[b"/a\0b", b"\xff"]);
    }

    #[test]
    fn quoted_lines() {
        check(b"\"/a b\"\n/c\n", &[b"/a b", b"/c"]);
        check(b"\"\\a\\b\\f\\n\\r\\t\\v\\\\\\\"\"", &[b"\x07\x08\x0c\n\r\t\x0b\\\""]);
        check(b"\"\\101\\377\\000\"\n", &[b"A\xff\0"]);
        check(b"\"/a\nb\"\n", &[b"/a\nb"]);
        check(b"\"\"\n/a\n", &[b"/a"]);
        check(b"\"/a\"x/b\n", &[b"/a", b"/b"]);
    }

    #[test]
    fn broken_quotes_are_part_of_the_path() {
        check(b"\"/a\n/b\n", &[b"\"/a", b"/b"]);
        check(b"\"/a\\x\"\n", &[b"\"/a\\x\""]);
        check(b"\"\\400\"\n", &[b"\"\\400\""]);
        check(b"\"\\08", &[b"\"\\08"]);
        check(b"\"\\", &[b"\"\\"]);
        check(b"\"", &[b"\""]);
    }
}
