//! Is a text a JSON object, and which keys does it have? RFC 8259, without allocation.
//!
//! Values are checked and forgotten. Nesting is bounded by `limits::JSON_DEPTH_MAX`, and recursion with
//! it; time is linear. Keys are compared as they are written, so one with escapes is another key.

use crate::limits::JSON_DEPTH_MAX;

/// What a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Object {
    /// An object, with each of the keys asked for or not.
    Whole { has_keys: bool },
    /// No object.
    Broken,
    /// The beginning of an object, or one that nests too deep for us.
    Unknown,
}

enum Stop {
    Broken,
    Unknown,
}

/// Looks for `keys`, at most eight, at the top level of the object that `text` is.
pub(super) fn object(text: &[u8], keys: &[&[u8]]) -> Object {
    assert!(keys.len() <= 8, "a bit a key");
    // A character that was cut at the end is no error.
    if std::str::from_utf8(text).is_err_and(|error| error.error_len().is_some()) {
        return Object::Broken;
    }
    let mut reader = Reader { text, at: 0 };
    let mut seen = 0_u8;
    let mut note = |name: &[u8]| {
        if let Some(index) = keys.iter().position(|key| *key == name) {
            seen |= 1 << index;
        }
    };
    reader.skip_space();
    let result = match reader.peek() {
        Ok(b'{') => reader.object(0, &mut note),
        Ok(_) => Err(Stop::Broken),
        Err(stop) => Err(stop),
    };
    reader.skip_space();
    match result {
        Ok(()) if reader.at < text.len() => Object::Broken,
        Ok(()) => Object::Whole { has_keys: seen.count_ones() as usize == keys.len() },
        Err(Stop::Broken) => Object::Broken,
        Err(Stop::Unknown) => Object::Unknown,
    }
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Result<u8, Stop> {
        self.text.get(self.at).copied().ok_or(Stop::Unknown)
    }

    fn next(&mut self) -> Result<u8, Stop> {
        let byte = self.peek()?;
        self.at += 1;
        Ok(byte)
    }

    /// Takes `byte` if it comes next.
    fn takes(&mut self, byte: u8) -> bool {
        let takes = self.text.get(self.at) == Some(&byte);
        self.at += usize::from(takes);
        takes
    }

    fn expect(&mut self, byte: u8) -> Result<(), Stop> {
        if self.next()? == byte { Ok(()) } else { Err(Stop::Broken) }
    }

    fn skip_space(&mut self) {
        let rest = self.text.get(self.at..).unwrap_or_default();
        self.at += rest.iter().take_while(|byte| b" \t\n\r".contains(byte)).count();
    }

    fn value(&mut self, depth: usize) -> Result<(), Stop> {
        match self.peek()? {
            b'{' => self.object(depth, &mut |_| {}),
            b'[' => self.array(depth),
            b'"' => self.string().map(|_| ()),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            _ => self.number(),
        }
    }

    fn object(&mut self, depth: usize, note: &mut dyn FnMut(&[u8])) -> Result<(), Stop> {
        if depth >= JSON_DEPTH_MAX {
            return Err(Stop::Unknown);
        }
        self.expect(b'{')?;
        self.skip_space();
        if self.takes(b'}') {
            return Ok(());
        }
        loop {
            self.skip_space();
            let (start, end) = self.string()?;
            note(self.text.get(start..end).unwrap_or_default());
            self.skip_space();
            self.expect(b':')?;
            self.skip_space();
            self.value(depth + 1)?;
            self.skip_space();
            match self.next()? {
                b',' => {}
                b'}' => return Ok(()),
                _ => return Err(Stop::Broken),
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<(), Stop> {
        if depth >= JSON_DEPTH_MAX {
            return Err(Stop::Unknown);
        }
        self.expect(b'[')?;
        self.skip_space();
        if self.takes(b']') {
            return Ok(());
        }
        loop {
            self.skip_space();
            self.value(depth + 1)?;
            self.skip_space();
            match self.next()? {
                b',' => {}
                b']' => return Ok(()),
                _ => return Err(Stop::Broken),
            }
        }
    }

    /// Takes a string and says where it stands between its quotes.
    fn string(&mut self) -> Result<(usize, usize), Stop> {
        self.expect(b'"')?;
        let start = self.at;
        loop {
            match self.next()? {
                b'"' => return Ok((start, self.at - 1)),
                b'\\' => self.escape()?,
                0..0x20 => return Err(Stop::Broken),
                _ => {}
            }
        }
    }

    fn escape(&mut self) -> Result<(), Stop> {
        match self.next()? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(()),
            b'u' => (0..4).try_for_each(|_| {
                if self.next()?.is_ascii_hexdigit() { Ok(()) } else { Err(Stop::Broken) }
            }),
            _ => Err(Stop::Broken),
        }
    }

    fn word(&mut self, word: &[u8]) -> Result<(), Stop> {
        word.iter().try_for_each(|&byte| self.expect(byte))
    }

    fn number(&mut self) -> Result<(), Stop> {
        self.takes(b'-');
        if !self.takes(b'0') {
            self.digits()?;
        }
        if self.takes(b'.') {
            self.digits()?;
        }
        if self.takes(b'e') || self.takes(b'E') {
            let _ = self.takes(b'+') || self.takes(b'-');
            self.digits()?;
        }
        Ok(())
    }

    /// Takes one digit or more.
    fn digits(&mut self) -> Result<(), Stop> {
        if !self.next()?.is_ascii_digit() {
            return Err(Stop::Broken);
        }
        let rest = self.text.get(self.at..).unwrap_or_default();
        self.at += rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::fuzz::Random;
    use super::*;

    fn keys(text: &str) -> Object {
        object(text.as_bytes(), &[b"a", b"b"])
    }

    #[test]
    fn keys_of_the_top_level_count() {
        let whole = |has_keys| Object::Whole { has_keys };
        assert_eq!(keys(r#"{"a":1,"b":null}"#), whole(true));
        assert_eq!(keys(r#" { "b" : [] , "x": {}, "a" : -0.5e+7 } "#), whole(true));
        assert_eq!(keys(r#"{"a":{"b":1}}"#), whole(false));
        assert_eq!(keys(r#"{"a":"b"}"#), whole(false));
        assert_eq!(keys(r#"{"a":1,"a":2}"#), whole(false));
        assert_eq!(keys("{}"), whole(false));
    }

    #[test]
    fn what_was_cut_is_unknown_and_what_is_wrong_is_broken() {
        let text = r#"{"a":[1,true,"\u00e9\n"],"b":{"c":-1.5e3}}"#;
        for len in 0..text.len() {
            assert_eq!(keys(&text[..len]), Object::Unknown, "{}", &text[..len]);
        }
        for broken in [
            "[1]",
            "1",
            "\"a\"",
            "{a:1}",
            "{'a':1}",
            r#"{"a":1,}"#,
            r#"{"a" 1}"#,
            r#"{"a":01}"#,
            r#"{"a":+1}"#,
            r#"{"a":.5}"#,
            r#"{"a":tru3}"#,
            r#"{"a":"\x"}"#,
            "{\"a\":\"\n\"}",
            r#"{"a":1}}"#,
            r#"{"a":1} x"#,
            r#"{"a":[1}}"#,
        ] {
            assert_eq!(keys(broken), Object::Broken, "{broken}");
        }
        assert_eq!(object(b"{\"\xff\":1}", &[]), Object::Broken);
        assert_eq!(object(b"{\"\xc3", &[]), Object::Unknown);
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |depth| format!("{}{}", "{\"a\":".repeat(depth), "[".repeat(100_000));
        assert_eq!(keys(&nested(1)), Object::Unknown);
        assert_eq!(keys(&nested(100_000)), Object::Unknown);
        let arrays = JSON_DEPTH_MAX - 1;
        let fits = format!("{{\"a\":{}{},\"b\":0}}", "[".repeat(arrays), "]".repeat(arrays));
        assert_eq!(keys(&fits), Object::Whole { has_keys: true });
    }

    /// Random texts of the pieces that JSON is made of, and what serde_json says of them.
    #[test]
    fn serde_json_agrees() {
        const PIECES: [&str; 28] = [
            "{", "}", "[", "]", ",", ":", "\"", "\"a\"", "\"b\"", "\\", "\\u00e9", "0", "-", "1.5",
            "e", "E+3", ".", "true", "false", "null", " ", "\n", "{\"a\":", "\"b\":1", "},",
            "\u{1}", "é", "[]",
        ];
        let mut random = Random::new(1);
        let mut whole = 0;
        for _ in 0..300_000 {
            let mut text = String::from(if random.below(4) == 0 { "" } else { "{\"a\":" });
            for _ in 0..random.below(7) {
                text += PIECES[random.below(PIECES.len())];
            }
            if random.below(2) == 0 {
                text.push('}');
            }
            let begins_otherwise =
                !text.trim_start().is_empty() && !text.trim_start().starts_with('{');
            let parsed = serde_json::from_str::<serde_json::Value>(&text);
            let expected = match &parsed {
                Ok(serde_json::Value::Object(map)) => {
                    whole += 1;
                    Object::Whole { has_keys: map.contains_key("a") }
                }
                Err(error) if error.is_eof() && !begins_otherwise => Object::Unknown,
                _ => Object::Broken,
            };
            assert_eq!(object(text.as_bytes(), &[b"a"]), expected, "{text}: {parsed:?}");
        }
        assert!(whole > 1_000, "only {whole} texts are objects");
    }
}
