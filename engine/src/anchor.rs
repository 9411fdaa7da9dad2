//! Anchors: the literals that every match of a regex must contain, derived from its syntax tree.
//!
//! The literal database looks only for anchors, so this derivation must be sound: a rule's match without
//! one of its anchors would be a secret missed. It may be loose the other way: an anchor without a match
//! costs a look by the regex. Of the sets that a regex offers, the one that is expected to hit least wins.
//!
//! Sets are bounded by `limits`; the recursion by the nesting limit of the regex parser.

use regex_syntax::hir::{Class, ClassBytesRange, Hir, HirKind, Repetition};

use crate::limits::{LITERAL_LEN_MAX, LITERAL_LEN_MIN, LITERALS_PER_RULE_MAX, MATCH_LEN_MAX};
use crate::vectorscan::Literal;

/// Literals of which each match contains at least one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AnchorSet {
    /// Unique literals of `LITERAL_LEN_MIN` to `LITERAL_LEN_MAX` bytes.
    pub(crate) literals: Vec<Literal>,
    /// Least number of bytes between the start of a match and the literal in it.
    pub(crate) lead_min: usize,
    /// The most; at most `MATCH_LEN_MAX`.
    pub(crate) lead_max: usize,
}

impl AnchorSet {
    /// The set for literals that a rule's author names: they may stand anywhere in the match.
    pub(crate) fn anywhere(texts: &[String], match_len_max: usize) -> Self {
        let literals = texts
            .iter()
            .map(|text| Literal { bytes: text.to_ascii_lowercase().into_bytes(), caseless: true })
            .map(cut)
            .collect();
        Self { literals, lead_min: 0, lead_max: match_len_max }
    }
}

/// The best anchors of a regex, or `None` if it can match without any literal that is long enough.
pub(crate) fn derive(hir: &Hir) -> Option<AnchorSet> {
    let facts = examine(hir);
    let whole = facts.exact.and_then(|strings| Candidate::new(strings, 0, Some(0)));
    better(whole, facts.best).map(|candidate| AnchorSet {
        lead_min: candidate.lead_min.min(MATCH_LEN_MAX),
        lead_max: candidate.lead_max.unwrap_or(MATCH_LEN_MAX).min(MATCH_LEN_MAX),
        literals: candidate.literals,
    })
}

/// What is known of a part of the regex.
struct Facts {
    /// All strings that the part can match, if they are few.
    exact: Option<Vec<Literal>>,
    /// The best set that a match of the part must contain.
    best: Option<Candidate>,
}

/// A usable set with its lead relative to the part it was found in.
#[derive(Clone)]
struct Candidate {
    literals: Vec<Literal>,
    lead_min: usize,
    lead_max: Option<usize>,
    /// Expected hits a byte of input.
    rate: f64,
}

impl Candidate {
    /// `None` unless each string is long enough to be an anchor.
    fn new(strings: Vec<Literal>, lead_min: usize, lead_max: Option<usize>) -> Option<Self> {
        if strings.is_empty() || strings.iter().any(|s| s.bytes.len() < LITERAL_LEN_MIN) {
            return None;
        }
        let (literals, offset) = match <[Literal; 1]>::try_from(strings) {
            Ok([single]) => rarest_part(&single),
            Err(strings) => (distinct(strings), 0),
        };
        let rate = literals.iter().map(expected_rate).sum();
        let found = Self { literals, lead_min, lead_max, rate };
        Some(found.shifted(offset, Some(offset)))
    }

    /// What a hit costs, times how often it comes.
    fn cost(&self) -> f64 {
        // A fixed lead lets the regex start at one place; else it may have to at each of many.
        let spread = self.lead_max.unwrap_or(MATCH_LEN_MAX).saturating_sub(self.lead_min);
        let starts = 1 + spread.min(MATCH_LEN_MAX);
        f64::from(u32::try_from(starts).expect("MATCH_LEN_MAX fits 32 bits")) * self.rate
    }

    fn shifted(mut self, min: usize, max: Option<usize>) -> Self {
        self.lead_min = self.lead_min.saturating_add(min);
        self.lead_max = self.lead_max.zip(max).map(|(lead, more)| lead.saturating_add(more));
        self
    }
}

fn better(one: Option<Candidate>, other: Option<Candidate>) -> Option<Candidate> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if other.cost() < one.cost() { other } else { one }),
        (one, other) => one.or(other),
    }
}

fn examine(hir: &Hir) -> Facts {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Facts { exact: Some(vec![empty()]), best: None },
        HirKind::Literal(literal) => Facts {
            exact: Some(vec![Literal { bytes: literal.0.to_vec(), caseless: false }]),
            best: None,
        },
        HirKind::Class(class) => Facts { exact: class_strings(class), best: None },
        HirKind::Capture(capture) => examine(&capture.sub),
        HirKind::Repetition(repetition) => examine_repetition(repetition),
        HirKind::Concat(parts) => examine_concat(parts),
        HirKind::Alternation(parts) => examine_alternation(parts),
    }
}

fn examine_repetition(repetition: &Repetition) -> Facts {
    let sub = examine(&repetition.sub);
    if repetition.min == 0 {
        let mut exact = sub.exact.filter(|_| repetition.max == Some(1));
        if let Some(strings) = &mut exact {
            strings.push(empty());
        }
        return Facts { exact, best: None };
    }
    let whole = sub.exact.clone().and_then(|strings| Candidate::new(strings, 0, Some(0)));
    let mut exact = sub.exact.clone().filter(|_| repetition.max == Some(repetition.min));
    for _ in 1..repetition.min {
        exact = exact.zip(sub.exact.as_ref()).and_then(|(left, right)| product(&left, right));
        if exact.is_none() {
            break;
        }
    }
    // What one round must contain, the first round contains.
    Facts { exact, best: better(whole, sub.best) }
}

fn examine_alternation(parts: &[Hir]) -> Facts {
    let parts: Vec<Facts> = parts.iter().map(examine).collect();
    let mut exact = Some(Vec::new());
    for part in &parts {
        exact = exact.zip(part.exact.as_ref()).and_then(|(mut all, strings)| {
            all.extend_from_slice(strings);
            (all.len() <= LITERALS_PER_RULE_MAX).then_some(all)
        });
    }
    Facts { exact, best: join(parts) }
}

/// A set for an alternation needs one from each branch.
fn join(parts: Vec<Facts>) -> Option<Candidate> {
    let mut literals = Vec::new();
    let (mut lead_min, mut lead_max) = (usize::MAX, Some(0));
    for part in parts {
        let whole = part.exact.and_then(|strings| Candidate::new(strings, 0, Some(0)));
        let branch = better(whole, part.best)?;
        literals.extend(branch.literals);
        lead_min = lead_min.min(branch.lead_min);
        lead_max = lead_max.zip(branch.lead_max).map(|(one, other): (usize, usize)| one.max(other));
    }
    if literals.len() > LITERALS_PER_RULE_MAX {
        return None;
    }
    Candidate::new(literals, lead_min, lead_max)
}

fn examine_concat(parts: &[Hir]) -> Facts {
    let mut best = None;
    let mut all_exact = true;
    // The strings of the current run of parts, and how far before the run the match may start.
    let (mut run, mut run_min, mut run_max) = (vec![empty()], 0_usize, Some(0_usize));
    let (mut min, mut max) = (0_usize, Some(0_usize));
    for part in flatten(parts) {
        let facts = examine(part);
        let joined = facts.exact.as_ref().and_then(|strings| product(&run, strings));
        let properties = part.properties();
        let (part_min, part_max) =
            (properties.minimum_len().unwrap_or(0), properties.maximum_len());
        if let Some(joined) = joined {
            run = joined;
        } else {
            all_exact = false;
            best = better(best, Candidate::new(run, run_min, run_max));
            best = better(best, facts.best.map(|found| found.shifted(min, max)));
            (run, run_min, run_max) = match facts.exact {
                Some(strings) => (strings, min, max),
                None => (vec![empty()], min + part_min, add(max, part_max)),
            };
        }
        (min, max) = (min.saturating_add(part_min), add(max, part_max));
    }
    if all_exact {
        return Facts { exact: Some(run), best };
    }
    Facts { exact: None, best: better(best, Candidate::new(run, run_min, run_max)) }
}

/// The parts of a concatenation with the concatenations inside its groups opened up, so that a literal
/// can run across the start or the end of a group.
fn flatten(parts: &[Hir]) -> Vec<&Hir> {
    let mut flat = Vec::with_capacity(parts.len());
    for part in parts {
        let inner = if let HirKind::Capture(capture) = part.kind() { &capture.sub } else { part };
        match inner.kind() {
            HirKind::Concat(parts) => flat.extend(flatten(parts)),
            _ => flat.push(inner),
        }
    }
    flat
}

fn add(one: Option<usize>, other: Option<usize>) -> Option<usize> {
    one.zip(other).map(|(one, other)| one.saturating_add(other))
}

/// Each string of `left` followed by each of `right`, unless they are too many or too long.
fn product(left: &[Literal], right: &[Literal]) -> Option<Vec<Literal>> {
    if left.len().checked_mul(right.len())? > LITERALS_PER_RULE_MAX {
        return None;
    }
    let mut strings = Vec::with_capacity(left.len() * right.len());
    for head in left {
        for tail in right {
            let caseless = head.caseless || tail.caseless;
            let mut bytes = [&*head.bytes, &*tail.bytes].concat();
            // A long string is a poor reason to multiply its memory: only its start becomes an anchor.
            if bytes.len() > 4 * LITERAL_LEN_MAX {
                return None;
            }
            if caseless {
                bytes.make_ascii_lowercase();
            }
            strings.push(Literal { bytes, caseless });
        }
    }
    Some(strings)
}

/// The members of a small class; a letter in both cases becomes one caseless member.
fn class_strings(class: &Class) -> Option<Vec<Literal>> {
    const CLASS_LEN_MAX: usize = 16;
    let Class::Bytes(class) = class else { return None };
    let ranges = class.ranges();
    let len: usize = ranges.iter().map(ClassBytesRange::len).sum();
    if len == 0 || len > CLASS_LEN_MAX {
        return None;
    }
    let contains = |byte: u8| ranges.iter().any(|r| (r.start()..=r.end()).contains(&byte));
    let members = ranges.iter().flat_map(|range| range.start()..=range.end());
    let strings = members.filter_map(|byte| {
        let other = byte ^ 0x20;
        let caseless = byte.is_ascii_alphabetic() && contains(other);
        let duplicate = caseless && byte.is_ascii_uppercase();
        (!duplicate).then(|| Literal { bytes: vec![byte], caseless })
    });
    Some(strings.collect())
}

fn empty() -> Literal {
    Literal { bytes: Vec::new(), caseless: false }
}

/// The shortened strings without those that begin with another one.
fn distinct(strings: Vec<Literal>) -> Vec<Literal> {
    let mut literals: Vec<Literal> = strings.into_iter().map(cut).collect();
    literals.sort();
    literals.dedup();
    let covers = |one: &Literal, other: &Literal| match other.bytes.get(..one.bytes.len()) {
        Some(start) if one.caseless => start.eq_ignore_ascii_case(&one.bytes),
        Some(start) => !other.caseless && start == one.bytes,
        None => false,
    };
    let is_covered =
        |literal: &Literal| literals.iter().any(|other| other != literal && covers(other, literal));
    let (kept, _): (Vec<Literal>, Vec<Literal>) =
        literals.iter().cloned().partition(|literal| !is_covered(literal));
    kept
}

/// The part of a single string that is expected to occur least, and where in the string it begins. The
/// strings of a larger set are cut to their starts instead, which lets them share literals.
fn rarest_part(string: &Literal) -> (Vec<Literal>, usize) {
    let len = string.bytes.len().min(LITERAL_LEN_MAX);
    let part = |offset: usize| {
        let bytes = string.bytes[offset..offset + len].to_vec();
        cut(Literal { bytes, caseless: string.caseless })
    };
    let rate = |offset: &usize| expected_rate(&part(*offset));
    let offsets = 0..=string.bytes.len() - len;
    let best = offsets.min_by(|one, other| rate(one).total_cmp(&rate(other))).unwrap_or(0);
    (vec![part(best)], best)
}

/// Shortens a string to what the literal database takes. Its start is still in every match.
fn cut(mut literal: Literal) -> Literal {
    literal.bytes.truncate(LITERAL_LEN_MAX);
    literal.caseless &= literal.bytes.iter().any(u8::is_ascii_alphabetic);
    literal
}

/// Expected occurrences a byte of input: as if bytes were independent, but for letters alone no less than
/// what a word comes to in source text.
fn expected_rate(literal: &Literal) -> f64 {
    const WORD_RATE_MIN: f64 = 1e-6;
    let rate = |&byte: &u8| {
        let other = if literal.caseless { byte_rate(byte.to_ascii_uppercase()) } else { 0.0 };
        byte_rate(byte) + if byte.is_ascii_alphabetic() { other } else { 0.0 }
    };
    let product: f64 = literal.bytes.iter().map(rate).product();
    let is_word = |byte: &u8| byte.is_ascii_lowercase() || *byte == b'_';
    if literal.bytes.iter().all(is_word) { product.max(WORD_RATE_MIN) } else { product }
}

/// Rough share of each kind of byte in source text.
fn byte_rate(byte: u8) -> f64 {
    match byte {
        b' ' => 0.15,
        b'e' | b't' => 0.06,
        b'a' | b'i' | b'n' | b'o' | b'r' | b's' => 0.045,
        b'c' | b'd' | b'l' | b'p' | b'u' | b'm' | b'f' => 0.025,
        b'\n' | b'\t' | b'_' | b'0' => 0.02,
        b'b' | b'g' | b'h' | b'v' | b'x' | b'y' | b'w' | b'k' | b'(' | b')' | b',' | b';'
        | b'-' | b'=' | b'*' | b'.' | b'"' | b'/' | b':' => 0.012,
        b'1'..=b'9' => 0.008,
        b'A'..=b'Z' => 0.006,
        b'j' | b'q' | b'z' | b'>' | b'<' | b'{' | b'}' | b'\'' | b'[' | b']' => 0.004,
        _ => 0.002,
    }
}
