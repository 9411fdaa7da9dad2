//! Templates: how rule files and tests write a token without anything token-shaped standing in them.
//!
//! | placeholder | becomes |
//! |---|---|
//! | `%{class:N}` | N pseudo-random characters of a class |
//! | `%{bytes:HEX}` | these bytes |
//! | `%{base64(}` … `%{)}` | the base 64 of what is between, with padding |
//! | `%{base64url(}` … `%{)}` | as above with the alphabet for URLs, without padding |
//! | `%{base58check(}` … `%{)}` | the base 58 of what is between and its check bytes |
//! | `%{checksum}` | what the rule's checksum makes of the token so far |
//! | `%{token}` | nothing: the token that `%{checksum}` completes begins here |
//! | `%{}` | nothing: it splits what would read as a token or a key's header |
//!
//! Without `%{token}`, the token begins after the last byte that few tokens contain. The same template and
//! seed always give the same bytes. No randomness from outside.

use crate::checksum::{Checksum, base64, encode_base58check};

/// Most characters that one placeholder makes.
const REPEAT_MAX: usize = 64 * 1024;

/// Most bytes that are written in base 58, which takes time quadratic in them.
const BASE58_LEN_MAX: usize = 128;

/// Why a template cannot be expanded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// A `%{` without its `}`.
    #[error("`%{{` without `}}` at byte {0}")]
    Unclosed(usize),
    /// A placeholder that is none of the known ones.
    #[error("unknown placeholder `%{{{0}}}`: write `%{{class:N}}`, `%{{checksum}}` or `%{{}}`")]
    Unknown(String),
    /// `%{checksum}` in a rule without one, or with one that is a structure and no characters.
    #[error("`%{{checksum}}`, but the rule has no checksum that adds characters")]
    NoChecksum,
    /// `%{base64(}` without `%{)}`, the other way round, or one inside another.
    #[error("`%{{…(}}` and `%{{)}}` come in pairs, not one inside another")]
    Unpaired,
    /// More between `%{base58check(}` and `%{)}` than any key has.
    #[error("`%{{base58check(}}` takes at most {BASE58_LEN_MAX} bytes")]
    TooLong,
}

/// Expands `template`, with pseudo-random characters that follow from `seed`.
///
/// # Errors
///
/// If the template has a placeholder that is unknown, unclosed or cannot be filled.
pub fn expand(
    template: &str,
    seed: u64,
    checksum: Option<Checksum>,
) -> Result<Vec<u8>, TemplateError> {
    let mut expansion = Expansion {
        bytes: Vec::with_capacity(2 * template.len()),
        token: None,
        encoded: None,
        random: SplitMix(seed),
    };
    let mut rest = template;
    while let Some(start) = rest.find("%{") {
        expansion.bytes.extend_from_slice(&rest.as_bytes()[..start]);
        let body = &rest[start + 2..];
        let end = body
            .find('}')
            .ok_or_else(|| TemplateError::Unclosed(template.len() - rest.len() + start))?;
        expansion.placeholder(&body[..end], checksum)?;
        rest = &body[end + 1..];
    }
    expansion.bytes.extend_from_slice(rest.as_bytes());
    if expansion.encoded.is_some() {
        return Err(TemplateError::Unpaired);
    }
    Ok(expansion.bytes)
}

/// What `%{…(}` begins.
#[derive(Clone, Copy)]
enum Encoding {
    Base64,
    Base64Url,
    Base58Check,
}

/// A template so far.
struct Expansion {
    bytes: Vec<u8>,
    /// Where the token begins, if the template says so.
    token: Option<usize>,
    /// Where the part begins that is to be encoded.
    encoded: Option<(usize, Encoding)>,
    random: SplitMix,
}

impl Expansion {
    fn placeholder(&mut self, name: &str, checksum: Option<Checksum>) -> Result<(), TemplateError> {
        match name {
            "" => {}
            "token" => self.token = Some(self.bytes.len()),
            "checksum" => return self.complete(checksum),
            "base64(" => return self.open(Encoding::Base64),
            "base64url(" => return self.open(Encoding::Base64Url),
            "base58check(" => return self.open(Encoding::Base58Check),
            ")" => return self.close(),
            _ => return fill(name, &mut self.random, &mut self.bytes),
        }
        Ok(())
    }

    fn complete(&mut self, checksum: Option<Checksum>) -> Result<(), TemplateError> {
        let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.".contains(byte);
        let begin = self.token.unwrap_or_else(|| {
            self.bytes.iter().rposition(|byte| !is_token(byte)).map_or(0, |at| at + 1)
        });
        let mut token = self.bytes.split_off(begin);
        let has_check = checksum.is_some_and(|checksum| checksum.complete(&mut token));
        self.bytes.append(&mut token);
        if has_check { Ok(()) } else { Err(TemplateError::NoChecksum) }
    }

    fn open(&mut self, encoding: Encoding) -> Result<(), TemplateError> {
        let outer = self.encoded.replace((self.bytes.len(), encoding));
        if outer.is_none() { Ok(()) } else { Err(TemplateError::Unpaired) }
    }

    fn close(&mut self) -> Result<(), TemplateError> {
        let (start, encoding) = self.encoded.take().ok_or(TemplateError::Unpaired)?;
        let part = self.bytes.split_off(start);
        match encoding {
            Encoding::Base64 => {
                let mut text = base64::encode(&part, base64::STANDARD);
                text.resize(text.len().next_multiple_of(4), b'=');
                self.bytes.append(&mut text);
            }
            Encoding::Base64Url => self.bytes.append(&mut base64::encode(&part, base64::URL)),
            Encoding::Base58Check if part.len() > BASE58_LEN_MAX => {
                return Err(TemplateError::TooLong);
            }
            Encoding::Base58Check => self.bytes.append(&mut encode_base58check(&part)),
        }
        Ok(())
    }
}

fn fill(
    placeholder: &str,
    random: &mut SplitMix,
    bytes: &mut Vec<u8>,
) -> Result<(), TemplateError> {
    let unknown = || TemplateError::Unknown(placeholder.to_owned());
    let (class, count) = placeholder.split_once(':').ok_or_else(unknown)?;
    if class == "bytes" {
        return from_hex(count, bytes).ok_or_else(unknown);
    }
    let alphabet = alphabet(class).ok_or_else(unknown)?;
    let count: usize = count.parse().map_err(|_| unknown())?;
    if count > REPEAT_MAX {
        return Err(unknown());
    }
    bytes.extend((0..count).map(|_| {
        let index = random.next() % alphabet.len() as u64;
        alphabet[usize::try_from(index).expect("an index into a short alphabet")]
    }));
    Ok(())
}

/// Appends the bytes that `digits` are.
fn from_hex(digits: &str, bytes: &mut Vec<u8>) -> Option<()> {
    let value = |digit: &u8| char::from(*digit).to_digit(16);
    for pair in digits.as_bytes().chunks(2) {
        let [high, low] = pair else { return None };
        bytes.push(u8::try_from(value(high)? << 4 | value(low)?).ok()?);
    }
    Some(())
}

fn alphabet(class: &str) -> Option<&'static [u8]> {
    Some(match class {
        "base62" => b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        "alnum" => b"0123456789abcdefghijklmnopqrstuvwxyz",
        "alpha" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        "upper" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        "lower" => b"abcdefghijklmnopqrstuvwxyz",
        "digit" => b"0123456789",
        "hex" => b"0123456789abcdef",
        "HEX" => b"0123456789ABCDEF",
        "base32" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
        "BECH32" => b"QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
        "base58" => b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
        "upnum" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
        "base64" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
        "base64url" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-",
        "word" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_",
        _ => return None,
    })
}

/// `SplitMix64`: G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", 2014.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_without_placeholders_is_kept() {
        assert_eq!(expand("100% {a} %}", 1, None).unwrap(), b"100% {a} %}");
    }

    #[test]
    fn placeholders_are_filled_and_reproducible() {
        let one = expand("a-%{hex:8}-%{}z", 1, None).unwrap();
        assert_eq!(one, expand("a-%{hex:8}-%{}z", 1, None).unwrap());
        assert_ne!(one, expand("a-%{hex:8}-%{}z", 2, None).unwrap());
        assert_eq!(one.len(), 12);
        assert!(one[2..10].iter().all(|byte| b"0123456789abcdef".contains(byte)));
    }

    #[test]
    fn a_checksum_completes_the_token() {
        let checksum = Checksum::Crc32Base62;
        let text = expand("key: npm_%{base62:30}%{checksum}", 7, Some(checksum)).unwrap();
        assert_eq!(checksum.verify(&text[5..]), crate::checksum::Verdict::Valid);
    }

    #[test]
    fn a_token_can_begin_anywhere() {
        let checksum = Checksum::Atlassian;
        let template = "key=%{token}ATATT3%{base64url:100}=%{checksum}";
        let text = expand(template, 7, Some(checksum)).unwrap();
        assert_eq!(checksum.verify(&text[4..]), crate::checksum::Verdict::Valid);
    }

    #[test]
    fn parts_are_encoded() {
        let text = |template| String::from_utf8(expand(template, 1, None).unwrap()).unwrap();
        assert_eq!(text("a-%{base64(}%{bytes:fbff}o%{)}-b"), "a-+/9v-b");
        assert_eq!(text("%{base64(}fooba%{)}"), "Zm9vYmE=");
        assert_eq!(text("%{base64url(}%{bytes:FBff}%{)}"), "-_8");
        let key = expand("%{base58check(}%{bytes:80}%{base62:32}%{)}", 1, None).unwrap();
        assert_eq!(Checksum::Base58check.verify(&key), crate::checksum::Verdict::Valid);
    }

    #[test]
    fn mistakes_are_named() {
        let error = |template| expand(template, 1, None).unwrap_err();
        assert_eq!(error("ab%{hex"), TemplateError::Unclosed(2));
        assert_eq!(error("%{octal:3}"), TemplateError::Unknown("octal:3".to_owned()));
        assert_eq!(error("%{hex:many}"), TemplateError::Unknown("hex:many".to_owned()));
        assert_eq!(error("%{hex:99999999}"), TemplateError::Unknown("hex:99999999".to_owned()));
        assert_eq!(error("%{bytes:0g}"), TemplateError::Unknown("bytes:0g".to_owned()));
        assert_eq!(error("%{bytes:012}"), TemplateError::Unknown("bytes:012".to_owned()));
        assert_eq!(error("%{checksum}"), TemplateError::NoChecksum);
        let error = |template| expand(template, 1, Some(Checksum::Jwt)).unwrap_err();
        assert_eq!(error("%{checksum}"), TemplateError::NoChecksum);
        for unpaired in ["%{base64(}a", "a%{)}", "%{base64(}%{base64url(}%{)}%{)}"] {
            assert_eq!(error(unpaired), TemplateError::Unpaired);
        }
        let long = "%{base58check(}%{hex:2000}%{)}";
        assert_eq!(error(long), TemplateError::TooLong);
    }
}
