//! What the engine's tests share: engines, scans whole and in pieces, expanded examples.

use engine::{
    Confidence, Decision, Engine, Finding, FingerprintKey, Rule, Scratch, embedded_rules, expand,
    parse_rules,
};

/// A finding as the tests compare it, with the secret's bytes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) rule: String,
    pub(crate) offset: usize,
    pub(crate) length: usize,
    pub(crate) line: u64,
    pub(crate) end_line: u64,
    pub(crate) column: u64,
    pub(crate) confidence: Confidence,
    pub(crate) secret: Vec<u8>,
}

/// One expanded example of one rule.
#[derive(Debug)]
pub(crate) struct Example {
    pub(crate) rule: Rule,
    pub(crate) bytes: Vec<u8>,
}

pub(crate) fn engine_of(rules: &str) -> Engine {
    Engine::new(parse_rules("test.toml", rules).unwrap(), FingerprintKey::new(&[7; 32])).unwrap()
}

fn seen(engine: &Engine, finding: &Finding, secret: &[u8]) -> Seen {
    assert_eq!(usize::try_from(finding.length).unwrap(), secret.len());
    Seen {
        rule: engine.rule(finding.rule).id.clone(),
        offset: usize::try_from(finding.offset).unwrap(),
        length: secret.len(),
        line: finding.line,
        end_line: finding.end_line,
        column: finding.column,
        confidence: finding.confidence,
        secret: secret.to_vec(),
    }
}

pub(crate) fn scan_whole(engine: &Engine, scratch: &mut Scratch, bytes: &[u8]) -> Vec<Seen> {
    let mut found = Vec::new();
    engine.scan(scratch).chunk(bytes, true, &mut |finding, secret| {
        found.push(seen(engine, finding, secret.expose()));
    });
    for seen in &found {
        assert_eq!(seen.secret, bytes[seen.offset..seen.offset + seen.length]);
    }
    found.sort_by(|one, other| (one.offset, &one.rule).cmp(&(other.offset, &other.rule)));
    found
}

/// Whether the rule takes something in `bytes` for a secret, even if another rule says it better.
pub(crate) fn recognises(engine: &Engine, scratch: &mut Scratch, bytes: &[u8], rule: &str) -> bool {
    let mut recognised = false;
    let mut observe = |decision: &Decision| {
        let kept = decision.judgement.confidence.is_some();
        recognised |= kept && engine.rule(decision.rule).id == rule;
    };
    let mut reported = 0;
    engine.scan(scratch).observed_by(&mut observe).chunk(bytes, true, &mut |_, _| reported += 1);
    assert!(!recognised || reported > 0, "what one rule recognises, some rule reports");
    recognised
}

/// Scans with pieces of the given sizes, in turn.
pub(crate) fn scan_in_pieces(
    engine: &Engine,
    scratch: &mut Scratch,
    bytes: &[u8],
    sizes: &[usize],
) -> Vec<Seen> {
    let mut found = Vec::new();
    let mut scan = engine.scan(scratch);
    let mut sizes = sizes.iter().cycle();
    let (mut from, mut to) = (0, 0);
    loop {
        to = bytes.len().min(to + sizes.next().unwrap());
        let last = to == bytes.len();
        let kept = scan.chunk(&bytes[from..to], last, &mut |finding, secret| {
            found.push(seen(engine, finding, secret.expose()));
        });
        assert!(kept <= engine.overlap_max());
        from = to - kept;
        if last {
            break;
        }
    }
    found.sort_by(|one, other| (one.offset, &one.rule).cmp(&(other.offset, &other.rule)));
    found
}

/// The engine of the embedded rules and all their examples.
pub(crate) fn expand_all() -> (Engine, Vec<Example>) {
    let rules = embedded_rules().unwrap();
    let examples = rules.iter().flat_map(|rule| examples_of(rule, false)).collect();
    (Engine::new(rules, FingerprintKey::new(&[7; 32])).unwrap(), examples)
}

pub(crate) fn examples_of(rule: &Rule, counter: bool) -> Vec<Example> {
    let templates = if counter { &rule.counter_examples } else { &rule.examples };
    let expand_one = |(seed, template): (usize, &String)| Example {
        rule: rule.clone(),
        bytes: expand(template, seed as u64 + 1, rule.checksum)
            .unwrap_or_else(|error| panic!("{}: {error}", rule.id)),
    };
    templates.iter().enumerate().map(expand_one).collect()
}

/// Fails with what is in only one of two results; whole results are too long to read.
pub(crate) fn assert_same(one: &[Seen], other: &[Seen], what: &str) {
    let only = |these: &[Seen], those: &[Seen]| -> Vec<String> {
        let missing = these.iter().filter(|seen| !those.contains(seen));
        missing.map(|seen| format!("{} {}+{}", seen.rule, seen.offset, seen.length)).collect()
    };
    let (first, second) = (only(one, other), only(other, one));
    assert!(one == other, "{what}: only in the first {first:?}, only in the second {second:?}");
}
