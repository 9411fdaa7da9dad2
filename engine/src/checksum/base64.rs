//! Base 64 into memory of the caller, RFC 4648, with either alphabet and with or without padding.
//!
//! Decoding allocates nothing and takes only what an encoder writes: bits that stand for nothing are zero.
//! [`encode`] is for examples.

pub(crate) const STANDARD: &[u8; 64] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
pub(crate) const URL: &[u8; 64] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// What could be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decoded<'a> {
    pub(super) bytes: &'a [u8],
    /// Whether the text is the base 64 of exactly these bytes; otherwise it was cut, is none from some
    /// point on, or is longer than the memory.
    pub(super) whole: bool,
}

/// Decodes groups of four characters for as long as they are base 64 and find room in `memory`.
pub(super) fn decode_start<'a>(text: &[u8], memory: &'a mut [u8]) -> Decoded<'a> {
    let text = without_padding(text);
    let mut len = 0;
    let mut whole = true;
    for group in text.chunks(4) {
        let Some((bytes, count)) = decode_group(group) else {
            whole = false;
            break;
        };
        let Some(room) = memory.get_mut(len..len + count) else {
            whole = false;
            break;
        };
        room.copy_from_slice(&bytes[..count]);
        len += count;
    }
    Decoded { bytes: &memory[..len], whole }
}

/// Decodes all of `text`, or nothing.
pub(super) fn decode<'a>(text: &[u8], memory: &'a mut [u8]) -> Option<&'a [u8]> {
    let decoded = decode_start(text, memory);
    decoded.whole.then_some(decoded.bytes)
}

fn without_padding(text: &[u8]) -> &[u8] {
    let one = text.strip_suffix(b"=").unwrap_or(text);
    one.strip_suffix(b"=").unwrap_or(one)
}

/// The bytes of one to four characters, and how many they are.
fn decode_group(group: &[u8]) -> Option<([u8; 3], usize)> {
    let mut bits = 0_u32;
    for &byte in group {
        bits = bits << 6 | u32::from(value(byte)?);
    }
    bits <<= 6 * (4 - group.len());
    let [_, first, second, third] = bits.to_be_bytes();
    match group.len() {
        4 => Some(([first, second, third], 3)),
        3 if third == 0 => Some(([first, second, 0], 2)),
        2 if second == 0 && third == 0 => Some(([first, 0, 0], 1)),
        _ => None,
    }
}

fn value(byte: u8) -> Option<u8> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}

/// Encodes without padding.
pub(crate) fn encode(bytes: &[u8], alphabet: &[u8; 64]) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let at = |index: usize| group.get(index).map_or(0, |&byte| u32::from(byte));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        let digit = |index: usize| alphabet[(bits >> (18 - 6 * index) & 63) as usize];
        text.extend((0..=group.len()).map(digit));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(text: &str) -> Option<Vec<u8>> {
        decode(text.as_bytes(), &mut [0; 64]).map(<[u8]>::to_vec)
    }

    #[test]
    fn the_examples_of_the_rfc_decode_and_encode() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(decoded(text).unwrap(), bytes.as_bytes());
            let bare = text.trim_end_matches('=');
            assert_eq!(decoded(bare).unwrap(), bytes.as_bytes());
            assert_eq!(encode(bytes.as_bytes(), STANDARD), bare.as_bytes());
        }
    }

    #[test]
    fn both_alphabets_are_taken() {
        assert_eq!(decoded("+/+/"), decoded("-_-_"));
        assert_eq!(encode(&[0xfb, 0xff, 0xbf], STANDARD), b"+/+/");
        assert_eq!(encode(&[0xfb, 0xff, 0xbf], URL), b"-_-_");
    }

    #[test]
    fn what_no_encoder_writes_is_refused() {
        for text in ["A", "AAAAA", "Zh", "Zm9", "Zm9vYmF=x", "A===", "AA A", "AA\n"] {
            assert_eq!(decoded(text), None, "{text}");
        }
    }

    #[test]
    fn memory_is_the_bound() {
        let mut memory = [0; 4];
        let start = decode_start(b"Zm9vYmFy", &mut memory);
        assert_eq!(start, Decoded { bytes: b"foo", whole: false });
        assert_eq!(decode(b"Zm9vYg", &mut [0; 4]).unwrap(), b"foob");
    }
}
