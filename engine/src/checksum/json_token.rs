//! Tokens that are, or contain, the base 64 of a JSON object.
//!
//! An object without the keys that a token of today has is another version: not applicable. So is text
//! that was cut, as a rule's regex cuts what is too long. Memory is one array on the stack.
//!
//! Sources: Sentry, "Token formats"; Grafana's source for `glc_` and older API keys; RFC 7515 and 7519
//! for JWTs, RFC 7515 4.1.1 for `alg`.

use super::Verdict;
use super::base64::{STANDARD, decode_start};
use super::digits::all_in;
use super::json::{Object, object};
use crate::limits::STRUCTURE_LEN_MAX;

/// The base 64 of `{"`, with which an object begins that a program wrote.
const OBJECT_START: &[u8] = b"eyJ";
const SENTRY_SIGNATURE_LEN: usize = 43;

/// The object that `text` is the base 64 of.
fn decoded_object(text: &[u8], keys: &[&[u8]]) -> Object {
    let mut memory = [0; STRUCTURE_LEN_MAX];
    let decoded = decode_start(text, &mut memory);
    match object(decoded.bytes, keys) {
        Object::Whole { .. } if !decoded.whole => Object::Unknown,
        object => object,
    }
}

/// Of a token that is one object: whether it has `keys`.
fn verdict(text: &[u8], keys: &[&[u8]]) -> Verdict {
    match decoded_object(text, keys) {
        Object::Whole { has_keys: true } => Verdict::Valid,
        Object::Broken => Verdict::Invalid,
        Object::Whole { has_keys: false } | Object::Unknown => Verdict::NotApplicable,
    }
}

pub(super) fn sentry(token: &[u8]) -> Verdict {
    let parts = token.strip_prefix(b"sntrys_").and_then(|rest| {
        let underscore = rest.iter().rposition(|&byte| byte == b'_')?;
        Some((&rest[..underscore], &rest[underscore + 1..]))
    });
    match parts {
        Some((payload, signature))
            if signature.len() == SENTRY_SIGNATURE_LEN && all_in(signature, STANDARD) =>
        {
            verdict(payload, &[b"iat", b"url", b"region_url", b"org"])
        }
        _ => Verdict::NotApplicable,
    }
}

pub(super) fn grafana_cloud(token: &[u8]) -> Verdict {
    let payload = token.strip_prefix(b"glc_");
    payload.map_or(Verdict::NotApplicable, |payload| verdict(payload, &[b"o", b"n", b"k", b"m"]))
}

pub(super) fn grafana_api_key(token: &[u8]) -> Verdict {
    if !token.starts_with(OBJECT_START) {
        return Verdict::NotApplicable;
    }
    verdict(token, &[b"n", b"k", b"id"])
}

/// Whether `token` is a JWT, and that proves it.
fn signed(token: &[u8]) -> Verdict {
    let mut parts = token.split(|&byte| byte == b'.');
    let (Some(header), Some(payload), Some(signature), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Verdict::NotApplicable;
    };
    if !header.starts_with(OBJECT_START) || signature.is_empty() {
        return Verdict::NotApplicable;
    }
    match (decoded_object(header, &[b"alg"]), decoded_object(payload, &[])) {
        (Object::Broken | Object::Whole { has_keys: false }, _) | (_, Object::Broken) => {
            Verdict::Invalid
        }
        (Object::Whole { has_keys: true }, Object::Whole { .. }) => Verdict::Valid,
        _ => Verdict::NotApplicable,
    }
}

pub(super) fn jwt(token: &[u8]) -> Verdict {
    match signed(token) {
        Verdict::Valid => Verdict::Plausible,
        verdict => verdict,
    }
}

pub(super) fn github_jwt(token: &[u8]) -> Verdict {
    let jwt = token.strip_prefix(b"ghs_").and_then(|rest| {
        let underscore = rest.iter().position(|&byte| byte == b'_')?;
        let (id, jwt) = rest.split_at(underscore);
        (!id.is_empty() && id.iter().all(u8::is_ascii_digit)).then_some(&jwt[1..])
    });
    jwt.map_or(Verdict::NotApplicable, signed)
}

#[cfg(test)]
mod tests {
    use super::super::Checksum;
    use super::super::base64::{URL, encode};
    use super::*;

    fn base64(text: &str) -> String {
        String::from_utf8(encode(text.as_bytes(), STANDARD)).unwrap()
    }

    fn base64url(text: &str) -> String {
        String::from_utf8(encode(text.as_bytes(), URL)).unwrap()
    }

    #[test]
    fn sentry_tokens() {
        let token = |json: &str| format!("sntrys_{}=_{}", base64(json), "a".repeat(43));
        let check = |token: &str| Checksum::SentryOrganisation.verify(token.as_bytes());
        let whole = r#"{"iat":1.5,"url":"u","region_url":"r","org":"o"}"#;
        assert_eq!(check(&token(whole)), Verdict::Valid);
        assert_eq!(check(&token(r#"{"iat":1,"url":"u"}"#)), Verdict::NotApplicable);
        assert_eq!(check(&token(&whole[..20])), Verdict::NotApplicable);
        assert_eq!(check(&token(r#"{"iat":1,url}"#)), Verdict::Invalid);
        assert_eq!(check(&format!("{}a", token(whole))), Verdict::NotApplicable);
        assert_eq!(check("sntrys_"), Verdict::NotApplicable);
        assert_eq!(check(""), Verdict::NotApplicable);
    }

    #[test]
    fn grafana_tokens() {
        let cloud = |json: &str| {
            Checksum::GrafanaCloud.verify(format!("glc_{}==", base64(json)).as_bytes())
        };
        assert_eq!(cloud(r#"{"o":"1","n":"n","k":"k","m":{"r":"us"}}"#), Verdict::Valid);
        assert_eq!(cloud(r#"{"o":"1","n":"n"}"#), Verdict::NotApplicable);
        assert_eq!(cloud(r#"{"o":"1","n":"n","k":"#), Verdict::NotApplicable);
        assert_eq!(cloud(r#"{"o";"1"}"#), Verdict::Invalid);
        let key = |json: &str| Checksum::GrafanaApiKey.verify(base64(json).as_bytes());
        assert_eq!(key(r#"{"k":"k","n":"n","id":1}"#), Verdict::Valid);
        assert_eq!(key(r#"{"k":"k","n":"n"}"#), Verdict::NotApplicable);
        assert_eq!(key("{\"k\":\u{7f}}"), Verdict::Invalid);
        assert_eq!(key(""), Verdict::NotApplicable);
    }

    #[test]
    fn a_text_longer_than_the_memory_is_not_judged() {
        let long = format!(r#"{{"k":"{}","n":"n","id":1}}"#, "k".repeat(STRUCTURE_LEN_MAX));
        let verdict = Checksum::GrafanaApiKey.verify(base64(&long).as_bytes());
        assert_eq!(verdict, Verdict::NotApplicable);
    }

    #[test]
    fn json_web_tokens() {
        let token = |header: &str, payload: &str, rest: &str| {
            format!("{}.{}{rest}", base64url(header), base64url(payload))
        };
        let header = r#"{"alg":"HS256"}"#;
        for (token, expected) in [
            (token(header, r#"{"sub":"1"}"#, ".abc"), Verdict::Valid),
            (token(header, "{}", ".abc"), Verdict::Valid),
            (token(r#"{"typ":"JWT"}"#, "{}", ".abc"), Verdict::Invalid),
            (token("[1]", "{}", ".abc"), Verdict::NotApplicable),
            (token(r#"{"alg"}"#, "{}", ".abc"), Verdict::Invalid),
            (token(header, "[]", ".abc"), Verdict::Invalid),
            (token(header, "{\"a\":\u{1}}", ".abc"), Verdict::Invalid),
            (token(header, "{\"a\":", ".abc"), Verdict::NotApplicable),
            (token(header, "{}", ""), Verdict::NotApplicable),
            (token(header, "{}", "."), Verdict::NotApplicable),
            (token(header, "{}", ".abc.def"), Verdict::NotApplicable),
            (String::new(), Verdict::NotApplicable),
        ] {
            let github = format!("ghs_{}_{token}", 1234);
            assert_eq!(Checksum::GithubJwt.verify(github.as_bytes()), expected, "{token}");
            let plain = Checksum::Jwt.verify(token.as_bytes());
            let expected = if expected == Verdict::Valid { Verdict::Plausible } else { expected };
            assert_eq!(plain, expected, "{token}");
            for other in [format!("ghs_{token}"), format!("ghs__{token}"), format!("ghs_a_{token}")]
            {
                let verdict = Checksum::GithubJwt.verify(other.as_bytes());
                assert_eq!(verdict, Verdict::NotApplicable, "{other}");
            }
        }
    }
}
