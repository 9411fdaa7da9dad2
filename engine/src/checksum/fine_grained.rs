//! GitHub's fine-grained tokens: the start of a SHA-256 in base 32, in the middle of the token.
//!
//! Established from independent published tokens; GitHub does not document it.

use sha2::{Digest, Sha256};

use super::digits::{BASE32, digits};

/// Characters before the check characters: `github_pat_`, 22, an underscore, 43.
const BODY_LEN: usize = 11 + 22 + 1 + 43;
const CHECK_LEN: usize = 8;
const LEN: usize = BODY_LEN + CHECK_LEN + 8;

pub(super) fn verify(token: &[u8]) -> Option<bool> {
    if token.len() != LEN || !token.starts_with(b"github_pat_") {
        return None;
    }
    let (body, rest) = token.split_at(BODY_LEN);
    Some(check(body) == rest[..CHECK_LEN])
}

pub(super) fn complete(token: &mut Vec<u8>) {
    token.extend_from_slice(&check(token));
}

/// The first eight base-32 characters of the SHA-256: its first five bytes.
fn check(body: &[u8]) -> [u8; CHECK_LEN] {
    let digest = Sha256::digest(body);
    digits(digest[..5].iter().fold(0, |value, &byte| value << 8 | u64::from(byte)), BASE32)
}

#[cfg(test)]
mod tests {
    use super::super::support::{assert_not_applicable, assert_wrong, completed};
    use super::super::{Checksum, Verdict};

    /// base64.b32encode(hashlib.sha256(b"github_pat_" + b"a"*22 + b"_" + b"b"*43).digest())[:8]
    const CHECK: &[u8] = b"7LZLK37K";

    #[test]
    fn one_wrong_character_is_seen() {
        let start = format!("github_pat_{}_{}", "a".repeat(22), "b".repeat(43));
        let mut token = completed(Checksum::Sha256Base32, &start);
        assert_eq!(&token[77..], CHECK);
        // Too short without the free characters.
        assert_eq!(Checksum::Sha256Base32.verify(&token), Verdict::NotApplicable);
        token.extend_from_slice(b"freefree");
        assert_eq!(Checksum::Sha256Base32.verify(&token), Verdict::Valid);
        let (checked, free) = token.split_at(85);
        for index in 0..free.len() {
            let mut free = free.to_vec();
            free[index] = b'Q';
            let other = [checked, &free].concat();
            assert_eq!(Checksum::Sha256Base32.verify(&other), Verdict::Valid);
        }
        for index in 11..85 {
            let mut wrong = token.clone();
            wrong[index] = if wrong[index] == b'Q' { b'R' } else { b'Q' };
            assert_eq!(Checksum::Sha256Base32.verify(&wrong), Verdict::Invalid, "at {index}");
        }
        assert_wrong(Checksum::Sha256Base32, &token[..84], 11, *b"QR", Verdict::NotApplicable);
    }

    #[test]
    fn unknown_shapes_are_not_applicable() {
        let other = format!("github_qat_{}_{}", "a".repeat(22), "b".repeat(59));
        assert_not_applicable(Checksum::Sha256Base32, &[String::new(), other]);
    }
}
