//! Line numbers, counted only where somebody asks for them.
//!
//! A scan without findings counts newlines only in the bytes that it leaves behind, and a scan in one
//! chunk none at all. Lines end with `\n`; columns are bytes.

use memchr::{memchr_iter, memrchr};

/// A place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    /// From 1.
    pub(crate) line: u64,
    /// In bytes, from 1.
    pub(crate) column: u64,
}

/// Counts lines over the chunks of one input.
#[derive(Debug)]
pub(crate) struct LineCounter {
    /// Newlines before the current chunk.
    newlines: u64,
    /// Bytes of the line that the current chunk begins in, before the chunk.
    line_len: u64,
    /// An index into the current chunk and the newlines in the chunk before it.
    memo: (usize, u64),
}

impl LineCounter {
    pub(crate) fn new() -> Self {
        Self { newlines: 0, line_len: 0, memo: (0, 0) }
    }

    /// The place of index `at` of the current chunk. Cheap for places near the one asked for before.
    pub(crate) fn locate(&mut self, bytes: &[u8], at: usize) -> Position {
        let (index, before) = self.memo;
        let before = if index <= at {
            before + count(&bytes[index..at])
        } else {
            before - count(&bytes[at..index])
        };
        self.memo = (at, before);
        let column = match memrchr(b'\n', &bytes[..at]) {
            Some(newline) => (at - newline) as u64,
            None => self.line_len + at as u64 + 1,
        };
        Position { line: self.newlines + before + 1, column }
    }

    /// The current chunk's first bytes leave memory; the next chunk begins behind them.
    pub(crate) fn forget(&mut self, bytes: &[u8]) {
        self.newlines += count(bytes);
        self.line_len = match memrchr(b'\n', bytes) {
            Some(newline) => (bytes.len() - newline - 1) as u64,
            None => self.line_len + bytes.len() as u64,
        };
        self.memo = (0, 0);
    }

    /// The next chunk begins `bytes` further on, and none of them is a newline.
    pub(crate) fn skip(&mut self, bytes: u64) {
        self.line_len += bytes;
    }
}

fn count(bytes: &[u8]) -> u64 {
    memchr_iter(b'\n', bytes).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_start_at_one() {
        let mut lines = LineCounter::new();
        let text = b"ab\ncd\n\nx";
        for (at, line, column) in [(0, 1, 1), (2, 1, 3), (3, 2, 1), (7, 4, 1), (1, 1, 2), (6, 3, 1)]
        {
            assert_eq!(lines.locate(text, at), Position { line, column });
        }
    }

    #[test]
    fn chunks_do_not_change_the_count() {
        let text = b"ab\ncdefg\n\nxyz\nlast";
        for cut in 0..text.len() {
            for at in cut..text.len() {
                let mut whole = LineCounter::new();
                let mut parts = LineCounter::new();
                parts.locate(text, cut);
                parts.forget(&text[..cut]);
                assert_eq!(parts.locate(&text[cut..], at - cut), whole.locate(text, at));
            }
        }
    }
}
