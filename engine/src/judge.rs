//! Judgement: is what a regex matched a secret, and how sure is that?
//!
//! Cheap tests first. A pure function of the match and the bytes around it.

use regex_automata::Input;

use crate::checksum::Verdict;
use crate::confirm::Match;
use crate::engine::Engine;
use crate::entropy::shannon;
use crate::finding::{Confidence, RuleIndex};
use crate::limits::KEYWORD_RADIUS;
use crate::scratch::Memory;

/// The confidence in a match, or `None` if it is not worth reporting.
pub(crate) fn judge(
    engine: &Engine,
    memory: &mut Memory,
    index: RuleIndex,
    bytes: &[u8],
    found: &Match,
) -> Option<Confidence> {
    let compiled = engine.compiled(index);
    let rule = &compiled.rule;
    let secret = &bytes[found.secret.clone()];
    if !rule.keywords.is_empty() {
        let from = found.whole.start.saturating_sub(KEYWORD_RADIUS);
        let to = bytes.len().min(found.whole.end + KEYWORD_RADIUS);
        let near = &bytes[from..to];
        if !rule.keywords.iter().any(|keyword| contains_caseless(near, keyword.as_bytes())) {
            return None;
        }
    }
    if rule.entropy > 0.0 && shannon(secret) < rule.entropy {
        return None;
    }
    if let Some(allow) = compiled.allow() {
        let input = Input::new(secret).earliest(true);
        if allow.search_half_with(memory.allow_cache(index, allow), &input).is_some() {
            return None;
        }
    }
    match rule.checksum.map(|checksum| checksum.verify(secret)) {
        Some(Verdict::Valid) => Some(Confidence::Certain),
        Some(Verdict::Invalid) => Some(Confidence::Low),
        Some(Verdict::NotApplicable) | None => Some(rule.confidence),
    }
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
    fn keywords_are_found_in_any_case_and_at_either_end() {
        assert!(contains_caseless(b"DataDog", b"datadog"));
        assert!(contains_caseless(b"xxDATADOG", b"datadog"));
        assert!(!contains_caseless(b"datado", b"datadog"));
        assert!(!contains_caseless(b"", b"a"));
        assert!(!contains_caseless(b"abc", b""));
    }
}
