//! PyPI's tokens: binary macaroons, version 2, in base 64.
//!
//! Sources: libmacaroons, `doc/format.txt`; pymacaroons, `binary_serializer.py`, which PyPI uses. Memory is
//! one array on the stack, time is linear.

use super::Verdict;
use super::base64::decode_start;
use crate::limits::STRUCTURE_LEN_MAX;

const VERSION: u8 = 2;
const HOSTS: [&[u8]; 2] = [b"pypi.org", b"test.pypi.org"];
const END: u8 = 0;
const LOCATION: u8 = 1;
const IDENTIFIER: u8 = 2;
const VERIFICATION: u8 = 4;
const SIGNATURE: u8 = 6;
const SIGNATURE_LEN: usize = 32;

/// Judges a token. Only a first section without an identifier is wrong; anything later that is not as
/// expected may have been cut, or is what a later version adds.
pub(super) fn verify_pypi(token: &[u8]) -> Verdict {
    let Some(text) = token.strip_prefix(b"pypi-") else { return Verdict::NotApplicable };
    let mut memory = [0; STRUCTURE_LEN_MAX];
    let decoded = decode_start(text, &mut memory);
    let Some((&VERSION, mut rest)) = decoded.bytes.split_first() else {
        return Verdict::NotApplicable;
    };
    match field(&mut rest) {
        Some((LOCATION, host)) if HOSTS.contains(&host) => {}
        _ => return Verdict::NotApplicable,
    }
    match (field(&mut rest), field(&mut rest)) {
        (Some((IDENTIFIER, _)), Some((END, _))) => {}
        (None, _) | (Some((IDENTIFIER, _)), None) => return Verdict::NotApplicable,
        _ => return Verdict::Invalid,
    }
    if decoded.whole && is_signed(rest) { Verdict::Valid } else { Verdict::NotApplicable }
}

/// Whether caveats, each closed, then an empty one and the signature are all that `rest` is.
fn is_signed(mut rest: &[u8]) -> bool {
    let mut section_is_empty = true;
    loop {
        match field(&mut rest) {
            Some((END, _)) if section_is_empty => break,
            Some((END, _)) => section_is_empty = true,
            Some((LOCATION | IDENTIFIER | VERIFICATION, _)) => section_is_empty = false,
            _ => return false,
        }
    }
    matches!(field(&mut rest), Some((SIGNATURE, value)) if value.len() == SIGNATURE_LEN)
        && rest.is_empty()
}

/// Takes a field's kind and value from the front; `None` if it goes beyond the end.
fn field<'a>(rest: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    let (&kind, after) = rest.split_first()?;
    if kind == END {
        *rest = after;
        return Some((END, &[]));
    }
    // Seven bits a byte, lowest first; two bytes are more than any token has.
    let (len, after) = match *after {
        [low @ 0..0x80, ..] => (usize::from(low), &after[1..]),
        [low, high @ 0..0x80, ..] => {
            (usize::from(low & 0x7f) | usize::from(high) << 7, &after[2..])
        }
        _ => return None,
    };
    let (value, after) = after.split_at_checked(len)?;
    *rest = after;
    Some((kind, value))
}

#[cfg(test)]
mod tests {
    use super::super::Checksum;
    use super::super::base64::{URL, encode};
    use super::*;

    fn check(bytes: &[u8]) -> Verdict {
        let text = String::from_utf8(encode(bytes, URL)).unwrap();
        Checksum::PypiMacaroon.verify(format!("pypi-{text}").as_bytes())
    }

    fn macaroon(host: &str, caveats: &[u8]) -> Vec<u8> {
        let mut bytes = vec![VERSION, LOCATION, u8::try_from(host.len()).unwrap()];
        bytes.extend_from_slice(host.as_bytes());
        bytes.extend_from_slice(&[IDENTIFIER, 3, b'i', b'i', b'i', END]);
        bytes.extend_from_slice(caveats);
        bytes.extend_from_slice(&[END, SIGNATURE, 32]);
        bytes.extend_from_slice(&[b's'; 32]);
        bytes
    }

    #[test]
    fn whole_macaroons_are_valid() {
        let long = [&[IDENTIFIER, 0xc8, 1][..], &[b'c'; 200], &[END]].concat();
        let third = [LOCATION, 1, b'l', IDENTIFIER, 1, b'c', VERIFICATION, 1, b'v', END];
        for caveats in [&[][..], &[IDENTIFIER, 2, b'[', b']', END], &third, &long] {
            for host in ["pypi.org", "test.pypi.org"] {
                let bytes = macaroon(host, caveats);
                assert_eq!(check(&bytes), Verdict::Valid);
                for len in 0..bytes.len() {
                    assert_eq!(check(&bytes[..len]), Verdict::NotApplicable, "cut at {len}");
                }
                assert_eq!(check(&[&bytes[..], b"x"].concat()), Verdict::NotApplicable);
            }
        }
    }

    #[test]
    fn other_versions_and_hosts_are_not_judged() {
        assert_eq!(check(&macaroon("pypi.com", &[])), Verdict::NotApplicable);
        let mut bytes = macaroon("pypi.org", &[]);
        bytes[0] = 3;
        assert_eq!(check(&bytes), Verdict::NotApplicable);
        assert_eq!(check(&[]), Verdict::NotApplicable);
        assert_eq!(Checksum::PypiMacaroon.verify(b""), Verdict::NotApplicable);
    }

    #[test]
    fn a_first_section_without_identifier_is_invalid() {
        let mut bytes = macaroon("pypi.org", &[]);
        bytes[11] = b'x';
        assert_eq!(check(&bytes), Verdict::Invalid);
        bytes[11] = END;
        assert_eq!(check(&bytes), Verdict::Invalid);
    }
}
