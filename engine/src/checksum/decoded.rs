//! Tokens that decode to something of a known form: ids, lengths, words.
//!
//! Sources: Discord, "Authentication"; JFrog, reference tokens and API keys, whose digits were established
//! from independent published keys; Microsoft, "Create a service SAS", for HMAC-SHA-256 in `sig`; AWS,
//! "Unique identifiers"; T. Be'ery, "A short note on AWS KEY ID" (2023), for the account's number. Memory is
//! a few short arrays on the stack; longer text is not applicable.

use super::Verdict;
use super::base58;
use super::base64::decode;
use super::digits::{BASE32, all_in};

/// Characters of the longest of these texts that is decoded.
const TEXT_LEN_MAX: usize = 128;
const SAS_LEN: usize = 32;
const JFROG_API_KEY_LEN: usize = 54;
const AWS_ACCOUNT_MAX: u64 = 999_999_999_999;

/// The id of a bot's user, of 17 to 20 digits, then a time and an HMAC, whose lengths vary a little.
pub(super) fn discord(token: &[u8]) -> Option<bool> {
    let mut parts = token.split(|&byte| byte == b'.');
    let (id, time, code) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some()
        || !(22..=28).contains(&id.len())
        || !matches!(time.len(), 6 | 7)
        || !(27..=38).contains(&code.len())
    {
        return None;
    }
    let mut memory = [0; TEXT_LEN_MAX];
    let is_id = |id: &[u8]| (17..=20).contains(&id.len()) && id.iter().all(u8::is_ascii_digit);
    Some(decode(id, &mut memory).is_some_and(is_id))
}

/// `reftkn:`, a version, a time and the token, with colons between.
pub(super) fn jfrog_reference(token: &[u8]) -> Option<bool> {
    if token.len() > TEXT_LEN_MAX || !token.starts_with(b"cmVmdGtu") {
        return None;
    }
    let mut memory = [0; TEXT_LEN_MAX];
    let is_reference = |text: &[u8]| {
        let mut fields = text.split(|&byte| byte == b':').skip(1);
        let mut is_number =
            || fields.next().is_some_and(|f| !f.is_empty() && f.iter().all(u8::is_ascii_digit));
        let numbers = is_number() && is_number();
        numbers
            && fields.next().is_some_and(|f| !f.is_empty() && f.iter().all(u8::is_ascii_graphic))
    };
    Some(decode(token, &mut memory).is_some_and(is_reference))
}

pub(super) fn jfrog_api_key(token: &[u8]) -> Verdict {
    if token.len() != 73 || !token.starts_with(b"AKC") {
        return Verdict::NotApplicable;
    }
    match base58::decode(token, &mut [0; 128]) {
        Some(key) if key.len() == JFROG_API_KEY_LEN => Verdict::Plausible,
        Some(_) => Verdict::NotApplicable,
        None => Verdict::Invalid,
    }
}

/// A signature of 43 characters and its padding, any of `+`, `/` and `=` as `%2B`, `%2F` and `%3D`.
pub(super) fn azure_sas(token: &[u8]) -> Verdict {
    let mut text = [0; TEXT_LEN_MAX];
    let Some(text) = percent_decoded(token, &mut text) else { return Verdict::NotApplicable };
    let Some(digits) = text.strip_suffix(b"=") else { return Verdict::NotApplicable };
    if digits.len() != 43 || !all_in(digits, super::base64::STANDARD) {
        return Verdict::NotApplicable;
    }
    match decode(digits, &mut [0; SAS_LEN]) {
        Some(_) => Verdict::Plausible,
        // Bits that no encoder sets.
        None => Verdict::Invalid,
    }
}

fn percent_decoded<'a>(text: &[u8], memory: &'a mut [u8]) -> Option<&'a [u8]> {
    let mut rest = text;
    let mut len = 0;
    while let Some((&first, after)) = rest.split_first() {
        let (byte, after) = match (first, after) {
            (b'%', [high, low, after @ ..]) => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                (u8::try_from(digit(*high)? << 4 | digit(*low)?).ok()?, after)
            }
            _ => (first, after),
        };
        *memory.get_mut(len)? = byte;
        len += 1;
        rest = after;
    }
    memory.get(..len)
}

/// 22 and 43 characters, whose last bits stand for nothing if 16 and 32 bytes were encoded.
pub(super) fn sendgrid(token: &[u8]) -> Verdict {
    let parts = token.strip_prefix(b"SG.").and_then(|rest| rest.split_at_checked(22));
    let Some((id, [b'.', secret @ ..])) = parts else { return Verdict::NotApplicable };
    let mut memory = [0; TEXT_LEN_MAX];
    let fits = decode(id, &mut memory).is_some_and(|id| id.len() == 16)
        && decode(secret, &mut memory).is_some_and(|secret| secret.len() == 32);
    if fits { Verdict::Plausible } else { Verdict::NotApplicable }
}

/// Sixteen characters in base 32 behind four; an account's number of 40 bits follows the first bit.
pub(super) fn aws_key_id(token: &[u8]) -> Verdict {
    let Some((prefix, id)) = token.split_at_checked(4) else { return Verdict::NotApplicable };
    if !prefix.iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
        || id.len() != 16
        || !all_in(id, BASE32)
    {
        return Verdict::NotApplicable;
    }
    let value = |byte: u8| if byte.is_ascii_digit() { byte - b'2' + 26 } else { byte - b'A' };
    // Ten characters are 50 bits; the number's 40 come after the first and before the last nine.
    let bits = id[..10].iter().fold(0_u64, |bits, &byte| bits << 5 | u64::from(value(byte)));
    let account = bits >> 9 & 0xff_ffff_ffff;
    if account <= AWS_ACCOUNT_MAX { Verdict::Plausible } else { Verdict::NotApplicable }
}

#[cfg(test)]
mod tests {
    use super::super::Checksum;
    use super::super::base64::{STANDARD, encode};
    use super::*;

    fn base64(text: &str) -> String {
        String::from_utf8(encode(text.as_bytes(), STANDARD)).unwrap()
    }

    #[test]
    fn discord_ids() {
        let check = |id: &str, rest: &str| {
            Checksum::DiscordBot.verify(format!("{}{rest}", base64(id)).as_bytes())
        };
        let rest = format!(".{}.{}", "t".repeat(6), "c".repeat(27));
        for len in 17..=20 {
            assert_eq!(check(&"7".repeat(len), &rest), Verdict::Valid);
        }
        assert_eq!(check("77777777777777777a", &rest), Verdict::Invalid);
        assert_eq!(check(&"7".repeat(16), &rest), Verdict::Invalid);
        assert_eq!(check(&"7".repeat(12), &rest), Verdict::NotApplicable);
        assert_eq!(check(&"7".repeat(18), &rest[7..]), Verdict::NotApplicable);
        assert_eq!(check(&"7".repeat(18), &format!("{rest}.x")), Verdict::NotApplicable);
        assert_eq!(check("", ""), Verdict::NotApplicable);
    }

    #[test]
    fn jfrog_tokens() {
        let check = |text: &str| Checksum::JfrogReference.verify(base64(text).as_bytes());
        assert_eq!(check("reftkn:01:1700000000:aaaaaaaaaaaaaaaaaaaaaaaaaaa"), Verdict::Valid);
        for wrong in ["reftkn:x:1:a", "reftkn:1:x:a", "reftkn:1::a", "reftkn:1:2:", "reftkn::"] {
            assert_eq!(check(wrong), Verdict::Invalid, "{wrong}");
        }
        assert_eq!(check("reftkx:01:17:a"), Verdict::NotApplicable);
        let key = |text: &str| Checksum::JfrogApiKey.verify(text.as_bytes());
        assert_eq!(key(&format!("AKCp{}", "8".repeat(69))), Verdict::Plausible);
        assert_eq!(key(&format!("AKCp{}0", "8".repeat(68))), Verdict::Invalid);
        assert_eq!(key(&format!("AKCp{}", "8".repeat(68))), Verdict::NotApplicable);
    }

    #[test]
    fn shared_access_signatures() {
        let check = |text: &str| Checksum::AzureSasSignature.verify(text.as_bytes());
        let start = "a".repeat(41);
        assert_eq!(check(&format!("{start}+A=")), Verdict::Plausible);
        assert_eq!(check(&format!("{start}%2bA%3D")), Verdict::Plausible);
        assert_eq!(check(&format!("{start}+B=")), Verdict::Invalid);
        for other in ["A=", "+A", "%", "%2", "%zzA=", "", "AAA%3D"] {
            assert_eq!(check(&format!("{start}{other}")), Verdict::NotApplicable, "{other}");
        }
        assert_eq!(check(&"a".repeat(1_000)), Verdict::NotApplicable);
    }

    #[test]
    fn sendgrid_lengths() {
        let check = |id: &str, secret: &str| {
            Checksum::Sendgrid.verify(format!("SG.{id}.{secret}").as_bytes())
        };
        let (id, secret) = ("a".repeat(21) + "A", "a".repeat(42) + "A");
        assert_eq!(check(&id, &secret), Verdict::Plausible);
        assert_eq!(check(&id, &"a".repeat(42)), Verdict::NotApplicable);
        assert_eq!(check(&"a".repeat(22), &secret), Verdict::NotApplicable);
        assert_eq!(check("", ""), Verdict::NotApplicable);
    }

    #[test]
    fn aws_accounts() {
        let check = |id: &str| Checksum::AwsKeyId.verify(format!("AKIA{id}").as_bytes());
        // aws_account_id: 000000000000, 999999999999, 1000000000000
        assert_eq!(check(&"A".repeat(16)), Verdict::Plausible);
        assert_eq!(check(&format!("{AWS_LARGEST}AAAAAA")), Verdict::Plausible);
        assert_eq!(check(&format!("{AWS_TOO_LARGE}AAAAAA")), Verdict::NotApplicable);
        assert_eq!(check(&"7".repeat(16)), Verdict::NotApplicable);
        assert_eq!(check(&"1".repeat(16)), Verdict::NotApplicable);
        assert_eq!(check(""), Verdict::NotApplicable);
    }

    const AWS_LARGEST: &str = "ORVFFB77QA";
    const AWS_TOO_LARGE: &str = "ORVFFCAAAA";
}
