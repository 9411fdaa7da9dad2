//! Keys of Azure with a Marvin32: Entra client secrets, identifiable keys, annotated keys.
//!
//! Source: microsoft/security-utilities (MIT), `IdentifiableMetadata.cs` for signatures and seeds. Work is
//! bounded by the longest of these keys, 88 characters, and the seven seeds of one signature.

use super::base64::{STANDARD, URL, decode, encode};
use super::digits::{BASE62, all_in, digits};
use super::marvin::marvin32;

const ENTRA_LEN: usize = 40;
const ENTRA_CHECK_LEN: usize = 3;
const ENTRA_SEED: u64 = seed(*b"AadPwd00");
const ENTRA_ALPHABET: &[u8; 66] =
    b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ1234567890.-_~";

/// The longest identifiable key has 64 bytes, a checked annotated key 60.
const KEY_LEN_MAX: usize = 64;
const MARVIN_LEN: usize = 4;
/// The signature's place in characters, from the end without padding.
const SIGNATURE_FROM_END: usize = 10;
const SIGNATURE_LEN: usize = 4;
/// Lengths without padding of keys of 32, 39, 40 and 64 bytes.
const IDENTIFIABLE_LENS: [usize; 4] = [43, 52, 54, 86];

const ANNOTATED_CHECKED_LEN: usize = 80;
const ANNOTATED_SEED: u64 = seed(*b"Default0");

/// A signature and the seeds of the kinds of key that carry it.
struct Service {
    signature: &'static [u8; SIGNATURE_LEN],
    seeds: &'static [u64],
}

const MESSAGING: &[u64] = &[
    seed(*b"System00"),
    seed(*b"Unknown0"),
    seed(*b"Send0000"),
    seed(*b"Manage00"),
    seed(*b"Listen00"),
];

const SERVICES: [Service; 13] = [
    Service { signature: b"+ASt", seeds: &[seed(*b"Default0")] },
    Service {
        signature: b"ACDb",
        seeds: &[
            seed(*b"SysAll00"),
            seed(*b"Resour00"),
            seed(*b"MastRO00"),
            seed(*b"SystRO00"),
            seed(*b"Encryp00"),
            seed(*b"MastRW00"),
            seed(*b"SystRW00"),
        ],
    },
    Service { signature: REDIS, seeds: &[seed(*b"Access00")] },
    Service { signature: b"+ABa", seeds: &[seed(*b"AbAcct00")] },
    Service {
        signature: FUNCTIONS,
        seeds: &[seed(*b"Master00"), seed(*b"System00"), seed(*b"Functi00")],
    },
    Service { signature: b"AzSe", seeds: &[seed(*b"Query000"), seed(*b"PAdmin00")] },
    Service { signature: b"+AMC", seeds: &[seed(*b"Classic0")] },
    Service { signature: b"+ACR", seeds: &[seed(*b"ACRDflt0")] },
    Service {
        signature: b"AIoT",
        seeds: &[seed(*b"IoTHub00"), seed(*b"DpsKey00"), seed(*b"Device00")],
    },
    Service {
        signature: b"APIM",
        seeds: &[seed(*b"Tenant00"), seed(*b"IoTHub00"), seed(*b"Gatewy00"), seed(*b"GitKey00")],
    },
    Service { signature: b"+ASb", seeds: MESSAGING },
    Service { signature: b"+AEh", seeds: MESSAGING },
    Service { signature: b"+ARm", seeds: MESSAGING },
];

/// Redis replaces `+` and `/` in finished keys, which three of four keys have: a wrong checksum says
/// nothing there.
const REDIS: &[u8; SIGNATURE_LEN] = b"AzCa";
/// The one service that writes keys with the alphabet for URLs.
const FUNCTIONS: &[u8; SIGNATURE_LEN] = b"AzFu";

/// Seeds are written as the eight characters that they are.
const fn seed(text: [u8; 8]) -> u64 {
    u64::from_be_bytes(text)
}

pub(super) fn verify_entra(token: &[u8]) -> Option<bool> {
    if token.len() != ENTRA_LEN || &token[3..6] != b"8Q~" || !all_in(token, ENTRA_ALPHABET) {
        return None;
    }
    let (body, check) = token.split_at(ENTRA_LEN - ENTRA_CHECK_LEN);
    Some(entra_check(body) == check)
}

pub(super) fn complete_entra(token: &mut Vec<u8>) {
    let check = entra_check(token);
    token.extend_from_slice(&check);
}

/// The first three of six digits.
fn entra_check(body: &[u8]) -> [u8; ENTRA_CHECK_LEN] {
    let [first, second, third, ..] = digits::<6>(marvin32(body, ENTRA_SEED).into(), ENTRA_ALPHABET);
    [first, second, third]
}

pub(super) fn verify_identifiable(token: &[u8]) -> Option<bool> {
    let key = token.strip_suffix(b"=").unwrap_or(token);
    let key = key.strip_suffix(b"=").unwrap_or(key);
    if !IDENTIFIABLE_LENS.contains(&key.len()) || !(all_in(key, STANDARD) || all_in(key, URL)) {
        return None;
    }
    let signature = &key[key.len() - SIGNATURE_FROM_END..][..SIGNATURE_LEN];
    let service = SERVICES.iter().find(|service| service.signature == signature)?;
    let mut memory = [0; KEY_LEN_MAX];
    // Characters and length are right, so what cannot be decoded has bits that no encoder sets.
    let holds = decode(key, &mut memory).and_then(<[u8]>::split_last_chunk).is_some_and(
        |(body, check): (_, &[u8; MARVIN_LEN])| {
            let check = u32::from_le_bytes(*check);
            service.seeds.iter().any(|&seed| marvin32(body, seed) == check)
        },
    );
    if !holds && service.signature == REDIS {
        return None;
    }
    Some(holds)
}

/// Appends what follows the signature, padding included. The bits between the signature and the next whole
/// byte are zero.
pub(super) fn complete_identifiable(token: &mut Vec<u8>) {
    let mut memory = [0; KEY_LEN_MAX];
    let signature = token.last_chunk::<SIGNATURE_LEN>();
    let service = SERVICES.iter().find(|service| Some(service.signature) == signature);
    let seed = service.and_then(|service| service.seeds.first()).copied().unwrap_or_default();
    // A character of zero bits makes up the group that one character alone would be.
    let mut whole = token.clone();
    if whole.len() % 4 == 1 {
        whole.push(b'A');
    }
    let len = (token.len() * 6).div_ceil(8);
    let mut padded = whole;
    padded.resize(padded.len().next_multiple_of(4), b'A');
    let body = decode(&padded, &mut memory).and_then(|bytes| bytes.get(..len)).unwrap_or_default();
    let key = [body, &marvin32(body, seed).to_le_bytes()].concat();
    let alphabet = if signature == Some(FUNCTIONS) { URL } else { STANDARD };
    let mut text = encode(&key, alphabet);
    text.resize(text.len().next_multiple_of(4), b'=');
    token.extend_from_slice(text.get(token.len()..).unwrap_or_default());
}

/// Whether an annotated key's checksum is right; `None` also if it is wrong, see
/// [`Checksum::AzureAnnotatedKey`](super::Checksum::AzureAnnotatedKey).
pub(super) fn verify_annotated(token: &[u8]) -> Option<bool> {
    let key = match token.len() {
        84 => token,
        88 => token.strip_suffix(b"==")?,
        _ => return None,
    };
    let fixed = key[52..].strip_prefix(b"JQQJ9")?;
    let &[kind, _, month, ..] = fixed else { return None };
    if !all_in(key, BASE62)
        || !b"9DH".contains(&kind)
        || !(b'A'..=b'L').contains(&month)
        || !key[76].is_ascii_alphabetic()
    {
        return None;
    }
    let (checked, check) = key.split_at(ANNOTATED_CHECKED_LEN);
    let hash = annotated_hash(checked)?;
    let bytes = hash.to_le_bytes();
    let encoded = decode(check, &mut [0; MARVIN_LEN]).is_some_and(|check| bytes.starts_with(check));
    let digits = digits::<6>(hash.into(), BASE62).starts_with(check);
    (encoded || digits).then_some(true)
}

pub(super) fn complete_annotated(token: &mut Vec<u8>) {
    let hash = annotated_hash(token).unwrap_or_default();
    token.extend_from_slice(&digits::<6>(hash.into(), BASE62)[..4]);
}

fn annotated_hash(checked: &[u8]) -> Option<u32> {
    let mut memory = [0; KEY_LEN_MAX];
    decode(checked, &mut memory).map(|bytes| marvin32(bytes, ANNOTATED_SEED))
}

#[cfg(test)]
mod tests {
    use super::super::support::{assert_checks, assert_not_applicable, assert_wrong, completed};
    use super::super::{Checksum, Verdict};

    // `marvin32` is microsoft/security-utilities' in Python.

    #[test]
    fn entra() {
        // base66(marvin32(b"abc8Q~" + b"a" * 31, 0x4161645077643030))[:3], six wide
        let checksum = Checksum::AzureEntraSecret;
        let start = format!("abc8{}Q~{}", "", "a".repeat(31));
        assert_checks(checksum, &start, "c3u", 6, *b"xy");
        let legacy = format!("abc7{}Q~{}", "", "a".repeat(31));
        assert_not_applicable(checksum, &[legacy, format!("{start}c3uu"), start]);
    }

    #[test]
    fn identifiable() {
        // base64(body + struct.pack("<I", marvin32(body, the first seed))), after the signature
        let checksum = Checksum::AzureIdentifiableKey;
        for (random, signature, check) in [
            (76, "+ASt", "5mnCaw=="),
            (76, "ACDb", "a+3Xyg=="),
            (76, "APIM", "HbKhsQ=="),
            (33, "+ASb", "M+Epv0="),
            (33, "AIoT", "Oumzco="),
            (44, "AzFu", "Zs2k4g=="),
            (42, "AzSe", "CjhzCu"),
            (42, "+ACR", "C5W7f3"),
        ] {
            let start = format!("{}{signature}", "a".repeat(random));
            assert_checks(checksum, &start, check, random + 4, *b"QR");
            let token = completed(checksum, &start);
            assert_wrong(checksum, &token[..random], 0, *b"QR", Verdict::NotApplicable);
            let mut wrong = token;
            for index in 0..random {
                wrong[index] = b'Q';
                assert_eq!(checksum.verify(&wrong), Verdict::Invalid, "{signature} at {index}");
                wrong[index] = b'a';
            }
            assert_eq!(checksum.verify(&wrong), Verdict::Valid);
        }
    }

    #[test]
    fn every_kind_of_a_service_has_its_seed() {
        for service in super::SERVICES {
            for &seed in service.seeds {
                let body = [&[0x6a; 57][..], &[0; 3]].concat();
                let text = super::encode(&body, super::STANDARD);
                let text = [&text[..76], service.signature].concat();
                let body = super::decode(&text, &mut [0; 60]).unwrap().to_vec();
                let hash = super::marvin32(&body, seed).to_le_bytes();
                let key = super::encode(&[&body[..], &hash].concat(), super::STANDARD);
                // An alphabet at a time: this signature is written with the one for URLs.
                let key = if service.signature == super::FUNCTIONS {
                    super::encode(&[&body[..], &hash].concat(), super::URL)
                } else {
                    key
                };
                assert_eq!(super::verify_identifiable(&key), Some(true));
            }
        }
    }

    #[test]
    fn a_redis_key_that_was_rewritten_is_not_judged() {
        let checksum = Checksum::AzureIdentifiableKey;
        let token = completed(checksum, &format!("{}AzCa", "a".repeat(33)));
        assert_eq!(&token[37..], b"JM04l8=");
        assert_eq!(checksum.verify(&token), Verdict::Valid);
        assert_wrong(checksum, &token, 37, *b"QR", Verdict::NotApplicable);
    }

    #[test]
    fn keys_without_a_known_signature_or_length_are_not_judged() {
        let other =
            ["a".repeat(86) + "==", "a".repeat(33) + "AZEGBaaaaa=", "a".repeat(40) + "+AStaaaaaa"];
        assert_not_applicable(Checksum::AzureIdentifiableKey, &other);
        assert_not_applicable(Checksum::AzureIdentifiableKey, &[String::new(), "==".to_owned()]);
    }

    #[test]
    fn annotated() {
        // base62(marvin32(base64.b64decode(the 80 characters), 0x44656661756c7430))[:4], six wide
        let checksum = Checksum::AzureAnnotatedKey;
        let start = format!("{}JQQJ{}99BA{}Deee", "a".repeat(52), "", "C".repeat(16));
        let token = completed(checksum, &start);
        assert_eq!(&token[80..], b"23gf");
        assert_eq!(checksum.verify(&token), Verdict::Valid);
        assert_wrong(checksum, &token, 0, *b"QR", Verdict::NotApplicable);
        // All six digits and padding.
        assert_eq!(checksum.verify(format!("{start}23gfkZ==").as_bytes()), Verdict::Valid);
        assert_not_applicable(checksum, &[format!("{start}23gf=="), start, String::new()]);
    }
}
