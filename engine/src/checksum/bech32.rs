//! Bech32 (BIP-173), for keys of 32 bytes: age identities and Nostr secret keys. Linear time.
//!
//! Bech32m, another constant, is not among the tokens known.

const CHARACTERS: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
const PREFIXES: [&[u8]; 2] = [b"age-secret-key-1", b"nsec1"];
/// 256 bits in 52 characters, and the check characters.
const DATA_LEN: usize = 52 + CHECK_LEN;
const CHECK_LEN: usize = 6;

/// The checksum of BIP-173 so far.
struct Polymod(u32);

impl Polymod {
    /// With the prefix, the `1` after it left out.
    fn of(prefix: &[u8]) -> Self {
        let mut sum = Self(1);
        for byte in prefix {
            sum.add(byte.to_ascii_lowercase() >> 5);
        }
        sum.add(0);
        for byte in prefix {
            sum.add(byte.to_ascii_lowercase() & 31);
        }
        sum
    }

    fn add(&mut self, value: u8) {
        let generators = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
        let top = self.0 >> 25;
        self.0 = (self.0 & 0x01ff_ffff) << 5 ^ u32::from(value);
        for (bit, generator) in generators.iter().enumerate() {
            if top >> bit & 1 == 1 {
                self.0 ^= generator;
            }
        }
    }

    /// Adds characters; `None` at one that is none of the alphabet.
    fn add_all(&mut self, data: &[u8]) -> Option<()> {
        for byte in data {
            let byte = byte.to_ascii_lowercase();
            let value = CHARACTERS.iter().position(|&character| character == byte)?;
            self.add(u8::try_from(value).ok()?);
        }
        Some(())
    }
}

pub(super) fn verify(token: &[u8]) -> Option<bool> {
    let has_lower = token.iter().any(u8::is_ascii_lowercase);
    if has_lower && token.iter().any(u8::is_ascii_uppercase) {
        return None;
    }
    let is_prefix = |prefix: &&[u8]| {
        token.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    let prefix_len = PREFIXES.into_iter().find(is_prefix)?.len();
    let (prefix, data) = token.split_at(prefix_len);
    if data.len() != DATA_LEN {
        return None;
    }
    let mut sum = Polymod::of(&prefix[..prefix_len - 1]);
    sum.add_all(data)?;
    Some(sum.0 == 1)
}

/// Appends the check characters in the case of the token.
pub(super) fn complete(token: &mut Vec<u8>) {
    let Some(one) = token.iter().position(|&byte| byte == b'1') else { return };
    let mut sum = Polymod::of(&token[..one]);
    // A character that is none of the alphabet ends the sum, and the token is not valid.
    let _ = sum.add_all(&token[one + 1..]);
    for _ in 0..CHECK_LEN {
        sum.add(0);
    }
    let is_upper = token.iter().any(u8::is_ascii_uppercase);
    for index in 0..CHECK_LEN {
        let shift = 5 * (CHECK_LEN - 1 - index);
        let character = CHARACTERS[((sum.0 ^ 1) >> shift & 31) as usize];
        token.push(if is_upper { character.to_ascii_uppercase() } else { character });
    }
}

#[cfg(test)]
mod tests {
    use super::super::support::{assert_checks, assert_not_applicable};
    use super::super::{Checksum, Verdict};
    use super::*;

    #[test]
    fn age_and_nostr() {
        // bech32_create_checksum(hrp, [0] * 52) of BIP-173's reference in Python
        let zeros = "q".repeat(52);
        let age = format!("AGE-{}SECRET-KEY-1{}", "", zeros.to_uppercase());
        assert_checks(Checksum::Bech32, &age, AGE_CHECK, 16, *b"PZ");
        let nostr = format!("nsec{}1{zeros}", "");
        assert_checks(Checksum::Bech32, &nostr, NOSTR_CHECK, 5, *b"pz");
        let lower = format!("{age}{AGE_CHECK}").to_lowercase();
        assert_eq!(Checksum::Bech32.verify(lower.as_bytes()), Verdict::Valid);
    }

    #[test]
    fn other_forms_are_not_applicable() {
        let data = "Q".repeat(58);
        let other = [
            format!("AGE-{}SECRET-KEY-PQ-1{data}", ""),
            format!("AGE-{}SECRET-KEY-1{}", "", "Q".repeat(57)),
            format!("AGE-{}SECRET-KEY-1{}B", "", "Q".repeat(57)),
            format!("AGE-{}SECRET-KEY-1{}q", "", "Q".repeat(57)),
            "1".to_owned(),
            String::new(),
        ];
        assert_not_applicable(Checksum::Bech32, &other);
    }

    /// A12UEL5L, BIP-173's first valid string, has no data.
    #[test]
    fn the_specification_s_example_is_completed() {
        let mut token = b"A1".to_vec();
        complete(&mut token);
        assert_eq!(token, b"A12UEL5L");
    }

    const AGE_CHECK: &str = "8H00W3";
    const NOSTR_CHECK: &str = "wkhnav";
}
