//! Base 58 with four bytes of a double SHA-256 behind: Bitcoin's wallet import format (51 or 52
//! characters) and extended private keys (BIP-32, 111 characters).
//!
//! Time is quadratic in the text, whose length is bounded by [`TEXT_LEN_MAX`]. [`encode_check`] is for
//! examples.

use sha2::{Digest, Sha256};

const ALPHABET: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
/// Longest text that is decoded.
const TEXT_LEN_MAX: usize = 128;
const CHECK_LEN: usize = 4;

/// The bytes that `text` stands for, at the end of `memory`; `None` if it is no base 58 or too long.
///
/// Leading ones, which stand for zero bytes, are left out.
pub(super) fn decode<'a>(text: &[u8], memory: &'a mut [u8; TEXT_LEN_MAX]) -> Option<&'a [u8]> {
    if text.len() > TEXT_LEN_MAX {
        return None;
    }
    memory.fill(0);
    let mut start = TEXT_LEN_MAX;
    for byte in text {
        let digit = ALPHABET.iter().position(|character| character == byte)?;
        let mut carry = u32::try_from(digit).ok()?;
        // A character is less than a byte, so as many bytes as characters always hold the number.
        for place in memory[start..].iter_mut().rev() {
            let [.., low] = (u32::from(*place) * 58 + carry).to_be_bytes();
            carry = (u32::from(*place) * 58 + carry) >> 8;
            *place = low;
        }
        if carry > 0 {
            start = start.checked_sub(1)?;
            memory[start] = u8::try_from(carry).ok()?;
        }
    }
    Some(&memory[start..])
}

pub(super) fn verify(token: &[u8]) -> Option<bool> {
    let len = match token.len() {
        51 => 1 + 32,
        52 => 1 + 32 + 1,
        111 => 78,
        _ => return None,
    };
    let mut memory = [0; TEXT_LEN_MAX];
    let (body, check) = decode(token, &mut memory)?.split_last_chunk::<CHECK_LEN>()?;
    (body.len() == len).then(|| check_of(body) == *check)
}

fn check_of(body: &[u8]) -> [u8; CHECK_LEN] {
    let digest = Sha256::digest(Sha256::digest(body));
    std::array::from_fn(|index| digest[index])
}

/// The base58check of `body`.
pub(crate) fn encode_check(body: &[u8]) -> Vec<u8> {
    let mut number = [body, &check_of(body)].concat();
    let zeros = number.iter().take_while(|&&byte| byte == 0).count();
    let mut text = Vec::new();
    while number.iter().any(|&byte| byte != 0) {
        let mut rest = 0;
        for byte in &mut number {
            let value = rest << 8 | u32::from(*byte);
            *byte = u8::try_from(value / 58).unwrap_or_default();
            rest = value % 58;
        }
        text.push(ALPHABET[rest as usize]);
    }
    text.extend(std::iter::repeat_n(ALPHABET[0], zeros));
    text.reverse();
    text
}

#[cfg(test)]
mod tests {
    use super::super::support::assert_not_applicable;
    use super::super::{Checksum, Verdict};
    use super::*;

    /// A wallet key of one repeated byte, with what Python makes of it but for the first half:
    /// base58(b"\x80" + b"k" * 32 + sha256(sha256(…))[:4])
    #[test]
    fn the_reference_gives_the_same() {
        for (body, len, end) in [
            ([&[0x80][..], &[b'k'; 32]].concat(), 51, WIF_END),
            ([&[0x80][..], &[b'k'; 32], &[1]].concat(), 52, WIF_COMPRESSED_END),
            ([&[0x04, 0x88, 0xad, 0xe4][..], &[b'k'; 74]].concat(), 111, EXTENDED_END),
        ] {
            let token = encode_check(&body);
            assert_eq!(token.len(), len);
            assert!(token.ends_with(end.as_bytes()), "{}", String::from_utf8_lossy(&token));
            assert_eq!(Checksum::Base58check.verify(&token), Verdict::Valid);
            for index in 0..token.len() {
                let mut wrong = token.clone();
                wrong[index] = if wrong[index] == b'x' { b'y' } else { b'x' };
                // A first character that makes another count of bytes is another form.
                let verdict = Checksum::Base58check.verify(&wrong);
                assert!(verdict == Verdict::Invalid || index == 0, "{verdict:?} at {index}");
                assert_ne!(verdict, Verdict::Valid);
            }
        }
    }

    #[test]
    fn numbers_are_decoded() {
        let mut memory = [0; TEXT_LEN_MAX];
        assert_eq!(decode(b"", &mut memory).unwrap(), b"");
        assert_eq!(decode(b"1111", &mut memory).unwrap(), b"");
        assert_eq!(decode(b"2NEpo7TZRRrLZSi2U", &mut memory).unwrap(), b"Hello World!");
        assert_eq!(decode(b"0", &mut memory), None);
        assert_eq!(decode(&[b'z'; TEXT_LEN_MAX + 1], &mut memory), None);
        assert!(decode(&[b'z'; TEXT_LEN_MAX], &mut memory).is_some());
    }

    #[test]
    fn other_lengths_and_characters_are_not_applicable() {
        let other = ["5".repeat(50), "5".repeat(53), "0".repeat(51), "1".repeat(51), String::new()];
        assert_not_applicable(Checksum::Base58check, &other);
    }

    const WIF_END: &str = "M2Du5XSBvjR8";
    const WIF_COMPRESSED_END: &str = "NPvryKzKD4Xr";
    const EXTENDED_END: &str = "cxtSC4evTzph";
}
