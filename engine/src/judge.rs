//! Judgement: is what a regex matched a secret, and how sure is that?
//!
//! Cheap tests first. A pure function of the match and the bytes around it.

use std::fmt;
use std::ops::Range;

use regex_automata::Input;

use crate::checksum::Verdict;
use crate::confirm::Match;
use crate::engine::Engine;
use crate::entropy::shannon;
use crate::finding::{Confidence, RuleIndex};
use crate::limits::{KEYWORD_RADIUS, LINE_RADIUS};
use crate::scratch::Memory;

/// Which step of the judgement decided about a match, and on what.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Step {
    /// None of the rule's keywords is near: dropped.
    NoKeyword,
    /// The secret's entropy, in bits a byte, is below the rule's: dropped.
    Entropy(f64),
    /// A regex of the rule's `allow` matches the secret: dropped.
    Allowed,
    /// A comment on its line allows it: dropped.
    AllowComment,
    /// The checksum is right: certain.
    ChecksumRight,
    /// The checksum is wrong: low.
    ChecksumWrong,
    /// Nothing spoke for or against it: the rule's own confidence.
    Unopposed,
}

/// What is decided about a match.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    /// The step that decided.
    pub step: Step,
    /// The confidence, unless the match is dropped.
    pub confidence: Option<Confidence>,
}

impl Judgement {
    fn drop(step: Step) -> Self {
        Self { step, confidence: None }
    }

    fn keep(step: Step, confidence: Confidence) -> Self {
        Self { step, confidence: Some(confidence) }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoKeyword => f.write_str("none of the rule's keywords is near"),
            Self::Entropy(bits) => write!(f, "its entropy is only {bits:.2} bits a byte"),
            Self::Allowed => f.write_str("the rule's allow-list has it"),
            Self::AllowComment => f.write_str("a comment on its line allows it"),
            Self::ChecksumRight => f.write_str("its checksum is right"),
            Self::ChecksumWrong => f.write_str("its checksum is wrong"),
            Self::Unopposed => f.write_str("nothing speaks against it"),
        }
    }
}

/// Decides about a match.
pub(crate) fn judge(
    engine: &Engine,
    memory: &mut Memory,
    index: RuleIndex,
    bytes: &[u8],
    found: &Match,
) -> Judgement {
    let compiled = engine.compiled(index);
    let rule = &compiled.rule;
    let secret = &bytes[found.secret.clone()];
    if !rule.keywords.is_empty() {
        let from = found.whole.start.saturating_sub(KEYWORD_RADIUS);
        let to = bytes.len().min(found.whole.end + KEYWORD_RADIUS);
        let near = &bytes[from..to];
        if !rule.keywords.iter().any(|keyword| contains_caseless(near, keyword.as_bytes())) {
            return Judgement::drop(Step::NoKeyword);
        }
    }
    if rule.entropy > 0.0 {
        let entropy = shannon(secret);
        if entropy < rule.entropy {
            return Judgement::drop(Step::Entropy(entropy));
        }
    }
    if let Some(allow) = compiled.allow() {
        let input = Input::new(secret).earliest(true);
        if allow.search_half_with(memory.allow_cache(index, allow), &input).is_some() {
            return Judgement::drop(Step::Allowed);
        }
    }
    if has_allow_comment(bytes, &found.whole) {
        return Judgement::drop(Step::AllowComment);
    }
    match rule.checksum.map(|checksum| checksum.verify(secret)) {
        Some(Verdict::Valid) => Judgement::keep(Step::ChecksumRight, Confidence::Certain),
        Some(Verdict::Invalid) => Judgement::keep(Step::ChecksumWrong, Confidence::Low),
        Some(Verdict::Plausible | Verdict::NotApplicable) | None => {
            Judgement::keep(Step::Unopposed, rule.confidence)
        }
    }
}

/// Words by which a comment allows the secrets on its line: ours, and those that people have in their files
/// for other scanners.
const ALLOW_COMMENTS: &[&[u8]] =
    &[b"lapwing:allow", b"gitleaks:allow", b"trufflehog:ignore", b"kingfisher:ignore"];

/// Whether the lines that a match stands on hold such a word.
fn has_allow_comment(bytes: &[u8], whole: &Range<usize>) -> bool {
    let before = &bytes[whole.start.saturating_sub(LINE_RADIUS)..whole.start];
    let before = memchr::memrchr(b'\n', before).map_or(before.len(), |at| before.len() - at - 1);
    let after = &bytes[whole.end..bytes.len().min(whole.end + LINE_RADIUS)];
    let after = memchr::memchr(b'\n', after).unwrap_or(after.len());
    let lines = &bytes[whole.start - before..whole.end + after];
    ALLOW_COMMENTS.iter().any(|word| memchr::memmem::find(lines, word).is_some())
}

/// Whether `needle` occurs in `haystack`, ASCII case ignored.
fn contains_caseless(haystack: &[u8], needle: &[u8]) -> bool {
    let (Some(first), true) = (needle.first(), needle.len() <= haystack.len()) else {
        return false;
    };
    let last_start = haystack.len() - needle.len();
    memchr::memchr2_iter(
        first.to_ascii_lowercase(),
        first.to_ascii_uppercase(),
        &haystack[..=last_start],
    )
    .any(|at| haystack[at..at + needle.len()].eq_ignore_ascii_case(needle))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_allows_its_own_line_only() {
        let text = b"a\nsecret # gitleaks:allow\nsecret\n# lapwing:allow\nsecret";
        assert!(has_allow_comment(text, &(2..8)));
        assert!(!has_allow_comment(text, &(26..32)));
        assert!(!has_allow_comment(text, &(49..55)));
        assert!(has_allow_comment(b"/* trufflehog:ignore */ secret", &(24..30)));
        assert!(!has_allow_comment(b"secret", &(0..6)));
    }

    #[test]
    fn keywords_are_found_in_any_case_and_at_either_end() {
        assert!(contains_caseless(b"DataDog", b"datadog"));
        assert!(contains_caseless(b"xxDATADOG", b"datadog"));
        assert!(!contains_caseless(b"datado", b"datadog"));
        assert!(!contains_caseless(b"", b"a"));
        assert!(!contains_caseless(b"abc", b""));
    }
}
