//! Checksums that providers build into their tokens, which prove a token without asking anybody.
//!
//! A token of another length or shape than the algorithm knows is "not applicable", never "invalid":
//! providers add forms. No allocation.
//!
//! Sources: GitHub, "Behind GitHub's new authentication token formats" (2021), for CRC-32 in base 62,
//! which npm took over; the fine-grained form was established from independent published tokens.

use serde::Deserialize;
use sha2::{Digest, Sha256};

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Characters of the random part of a fine-grained token before its check characters:
/// `github_pat_`, 22, an underscore, 43.
const FINE_GRAINED_BODY_LEN: usize = 11 + 22 + 1 + 43;
const FINE_GRAINED_CHECK_LEN: usize = 8;
const FINE_GRAINED_LEN: usize = FINE_GRAINED_BODY_LEN + FINE_GRAINED_CHECK_LEN + 8;
const CRC_CHECK_LEN: usize = 6;

/// An algorithm, as named in rule files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Checksum {
    /// The last six characters are the CRC-32 (IEEE) of the 30 or 70 characters between the prefix's
    /// underscore and them, in base 62, padded with zeros.
    #[serde(rename = "crc32-base62")]
    Crc32Base62,
    /// Eight characters after the first 77 are the start of the SHA-256 of those 77 in base 32;
    /// eight free characters follow.
    #[serde(rename = "sha256-base32")]
    Sha256Base32,
}

/// What a checksum says of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The check characters are right: by chance that happens once in 2^32 tokens or less often.
    Valid,
    /// The token has the known shape and its check characters are wrong.
    Invalid,
    /// The token has a shape that the algorithm does not know.
    NotApplicable,
}

impl Checksum {
    /// Checks a whole token, prefix included.
    #[must_use]
    pub fn verify(self, token: &[u8]) -> Verdict {
        let holds = match self {
            Self::Crc32Base62 => verify_crc32(token),
            Self::Sha256Base32 => verify_sha256(token),
        };
        match holds {
            Some(true) => Verdict::Valid,
            Some(false) => Verdict::Invalid,
            None => Verdict::NotApplicable,
        }
    }

    /// Appends to a token that lacks it the part that the algorithm determines, for examples.
    pub(crate) fn complete(self, token: &mut Vec<u8>) {
        match self {
            Self::Crc32Base62 => {
                let body = token.iter().rposition(|&byte| byte == b'_').map_or(0, |at| at + 1);
                let check = base62(crc32fast::hash(&token[body..]));
                token.extend_from_slice(&check);
            }
            Self::Sha256Base32 => {
                let body = token.len().saturating_sub(FINE_GRAINED_BODY_LEN);
                let check = base32_prefix(&token[body..]);
                token.extend_from_slice(&check);
            }
        }
    }
}

fn verify_crc32(token: &[u8]) -> Option<bool> {
    let underscore = token.iter().position(|&byte| byte == b'_')?;
    let value = &token[underscore + 1..];
    if !value.iter().all(u8::is_ascii_alphanumeric) {
        return None;
    }
    let (body, check) = value.split_at_checked(value.len().checked_sub(CRC_CHECK_LEN)?)?;
    matches!(body.len(), 30 | 70).then(|| base62(crc32fast::hash(body)) == check)
}

fn verify_sha256(token: &[u8]) -> Option<bool> {
    if token.len() != FINE_GRAINED_LEN || !token.starts_with(b"github_pat_") {
        return None;
    }
    let (body, rest) = token.split_at(FINE_GRAINED_BODY_LEN);
    Some(base32_prefix(body) == rest[..FINE_GRAINED_CHECK_LEN])
}

fn base62(mut value: u32) -> [u8; CRC_CHECK_LEN] {
    let mut digits = [b'0'; CRC_CHECK_LEN];
    for digit in digits.iter_mut().rev() {
        *digit = BASE62[(value % 62) as usize];
        value /= 62;
    }
    assert_eq!(value, 0, "62^6 exceeds 2^32");
    digits
}

/// The first eight base-32 characters of the SHA-256 of `bytes`: its first five bytes.
fn base32_prefix(bytes: &[u8]) -> [u8; FINE_GRAINED_CHECK_LEN] {
    let digest = Sha256::digest(bytes);
    let value = digest[..5].iter().fold(0_u64, |value, &byte| value << 8 | u64::from(byte));
    std::array::from_fn(|index| BASE32[(value >> (35 - 5 * index) & 31) as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(checksum: Checksum, start: &str) -> Vec<u8> {
        let mut token = start.as_bytes().to_vec();
        checksum.complete(&mut token);
        token
    }

    #[test]
    fn base62_is_padded_and_takes_the_largest_value() {
        assert_eq!(&base62(0), b"000000");
        assert_eq!(&base62(61), b"00000z");
        assert_eq!(&base62(u32::MAX), b"4gfFC3");
    }

    #[test]
    fn crc32_accepts_its_own_and_rejects_one_wrong_character() {
        // zlib.crc32(b"a" * 30) in base 62, computed with another implementation.
        let token = completed(Checksum::Crc32Base62, &format!("npm_{}", "a".repeat(30)));
        assert_eq!(&token[34..], CRC32_OF_30_A);
        assert_eq!(Checksum::Crc32Base62.verify(&token), Verdict::Valid);
        for index in 4..token.len() {
            let mut wrong = token.clone();
            wrong[index] = if wrong[index] == b'Q' { b'R' } else { b'Q' };
            assert_eq!(Checksum::Crc32Base62.verify(&wrong), Verdict::Invalid, "at {index}");
        }
    }

    #[test]
    fn sha256_accepts_its_own_and_rejects_one_wrong_character() {
        let start = format!("github_pat_{}_{}", "a".repeat(22), "b".repeat(43));
        let mut token = completed(Checksum::Sha256Base32, &start);
        assert_eq!(&token[77..], SHA256_OF_START);
        token.extend_from_slice(b"freefree");
        assert_eq!(Checksum::Sha256Base32.verify(&token), Verdict::Valid);
        for index in 11..85 {
            let mut wrong = token.clone();
            wrong[index] = if wrong[index] == b'Q' { b'R' } else { b'Q' };
            assert_eq!(Checksum::Sha256Base32.verify(&wrong), Verdict::Invalid, "at {index}");
        }
    }

    #[test]
    fn unknown_shapes_are_not_applicable() {
        for token in ["", "ghp_", "ghp", "ghs_1_a.b.c", &format!("ghp_{}", "a".repeat(40))] {
            assert_eq!(Checksum::Crc32Base62.verify(token.as_bytes()), Verdict::NotApplicable);
            assert_eq!(Checksum::Sha256Base32.verify(token.as_bytes()), Verdict::NotApplicable);
        }
    }

    const CRC32_OF_30_A: &[u8] = b"1yLcDB";
    const SHA256_OF_START: &[u8] = b"7LZLK37K";
}
