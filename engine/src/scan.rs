//! The scan of one input, handed over in chunks of any size.
//!
//! A scan is a fold over the hits of the literal database in the order of their ends, each seen with all
//! the bytes that can matter to it. What a chunk's end cuts off is left for the next chunk, which begins
//! with those bytes again. So the size of the chunks never changes what is found.
//!
//! Findings that overlap are settled before they are reported: one that overlaps another of higher
//! confidence is dropped, and so is one that stands within another, or says the same as another rule. Bounds: `limits::CANDIDATES_MAX` findings held back, blocks of
//! `limits::BLOCK_LEN_MAX` bytes.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;

use crate::confirm::{Match, Suspicion, confirm};
use crate::engine::Engine;
use crate::finding::{Confidence, Finding, RuleIndex, Secret};
use crate::judge::{Judgement, judge};
use crate::limits::{BLOCK_LEN_MAX, BLOCK_LEN_MIN, CANDIDATES_MAX, LITERAL_LEN_MAX};
use crate::line::LineCounter;
use crate::redact::Redacted;
use crate::scratch::{Memory, Scratch};
use crate::vectorscan::{Hit, Outcome};

/// Takes findings as they are settled, in the order of their offsets wherever they are close together.
pub type Sink<'s> = dyn FnMut(&Finding, Secret<'_>) + 's;

/// Is told of every match that a regex confirmed, with the step of the judgement that decided about it:
/// also of those that were dropped, or that lose to a better one later.
pub type Observer<'s> = dyn FnMut(&Decision) + 's;

/// What was decided about one match.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The rule that matched.
    pub rule: RuleIndex,
    /// What was decided, and by which step.
    pub judgement: Judgement,
    /// Bytes before the secret in the input.
    pub offset: u64,
    /// Line of the secret's first byte, from 1.
    pub line: u64,
    /// What may be shown of it.
    pub redacted: Redacted,
}

/// A scan in progress; made by [`Engine::scan`].
pub struct Scan<'a> {
    engine: &'a Engine,
    scratch: &'a mut Scratch,
    /// Offset in the input of the current chunk's first byte.
    base: u64,
    /// Offset in the input up to which hits have been dealt with.
    done: u64,
    lines: LineCounter,
    finished: bool,
    observer: Option<&'a mut Observer<'a>>,
}

impl fmt::Debug for Scan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scan").field("done", &self.done).finish_non_exhaustive()
    }
}

/// A chunk with its place in the input.
#[derive(Clone, Copy)]
pub(crate) struct Chunk<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) base: u64,
}

impl Chunk<'_> {
    /// Offset in the input of an index into the chunk.
    pub(crate) fn offset(self, index: usize) -> u64 {
        self.base + index as u64
    }

    /// Index into the chunk of an offset in the input that is not behind it.
    fn index(self, offset: u64) -> usize {
        usize::try_from(offset - self.base).expect("a chunk is in memory")
    }
}

impl<'a> Scan<'a> {
    pub(crate) fn new(engine: &'a Engine, scratch: &'a mut Scratch) -> Self {
        scratch.memory.reset();
        let lines = LineCounter::new();
        Self { engine, scratch, base: 0, done: 0, lines, finished: false, observer: None }
    }

    /// Tells `observer` what is decided about each match, for people who want to know why.
    #[must_use]
    pub fn observed_by(mut self, observer: &'a mut Observer<'a>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Scans the next chunk and reports to `sink` what is settled.
    ///
    /// Returns how many bytes at the end of `bytes` the next chunk must begin with; at most
    /// [`Engine::overlap_max`]. With `last` the input ends here, and the result is 0.
    ///
    /// # Panics
    ///
    /// If called again after the last chunk, or with a chunk that lacks the bytes asked for.
    pub fn chunk(&mut self, bytes: &[u8], last: bool, sink: &mut Sink<'_>) -> usize {
        assert!(!self.finished, "the last chunk was scanned");
        let chunk = Chunk { bytes, base: self.base };
        assert!(chunk.index(self.done) <= bytes.len(), "a chunk begins with the bytes kept");
        let behind = if last { 0 } else { self.engine.reach_after };
        let ready = bytes.len().saturating_sub(behind).max(chunk.index(self.done));
        self.fold(chunk, chunk.index(self.done)..ready, sink);
        self.done = chunk.offset(ready);
        if last {
            self.finished = true;
            self.settle(chunk, u64::MAX, sink);
            return 0;
        }
        self.settle(chunk, self.done, sink);
        let keep = self.keep_from(chunk, ready);
        self.lines.forget(&bytes[..keep]);
        self.base += keep as u64;
        bytes.len() - keep
    }

    /// Ends the input here and goes on `gap` bytes later, as over a hole in a file: nothing is found
    /// across it. `bytes` is the last chunk before the gap. Lines are counted as if it had none.
    pub fn gap(&mut self, bytes: &[u8], gap: u64, sink: &mut Sink<'_>) {
        let chunk = Chunk { bytes, base: self.base };
        self.chunk(bytes, true, sink);
        self.finished = false;
        self.lines.forget(bytes);
        self.base = chunk.offset(bytes.len()) + gap;
        self.done = self.base;
        self.lines.skip(gap);
    }

    /// First index of the chunk that a later hit, or a finding not yet settled, may still need.
    fn keep_from(&self, chunk: Chunk<'_>, ready: usize) -> usize {
        let first = self.scratch.memory.candidates.iter().map(|held| held.finding.offset).min();
        let first = first.map_or(usize::MAX, |offset| chunk.index(offset));
        ready.saturating_sub(self.engine.reach_before).min(first)
    }

    /// Deals with the hits that end in `range`, block by block.
    fn fold(&mut self, chunk: Chunk<'_>, range: Range<usize>, sink: &mut Sink<'_>) {
        let (mut from, mut size) = (range.start, BLOCK_LEN_MAX);
        while from < range.end {
            let to = range.end.min(from + size);
            let begin = from.saturating_sub(LITERAL_LEN_MAX - 1);
            let scratch = &mut *self.scratch;
            if scratch.scanner.scan(&chunk.bytes[begin..to], &mut scratch.log) == Outcome::LogFull {
                assert!(to - from > BLOCK_LEN_MIN, "limits.rs sizes the log for the least block");
                size = ((to - from) / 2).max(BLOCK_LEN_MIN);
                continue;
            }
            for index in 0..scratch.log.sort() {
                let hit = self.scratch.log.hit(index);
                let end = begin + hit.end as usize;
                if end > from {
                    self.step(chunk, hit, end, sink);
                }
            }
            from = to;
            size = size.saturating_mul(2).min(BLOCK_LEN_MAX);
        }
    }

    /// Deals with one hit that ends at index `end` of the chunk.
    fn step(&mut self, chunk: Chunk<'_>, hit: Hit, end: usize, sink: &mut Sink<'_>) {
        let start = end - self.engine.literal_len(hit.literal);
        for target in self.engine.targets(hit.literal) {
            let mut suspicion = Suspicion { target: *target, start, skip: 0 };
            while let Some(found) = confirm(self.engine, &mut self.scratch.memory, chunk, suspicion)
            {
                let memory = &mut self.scratch.memory;
                let judgement = judge(self.engine, memory, target.rule, chunk.bytes, &found);
                if self.observer.is_some() {
                    self.tell(chunk, target.rule, &found, judgement);
                }
                let Some(confidence) = judgement.confidence else {
                    suspicion.skip = found.whole.end;
                    continue;
                };
                self.scratch.memory.set_resume(target.rule, chunk.offset(found.whole.end));
                let finding = self.describe(chunk, target.rule, &found, confidence);
                self.settle(chunk, chunk.offset(end), sink);
                self.hold(chunk, finding, sink);
                break;
            }
        }
    }

    fn tell(&mut self, chunk: Chunk<'_>, rule: RuleIndex, found: &Match, judgement: Judgement) {
        let decision = Decision {
            rule,
            judgement,
            offset: chunk.offset(found.secret.start),
            line: self.lines.locate(chunk.bytes, found.secret.start).line,
            redacted: Redacted::new(&chunk.bytes[found.secret.clone()]),
        };
        if let Some(observer) = &mut self.observer {
            observer(&decision);
        }
    }

    fn describe(
        &mut self,
        chunk: Chunk<'_>,
        rule: RuleIndex,
        found: &Match,
        confidence: Confidence,
    ) -> Finding {
        let secret = &chunk.bytes[found.secret.clone()];
        let first = self.lines.locate(chunk.bytes, found.secret.start);
        let last = self.lines.locate(chunk.bytes, found.secret.end - 1);
        Finding {
            rule,
            confidence,
            offset: chunk.offset(found.secret.start),
            length: secret.len() as u64,
            line: first.line,
            end_line: last.line,
            column: first.column,
            redacted: Redacted::new(secret),
            fingerprint: self.engine.key.fingerprint(secret),
        }
    }

    /// Holds a finding back and settles which of those that it overlaps is better. With no room left the
    /// oldest half is reported as it stands.
    fn hold(&mut self, chunk: Chunk<'_>, finding: Finding, sink: &mut Sink<'_>) {
        let candidates = &mut self.scratch.memory.candidates;
        if candidates.len() == CANDIDATES_MAX {
            candidates.sort_unstable_by_key(order);
            report(chunk, candidates, CANDIDATES_MAX / 2, sink);
        }
        let mut new = Candidate { finding, beaten: false };
        for old in &mut self.scratch.memory.candidates {
            if !overlap(old, &new) {
                continue;
            }
            match compare(&old.finding, &new.finding) {
                Ordering::Less => old.beaten = true,
                Ordering::Greater => new.beaten = true,
                Ordering::Equal => {}
            }
        }
        self.scratch.memory.candidates.push(new);
    }

    /// Reports the candidates that no match of a hit ending behind `offset` can overlap.
    fn settle(&mut self, chunk: Chunk<'_>, offset: u64, sink: &mut Sink<'_>) {
        let Memory { candidates, .. } = &mut self.scratch.memory;
        if candidates.is_empty() {
            return;
        }
        let reach = self.engine.reach_before as u64;
        candidates.sort_unstable_by_key(order);
        // A candidate is settled together with all that begin before it.
        let open = |candidate: &Candidate| candidate.end().saturating_add(reach) > offset;
        let count = candidates.iter().position(open).unwrap_or(candidates.len());
        report(chunk, candidates, count, sink);
    }
}

/// A finding that a later one may still overlap.
#[derive(Debug)]
pub(crate) struct Candidate {
    finding: Finding,
    /// Whether it overlaps one of higher confidence.
    beaten: bool,
}

impl Candidate {
    fn end(&self) -> u64 {
        self.finding.offset + self.finding.length
    }
}

fn order(candidate: &Candidate) -> (u64, u64, u32) {
    let finding = &candidate.finding;
    (finding.offset, finding.length, finding.rule.0)
}

fn overlap(one: &Candidate, other: &Candidate) -> bool {
    one.finding.offset < other.end() && other.finding.offset < one.end()
}

/// Which of two overlapping findings is better: the more confident one, else the one that holds the other.
/// Of two rules that say the same the first one does. Findings that merely touch are equal.
fn compare(one: &Finding, other: &Finding) -> Ordering {
    let range = |finding: &Finding| (finding.offset, finding.offset + finding.length);
    let ((one_start, one_end), (other_start, other_end)) = (range(one), range(other));
    let holds = match (one_start.cmp(&other_start), one_end.cmp(&other_end)) {
        (Ordering::Equal, Ordering::Equal) => other.rule.cmp(&one.rule),
        (Ordering::Less | Ordering::Equal, Ordering::Greater | Ordering::Equal) => {
            Ordering::Greater
        }
        (Ordering::Greater | Ordering::Equal, Ordering::Less | Ordering::Equal) => Ordering::Less,
        _ => Ordering::Equal,
    };
    one.confidence.cmp(&other.confidence).then(holds)
}

/// Reports the first `count` candidates that are not beaten, and forgets all of them.
fn report(chunk: Chunk<'_>, candidates: &mut Vec<Candidate>, count: usize, sink: &mut Sink<'_>) {
    for candidate in candidates.drain(..count).filter(|candidate| !candidate.beaten) {
        let finding = &candidate.finding;
        let start = chunk.index(finding.offset);
        let length = usize::try_from(finding.length).expect("a secret is in memory");
        sink(finding, Secret(&chunk.bytes[start..start + length]));
    }
}
