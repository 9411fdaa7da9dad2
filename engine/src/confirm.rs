//! Confirmation: does a rule's regex match around a hit of one of its anchors, and where is the secret?
//!
//! The answer depends only on bytes within the engine's reach of the hit, and on where the rule's last
//! finding ended. The regex looks at context outside its range (`\b`, `^`, `$`) but never matches there.

use std::ops::Range;

use regex_automata::util::primitives::NonMaxUsize;
use regex_automata::{Anchored, Input};

use crate::engine::{Engine, Target};
use crate::limits::ANCHORED_STARTS_MAX;
use crate::scan::Chunk;
use crate::scratch::Memory;

/// A match, as indices into the chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Match {
    pub(crate) whole: Range<usize>,
    /// Never empty, within `whole`.
    pub(crate) secret: Range<usize>,
}

/// What to look for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Suspicion {
    /// The rule, and how far into a match its literal stands.
    pub(crate) target: Target,
    /// Where the literal begins.
    pub(crate) start: usize,
    /// Where a match may begin at the earliest.
    pub(crate) skip: usize,
}

/// Finds the leftmost match that contains the literal where the target says, and does not begin within
/// the rule's last finding.
pub(crate) fn confirm(
    engine: &Engine,
    memory: &mut Memory,
    chunk: Chunk<'_>,
    suspicion: Suspicion,
) -> Option<Match> {
    let Suspicion { target, start, skip } = suspicion;
    let rule = engine.compiled(target.rule);
    let resume = memory.resume(target.rule).saturating_sub(chunk.base);
    let resume = usize::try_from(resume).expect("a finding's end is in memory").max(skip);
    let latest = start.checked_sub(target.lead_min as usize)?;
    let mut from = start.saturating_sub(target.lead_max as usize).max(resume);
    if target.lead_min == target.lead_max && from != latest {
        return None;
    }
    let group = rule.rule.secret_group;
    let regex = rule.regex();
    let to = chunk.bytes.len().min(latest + rule.match_len_max);
    // An anchored search ends where no match can come any more, an unanchored one looks at all of the
    // range: few starts are best tried one by one.
    let few = latest.saturating_sub(from) < ANCHORED_STARTS_MAX;
    let anchored = if few { Anchored::Yes } else { Anchored::No };
    while from <= latest {
        let (cache, slots) = memory.search(target.rule, regex, 2 * (group + 1));
        let input = Input::new(chunk.bytes).range(from..to).anchored(anchored);
        let found = regex.search_slots_with(cache, &input, slots).and_then(|_| range(slots, 0));
        let Some(whole) = found else {
            if few {
                from += 1;
                continue;
            }
            return None;
        };
        if whole.start > latest {
            return None;
        }
        let secret = range(slots, group).filter(|secret| !secret.is_empty());
        if whole.end > start
            && let Some(secret) = secret
        {
            return Some(Match { whole, secret });
        }
        // The match ends before the literal, or has no secret: it was, or is, another hit's business.
        from = whole.end.max(from + 1);
    }
    None
}

fn range(slots: &[Option<NonMaxUsize>], group: usize) -> Option<Range<usize>> {
    Some(slots[2 * group]?.get()..slots[2 * group + 1]?.get())
}
