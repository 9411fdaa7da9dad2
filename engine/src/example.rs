//! Templates: how rule files and tests write a token without anything token-shaped standing in them.
//!
//! `%{class:N}` becomes N pseudo-random characters of a class, `%{checksum}` what the rule's checksum makes
//! of the token so far, and `%{}` nothing at all: it splits what would read as a token or a key's header.
//! The same template and seed always give the same bytes. No randomness from outside.

use crate::checksum::Checksum;

/// Most characters that one placeholder makes.
const REPEAT_MAX: usize = 64 * 1024;

/// Why a template cannot be expanded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// A `%{` without its `}`.
    #[error("`%{{` without `}}` at byte {0}")]
    Unclosed(usize),
    /// A placeholder that is none of the known ones.
    #[error("unknown placeholder `%{{{0}}}`: write `%{{class:N}}`, `%{{checksum}}` or `%{{}}`")]
    Unknown(String),
    /// `%{checksum}` in a rule without one.
    #[error("`%{{checksum}}`, but the rule has no checksum")]
    NoChecksum,
}

/// Expands `template`, with pseudo-random characters that follow from `seed`.
///
/// # Errors
///
/// If the template has a placeholder that is unknown, unclosed or cannot be filled.
pub fn expand(
    template: &str,
    seed: u64,
    checksum: Option<Checksum>,
) -> Result<Vec<u8>, TemplateError> {
    let mut random = SplitMix(seed);
    let mut bytes = Vec::with_capacity(2 * template.len());
    let mut rest = template;
    while let Some(start) = rest.find("%{") {
        bytes.extend_from_slice(&rest.as_bytes()[..start]);
        let body = &rest[start + 2..];
        let end = body
            .find('}')
            .ok_or_else(|| TemplateError::Unclosed(template.len() - rest.len() + start))?;
        match &body[..end] {
            "" => {}
            "checksum" => {
                // The token began after the last byte that no token contains.
                let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.".contains(byte);
                let begin = bytes.iter().rposition(|b| !is_token(b)).map_or(0, |at| at + 1);
                let mut token = bytes.split_off(begin);
                checksum.ok_or(TemplateError::NoChecksum)?.complete(&mut token);
                bytes.append(&mut token);
            }
            placeholder => fill(placeholder, &mut random, &mut bytes)?,
        }
        rest = &body[end + 1..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    Ok(bytes)
}

fn fill(
    placeholder: &str,
    random: &mut SplitMix,
    bytes: &mut Vec<u8>,
) -> Result<(), TemplateError> {
    let unknown = || TemplateError::Unknown(placeholder.to_owned());
    let (class, count) = placeholder.split_once(':').ok_or_else(unknown)?;
    let alphabet = alphabet(class).ok_or_else(unknown)?;
    let count: usize = count.parse().map_err(|_| unknown())?;
    if count > REPEAT_MAX {
        return Err(unknown());
    }
    bytes.extend((0..count).map(|_| {
        let index = random.next() % alphabet.len() as u64;
        alphabet[usize::try_from(index).expect("an index into a short alphabet")]
    }));
    Ok(())
}

fn alphabet(class: &str) -> Option<&'static [u8]> {
    Some(match class {
        "base62" => b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        "alnum" => b"0123456789abcdefghijklmnopqrstuvwxyz",
        "alpha" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        "upper" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        "lower" => b"abcdefghijklmnopqrstuvwxyz",
        "digit" => b"0123456789",
        "hex" => b"0123456789abcdef",
        "HEX" => b"0123456789ABCDEF",
        "base32" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
        "upnum" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
        "base64" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
        "base64url" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-",
        "word" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_",
        _ => return None,
    })
}

/// `SplitMix64`: G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", 2014.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_without_placeholders_is_kept() {
        assert_eq!(expand("100% {a} %}", 1, None).unwrap(), b"100% {a} %}");
    }

    #[test]
    fn placeholders_are_filled_and_reproducible() {
        let one = expand("a-%{hex:8}-%{}z", 1, None).unwrap();
        assert_eq!(one, expand("a-%{hex:8}-%{}z", 1, None).unwrap());
        assert_ne!(one, expand("a-%{hex:8}-%{}z", 2, None).unwrap());
        assert_eq!(one.len(), 12);
        assert!(one[2..10].iter().all(|byte| b"0123456789abcdef".contains(byte)));
    }

    #[test]
    fn a_checksum_completes_the_token() {
        let checksum = Checksum::Crc32Base62;
        let text = expand("key: npm_%{base62:30}%{checksum}", 7, Some(checksum)).unwrap();
        assert_eq!(checksum.verify(&text[5..]), crate::checksum::Verdict::Valid);
    }

    #[test]
    fn mistakes_are_named() {
        let error = |template| expand(template, 1, None).unwrap_err();
        assert_eq!(error("ab%{hex"), TemplateError::Unclosed(2));
        assert_eq!(error("%{octal:3}"), TemplateError::Unknown("octal:3".to_owned()));
        assert_eq!(error("%{hex:many}"), TemplateError::Unknown("hex:many".to_owned()));
        assert_eq!(error("%{hex:99999999}"), TemplateError::Unknown("hex:99999999".to_owned()));
        assert_eq!(error("%{checksum}"), TemplateError::NoChecksum);
    }
}
