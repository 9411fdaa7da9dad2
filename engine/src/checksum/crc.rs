//! Tokens whose check characters are a CRC-32 (IEEE) of what stands before them.
//!
//! Sources: GitHub, "Behind GitHub's new authentication token formats" (2021), which npm took over; the
//! source of GitLab, `routable_token.rb`; Grafana's, Atlassian's, Confluent's, Cloudflare's and Zuplo's
//! were established from independent published tokens. All but a first part of the token are checked, so
//! the functions differ only in that part, the digits and the order of bytes.

use super::base64::{STANDARD, decode, encode};
use super::digits::{BASE36, BASE62, HEX_LOWER, HEX_UPPER, all_in, digits};

const BASE62_CHECK_LEN: usize = 6;
const HEX_CHECK_LEN: usize = 8;
const GITLAB_CHECK_LEN: usize = 7;
const GRAFANA_BODY_LEN: usize = 5 + 32;
const CONFLUENT_BODY_LEN: usize = 54;
const CONFLUENT_CHECK_LEN: usize = 6;
const CLOUDFLARE_BODY_LEN: usize = 40;
const ATLASSIAN_PREFIXES: [&[u8]; 5] = [b"ATATT3", b"ATCTT3", b"ATBB", b"ATSTT3", b"ATOATT3"];
/// The one version of GitLab's tokens that says which it is.
const GITLAB_VERSION: &[u8] = b"01";

fn crc(bytes: &[u8]) -> u64 {
    crc32fast::hash(bytes).into()
}

/// `token` in what is checked and the last `len` bytes.
fn split_check(token: &[u8], len: usize) -> Option<(&[u8], &[u8])> {
    token.split_at_checked(token.len().checked_sub(len)?)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

pub(super) fn verify_base62(token: &[u8]) -> Option<bool> {
    let underscore = token.iter().position(|&byte| byte == b'_')?;
    let value = &token[underscore + 1..];
    if !all_in(value, BASE62) {
        return None;
    }
    let (body, check) = split_check(value, BASE62_CHECK_LEN)?;
    matches!(body.len(), 30 | 70).then(|| base62_check(body) == check)
}

pub(super) fn complete_base62(token: &mut Vec<u8>) {
    let check = base62_check(after_last_underscore(token));
    token.extend_from_slice(&check);
}

fn base62_check(body: &[u8]) -> [u8; BASE62_CHECK_LEN] {
    digits(crc(body), BASE62)
}

fn after_last_underscore(token: &[u8]) -> &[u8] {
    let start = token.iter().rposition(|&byte| byte == b'_').map_or(0, |at| at + 1);
    &token[start..]
}

pub(super) fn verify_grafana(token: &[u8]) -> Option<bool> {
    let (body, check) = token.split_at_checked(GRAFANA_BODY_LEN)?;
    let check = check.strip_prefix(b"_")?;
    let random = body.strip_prefix(b"glsa_")?;
    if !all_in(random, BASE62)
        || check.len() != HEX_CHECK_LEN
        || !check.iter().all(u8::is_ascii_hexdigit)
    {
        return None;
    }
    Some(check.eq_ignore_ascii_case(&grafana_check(body)))
}

pub(super) fn complete_grafana(token: &mut Vec<u8>) {
    let check = grafana_check(token);
    token.push(b'_');
    token.extend_from_slice(&check);
}

/// The lowest byte comes first.
fn grafana_check(body: &[u8]) -> [u8; HEX_CHECK_LEN] {
    digits(crc32fast::hash(body).swap_bytes().into(), HEX_LOWER)
}

pub(super) fn verify_atlassian(token: &[u8]) -> Option<bool> {
    let (body, check) = split_check(token, HEX_CHECK_LEN)?;
    let rest = ATLASSIAN_PREFIXES.iter().find_map(|prefix| body.strip_prefix(*prefix))?;
    let is_body = |&byte: &u8| is_word(byte) || b"+/=".contains(&byte);
    if rest.is_empty() || !rest.iter().all(is_body) || !all_in(check, HEX_UPPER) {
        return None;
    }
    Some(atlassian_check(body) == check)
}

pub(super) fn complete_atlassian(token: &mut Vec<u8>) {
    let check = atlassian_check(token);
    token.extend_from_slice(&check);
}

fn atlassian_check(body: &[u8]) -> [u8; HEX_CHECK_LEN] {
    digits(crc(body), HEX_UPPER)
}

/// `gl…-`, perhaps a kind of runner, the payload, perhaps a version, the payload's length in two digits
/// and the CRC-32 in seven. A length that is wrong together with the CRC-32 is another form.
pub(super) fn verify_gitlab(token: &[u8]) -> Option<bool> {
    let (checked, check) = split_check(token, GITLAB_CHECK_LEN)?;
    let mut fields = gitlab_payload(checked)?.split(|&byte| byte == b'.');
    let payload = fields.next()?;
    let ((Some(length), None, None) | (Some(GITLAB_VERSION), Some(length), None)) =
        (fields.next(), fields.next(), fields.next())
    else {
        return None;
    };
    if !(27..=300).contains(&payload.len())
        || !payload.iter().all(|&byte| is_word(byte))
        || !all_in(check, BASE36)
    {
        return None;
    }
    if gitlab_check(checked) == check {
        return Some(true);
    }
    (gitlab_length(payload) == length).then_some(false)
}

pub(super) fn complete_gitlab(token: &mut Vec<u8>) {
    let payload = gitlab_payload(token).and_then(|rest| rest.split(|&byte| byte == b'.').next());
    let length = gitlab_length(payload.unwrap_or_default());
    token.extend_from_slice(&length);
    let check = gitlab_check(token);
    token.extend_from_slice(&check);
}

/// What follows `gl…-` and the kind of runner `t1_`.
fn gitlab_payload(token: &[u8]) -> Option<&[u8]> {
    let dash = token.iter().position(|&byte| byte == b'-')?;
    let kind = token[..dash].strip_prefix(b"gl")?;
    if kind.is_empty() || !kind.iter().all(u8::is_ascii_lowercase) {
        return None;
    }
    let rest = &token[dash + 1..];
    Some(match rest {
        [b't', b'0'..=b'9', b'_', payload @ ..] => payload,
        _ => rest,
    })
}

fn gitlab_length(payload: &[u8]) -> [u8; 2] {
    digits(payload.len() as u64, BASE36)
}

fn gitlab_check(checked: &[u8]) -> [u8; GITLAB_CHECK_LEN] {
    digits(crc(checked), BASE36)
}

pub(super) fn verify_confluent(token: &[u8]) -> Option<bool> {
    let (body, check) = split_check(token.strip_prefix(b"cflt")?, CONFLUENT_CHECK_LEN)?;
    if body.len() != CONFLUENT_BODY_LEN || !all_in(body, STANDARD) || !all_in(check, STANDARD) {
        return None;
    }
    Some(decode(check, &mut [0; 4]) == Some(&crc32fast::hash(body).to_le_bytes()))
}

pub(super) fn complete_confluent(token: &mut Vec<u8>) {
    let start = token.len().saturating_sub(CONFLUENT_BODY_LEN);
    let check = encode(&crc32fast::hash(&token[start..]).to_le_bytes(), STANDARD);
    token.extend_from_slice(&check);
}

pub(super) fn verify_cloudflare(token: &[u8]) -> Option<bool> {
    let prefixes: [&[u8]; 3] = [b"cfk_", b"cfut_", b"cfat_"];
    let value = prefixes.iter().find_map(|prefix| token.strip_prefix(*prefix))?;
    let (body, check) = split_check(value, HEX_CHECK_LEN)?;
    if body.len() != CLOUDFLARE_BODY_LEN || !all_in(body, BASE62) || !all_in(check, HEX_LOWER) {
        return None;
    }
    Some(hex_check(body) == check)
}

pub(super) fn verify_zuplo(token: &[u8]) -> Option<bool> {
    let (body, check) = split_check(token.strip_prefix(b"zpka_")?, HEX_CHECK_LEN)?;
    let body = body.strip_suffix(b"_")?;
    if body.is_empty() || !all_in(body, BASE36) || !all_in(check, HEX_LOWER) {
        return None;
    }
    Some(hex_check(body) == check)
}

/// Of Cloudflare `prefix_body`, of Zuplo `prefix_body_`.
pub(super) fn complete_hex(token: &mut Vec<u8>) {
    let body = token.strip_suffix(b"_").unwrap_or(token);
    let check = hex_check(after_last_underscore(body));
    token.extend_from_slice(&check);
}

fn hex_check(body: &[u8]) -> [u8; HEX_CHECK_LEN] {
    digits(crc(body), HEX_LOWER)
}

#[cfg(test)]
mod tests {
    use super::super::support::{assert_checks, assert_not_applicable, assert_wrong, completed};
    use super::super::{Checksum, Verdict};

    // All check characters: crc = zlib.crc32(the bytes named), written by Python.

    #[test]
    fn github_and_npm() {
        // base62(crc(b"a" * 30)), base62(crc(b"a" * 70))
        let checksum = Checksum::Crc32Base62;
        let start = |prefix: &str, len| format!("{prefix}_{}", "a".repeat(len));
        assert_checks(checksum, &start("npm", 30), "1yLcDB", 4, *b"QR");
        assert_checks(checksum, &start("ghp", 30), "1yLcDB", 4, *b"QR");
        assert_checks(checksum, &start("ghr", 70), "0nOcHz", 4, *b"QR");
        let other = [start("ghp", 35), start("ghp", 40), start("ghp", 0), "ghp".to_owned()];
        assert_not_applicable(checksum, &other);
        let stateless = format!("ghs_1_{}", "a".repeat(34));
        assert_not_applicable(checksum, &[stateless, String::new()]);
    }

    #[test]
    fn grafana() {
        // struct.pack("<I", crc(b"glsa_" + b"a" * 32)).hex()
        let checksum = Checksum::GrafanaServiceAccount;
        let start = format!("glsa_{}", "a".repeat(32));
        assert_checks(checksum, &start, "_b1a40a94", 5, *b"01");
        let upper = format!("{start}_B1A40A94");
        assert_eq!(checksum.verify(upper.as_bytes()), Verdict::Valid);
        // The bytes in the other order, as some scanners have it.
        let reversed = format!("{start}_940aa4b1");
        assert_eq!(checksum.verify(reversed.as_bytes()), Verdict::Invalid);
        let other =
            [format!("glsa_{}_b1a40a94", "a".repeat(31)), format!("{start}_b1a40a9"), start];
        assert_not_applicable(checksum, &other);
    }

    #[test]
    fn atlassian() {
        // "%08X" % crc(b"ATATT3" + b"a" * 186 + b"=") and so on
        let checksum = Checksum::Atlassian;
        let start = |prefix: &str, len| format!("{prefix}{}", "a".repeat(len));
        assert_checks(checksum, &(start("ATATT3", 186) + "="), "7ECAB2CD", 6, *b"01");
        assert_checks(checksum, &(start("ATCTT3", 186) + "="), "1ADA9874", 6, *b"01");
        assert_checks(checksum, &start("ATBB", 24), "CE3487FD", 4, *b"01");
        let other = [start("ATBB", 24) + "ce3487fd", start("ATBC", 32), start("ATBB", 4)];
        assert_not_applicable(checksum, &other);
    }

    #[test]
    fn gitlab() {
        // base36(crc(b"gl…-" + b"a" * n + b".01." + length)), seven wide
        let checksum = Checksum::GitlabRoutable;
        for (start, check) in [
            (format!("gl{}pat-{}.01.", "", "a".repeat(30)), "0u0tg38bo"),
            (format!("gl{}rt-t1_{}.01.", "", "a".repeat(40)), "141d49c48"),
            (format!("gl{}cbt-{}.", "", "a".repeat(60)), "1o0kupwa7"),
        ] {
            let token = completed(checksum, &start);
            assert_eq!(std::str::from_utf8(&token[start.len()..]).unwrap(), check);
            assert_eq!(checksum.verify(&token), Verdict::Valid);
            let at = start.len() + 2;
            assert_wrong(checksum, &token, at, *b"QR", Verdict::NotApplicable);
            assert_wrong(checksum, &token, at, *b"01", Verdict::Invalid);
            for index in 0..at {
                let mut wrong = token.clone();
                wrong[index] = if wrong[index] == b'x' { b'y' } else { b'x' };
                assert_ne!(checksum.verify(&wrong), Verdict::Valid, "at {index}");
            }
        }
        let other = [
            format!("gl{}pat-{}", "", "a".repeat(20)),
            format!("gl{}pat-{}.02.0u0tg38bo", "", "a".repeat(30)),
            format!("gl{}pat-{}.01.0v0tg38bo", "", "a".repeat(30)),
            format!("gl{}pat-{}.01.0u0tg38b", "", "a".repeat(30)),
            format!("gl{}pat-{}.01.02.0u0tg38bo", "", "a".repeat(30)),
        ];
        assert_not_applicable(checksum, &other);
    }

    #[test]
    fn confluent() {
        // base64.b64encode(struct.pack("<I", crc(b"a" * 54)))[:6]
        let checksum = Checksum::Confluent;
        let start = format!("cflt{}", "a".repeat(54));
        assert_checks(checksum, &start, "KWHF2g", 4, *b"QR");
        assert_not_applicable(checksum, &[start.clone(), format!("{start}KWHF2g=")]);
        assert_not_applicable(checksum, &[format!("cflt{}", "-".repeat(60))]);
    }

    #[test]
    fn cloudflare_and_zuplo() {
        // "%08x" % crc(b"a" * 40), "%08x" % crc(b"a" * 20)
        for prefix in ["cfk_", "cfut_", "cfat_"] {
            let start = format!("{prefix}{}", "a".repeat(40));
            assert_checks(Checksum::Cloudflare, &start, "c95b8a25", prefix.len(), *b"01");
            assert_not_applicable(Checksum::Cloudflare, &[start]);
        }
        let start = format!("zpka_{}_", "a".repeat(20));
        assert_checks(Checksum::Zuplo, &start, "266f8bce", 5, *b"01");
        let other = ["zpka__266f8bce", "zpka_266f8bce", "zpka_A_266f8bce", "zpkb_a_266f8bce"];
        assert_not_applicable(Checksum::Zuplo, &other.map(str::to_owned));
    }
}
