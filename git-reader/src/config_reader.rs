//! The settings of a `config` file one by one, in the syntax of git-config(1).
//!
//! It reads syntax and knows no setting. It must not follow `include` or `includeIf`: git does
//! not either when it learns a repository's format, and a hostile file would choose what is read.
//!
//! Any bytes are taken. git gives up at the first line that it cannot read; here that line is
//! skipped, because one broken line must not hide a repository. Time and memory are bounded by
//! the length of the file, which the caller bounds.

/// An iterator over the settings of a file.
#[derive(Debug)]
pub(crate) struct ConfigReader<'a> {
    rest: &'a [u8],
    section: Option<&'a [u8]>,
}

/// One setting.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ConfigEntry<'a> {
    /// The section's name, whose case does not matter; nothing within a subsection or where the
    /// section's header could not be read.
    section: Option<&'a [u8]>,
    /// The key, whose case does not matter.
    key: &'a [u8],
    /// The value; nothing when there is none or it could not be read.
    pub(crate) value: Option<Vec<u8>>,
}

impl ConfigEntry<'_> {
    pub(crate) fn is(&self, section: &str, key: &str) -> bool {
        self.section.is_some_and(|name| name.eq_ignore_ascii_case(section.as_bytes()))
            && self.key.eq_ignore_ascii_case(key.as_bytes())
    }
}

impl<'a> ConfigReader<'a> {
    pub(crate) fn new(content: &'a [u8]) -> Self {
        // Windows editors begin a file with a byte order mark; git skips it too.
        let rest = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
        Self { rest, section: None }
    }

    /// The next byte, with a line end of two bytes taken for one.
    fn next_byte(&mut self) -> Option<u8> {
        if let Some(rest) = self.rest.strip_prefix(b"\r\n") {
            self.rest = rest;
            return Some(b'\n');
        }
        let (&byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(byte)
    }

    fn skip_line(&mut self) {
        let line = self.rest.iter().position(|&byte| byte == b'\n');
        // The line end stays, so that a value cut short at one is not joined with the next line.
        self.rest = self.rest.get(line.unwrap_or(self.rest.len())..).unwrap_or_default();
    }

    fn take_while(&mut self, accept: impl Fn(u8) -> bool) -> &'a [u8] {
        let count = self.rest.iter().take_while(|&&byte| accept(byte)).count();
        let (taken, rest) = self.rest.split_at(count);
        self.rest = rest;
        taken
    }

    /// Reads a section's header, of which the opening bracket is gone.
    fn read_header(&mut self) {
        let name = self.take_while(|byte| is_key_byte(byte) || byte == b'.');
        self.section = None;
        if let Some(rest) = self.rest.strip_prefix(b"]") {
            self.rest = rest;
            self.section = Some(name);
        } else if self.skip_subsection().is_none() {
            self.skip_line();
        }
    }

    /// Skips the quoted name of a subsection and the closing bracket; nothing when that is not
    /// what follows. A line end is left to be found by whoever skips the line.
    fn skip_subsection(&mut self) -> Option<()> {
        self.take_while(|byte| matches!(byte, b' ' | b'\t'));
        self.rest = self.rest.strip_prefix(b"\"")?;
        loop {
            self.take_while(|byte| !matches!(byte, b'"' | b'\\' | b'\n'));
            match self.rest {
                [b'"', b']', rest @ ..] => {
                    self.rest = rest;
                    return Some(());
                }
                [b'\\', escaped, rest @ ..] if *escaped != b'\n' => self.rest = rest,
                _ => return None,
            }
        }
    }

    /// Reads the value of a setting whose key was just read; nothing when there is none or it is
    /// malformed.
    fn read_value(&mut self) -> Option<Vec<u8>> {
        self.take_while(|byte| matches!(byte, b' ' | b'\t'));
        self.rest = self.rest.strip_prefix(b"=")?;
        let mut value = Vec::new();
        // Length up to the last byte that is not an unquoted space.
        let mut trimmed = 0;
        let mut quoted = false;
        loop {
            let before = self.rest;
            match self.next_byte() {
                None | Some(b'\n') if quoted => {
                    // Quotes do not span lines. The end is put back for whoever skips the line.
                    self.rest = before;
                    return None;
                }
                None | Some(b'\n') => break,
                Some(b'#' | b';') if !quoted => {
                    self.skip_line();
                    break;
                }
                Some(space @ (b' ' | b'\t' | b'\r')) if !quoted => {
                    if !value.is_empty() {
                        value.push(space);
                    }
                    continue;
                }
                Some(b'"') => quoted = !quoted,
                Some(b'\\') => value.extend_from_slice(self.read_escape()?),
                Some(byte) => value.push(byte),
            }
            trimmed = value.len();
        }
        value.truncate(trimmed);
        Some(value)
    }

    /// Reads what follows a backslash and gives what is meant: one byte, or none where the value
    /// goes on in the next line. Nothing at all for an escape that git does not know.
    fn read_escape(&mut self) -> Option<&'static [u8]> {
        match self.next_byte() {
            // The end of the file is a line end too.
            None | Some(b'\n') => Some(b""),
            Some(b't') => Some(b"\t"),
            Some(b'b') => Some(b"\x08"),
            Some(b'n') => Some(b"\n"),
            Some(b'\\') => Some(b"\\"),
            Some(b'"') => Some(b"\""),
            Some(_) => None,
        }
    }
}

impl<'a> Iterator for ConfigReader<'a> {
    type Item = ConfigEntry<'a>;

    fn next(&mut self) -> Option<ConfigEntry<'a>> {
        loop {
            self.take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'));
            let (&first, rest) = self.rest.split_first()?;
            if first == b'[' {
                self.rest = rest;
                self.read_header();
            } else if first.is_ascii_alphabetic() {
                let key = self.take_while(is_key_byte);
                let value = self.read_value();
                if value.is_none() {
                    self.skip_line();
                }
                return Some(ConfigEntry { section: self.section, key, value });
            } else {
                self.skip_line();
            }
        }
    }
}

const fn is_key_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the settings named `a.k` of `content` with `expected`.
    fn check(content: &str, expected: &[Option<&str>]) {
        let entries = ConfigReader::new(content.as_bytes());
        let actual: Vec<_> = entries
            .filter(|entry| entry.is("a", "k"))
            .map(|entry| entry.value.map(|value| String::from_utf8(value).unwrap()))
            .collect();
        let expected: Vec<_> = expected.iter().map(|value| value.map(String::from)).collect();
        assert_eq!(actual, expected, "{content:?}");
    }

    #[test]
    fn sections_and_keys() {
        check("[a]\n\tk = v\n", &[Some("v")]);
        check("[A] K=v", &[Some("v")]);
        check("\u{feff}[a]\r\nk = v\r\n", &[Some("v")]);
        check("k = v\n[b]\nk = v\n", &[]);
        check("[a]k=1\n[b]k=2\n[a]\nk=3", &[Some("1"), Some("3")]);
        check("[a]\nkk = v\nk-k = v\n", &[]);
        check("[a]\n# k = v\n; k = v\n", &[]);
    }

    #[test]
    fn subsections_are_other_sections() {
        check("[a \"x\"]\nk = v\n", &[]);
        check("[a.x]\nk = v\n", &[]);
        check("[b \"]\\\"\"] k = 1\n[a] k = 2", &[Some("2")]);
        check("[a]\nk=1\n[b \"x\nk = 2\n[a]k=3\n", &[Some("1"), Some("3")]);
    }

    #[test]
    fn values() {
        check("[a]k =  a b \t ; c", &[Some("a b")]);
        check("[a]k = \" a ; \"# c\n", &[Some(" a ; ")]);
        check("[a]k = \"a\"b\" \"", &[Some("ab ")]);
        check("[a]k = a\\tb\\\\\\\"", &[Some("a\tb\\\"")]);
        check("[a]k = a\\\nk = b\n", &[Some("ak = b")]);
        check("[a]k = a\\\r\n[a]\nk = b\r\n", &[Some("a[a]"), Some("b")]);
        check("[a]k =\nk = \"\"\n", &[Some(""), Some("")]);
    }

    #[test]
    fn malformed_lines_are_skipped() {
        check("[a]\nk\n", &[None]);
        check("[a]\nk", &[None]);
        check("[a]\nk x = y\nk = v\n", &[None, Some("v")]);
        check("[a]\nk = \"x\nk = v\n", &[None, Some("v")]);
        check("[a]\nk = \\x\nk = v\n", &[None, Some("v")]);
        check("[a]\nk = x\\", &[Some("x")]);
        check("[a]\n=\n]\n\0\nk = v\n", &[Some("v")]);
        check("[", &[]);
        check("[a", &[]);
        check("[a \"", &[]);
        check("[a \"\\", &[]);
    }

    #[test]
    fn every_short_input_ends() {
        // All strings of six from the bytes that mean something: none may loop or panic.
        let alphabet = *b"[]\"\\=\n ak#\r";
        for number in 0..alphabet.len().pow(6) {
            let mut content = [0; 6];
            let mut digits = number;
            for byte in &mut content {
                *byte = alphabet[digits % alphabet.len()];
                digits /= alphabet.len();
            }
            assert!(ConfigReader::new(&content).count() <= content.len());
        }
    }
}
