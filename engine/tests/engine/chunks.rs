//! Chunk size never changes the findings, and a scan agrees with a naive scanner that has no prefilter.

use crate::support::{Seen, assert_same, engine_of, expand_all, scan_in_pieces, scan_whole};
use proptest::prelude::*;

/// Rules with what makes chunking hard: a variable lead, an unbounded match, keywords, overlaps.
const RULES: &str = r#"
provider = "Test"
[[rules]]
id = "fixed"
description = "fixed length, fixed lead"
regex = '''\b(tok_[a-z0-9]{8})\b'''
confidence = "high"
[[rules]]
id = "lead"
description = "variable lead"
regex = '''[a-z]{0,12}[0-9]{2}-key=([a-z0-9]{4,20})'''
confidence = "medium"
[[rules]]
id = "keyword"
description = "needs a word nearby"
regex = '''\bval:[0-9a-f]{6}\b'''
keywords = ["acme"]
confidence = "medium"
[[rules]]
id = "block"
description = "unbounded"
regex = '''BEGIN\n([a-z\n]+)\nEND'''
confidence = "high"
[[rules]]
id = "line"
description = "line anchors"
regex = '''^pwd:[^\n]{1,30}$'''
confidence = "low"
[[rules]]
id = "wide"
description = "may hold many findings of other rules, which beat it"
regex = '''wrap\[([^\]]+)\]'''
confidence = "low"
"#;

/// Pieces that nearly or fully match the rules, so that random inputs are dense with hits.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z0-9 \n=_-]{0,12}",
        "tok_[a-z0-9]{7,9}",
        "[a-z]{0,14}[0-9]{1,2}-key=[a-z0-9]{0,22}",
        "val:[0-9a-f]{6}",
        Just("wrap[".to_owned()),
        Just(" # lapwing:allow\n".to_owned()),
        Just("]".to_owned()),
        Just("acme ".to_owned()),
        Just("ACME".to_owned()),
        Just("BEGIN\n".to_owned()),
        Just("\nEND".to_owned()),
        "(pwd:)?pwd:[ -~]{0,32}\n",
        "[ \n]{200,300}",
        Just("tok_".repeat(20)),
    ]
}

fn line_around(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    text[start..].lines().next().unwrap_or_default()
}

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(piece(), 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn chunk_size_never_changes_the_findings(
        text in text(),
        sizes in proptest::collection::vec(1_usize..700, 1..8),
    ) {
        let engine = engine_of(RULES);
        let mut scratch = engine.scratch().unwrap();
        let whole = scan_whole(&engine, &mut scratch, text.as_bytes());
        let pieces = scan_in_pieces(&engine, &mut scratch, text.as_bytes(), &sizes);
        prop_assert_eq!(whole, pieces);
    }

    #[test]
    fn the_prefilter_misses_nothing_that_a_regex_finds(text in text()) {
        let engine = engine_of(RULES);
        let mut scratch = engine.scratch().unwrap();
        let found = scan_whole(&engine, &mut scratch, text.as_bytes());
        let naive = regex_automata::meta::Regex::new(r"(?-u)\b(tok_[a-z0-9]{8})\b").unwrap();
        for expected in naive.find_iter(&text) {
            if line_around(&text, expected.start()).contains("lapwing:allow") {
                continue;
            }
            prop_assert!(
                found.iter().any(|seen| seen.rule == "fixed" && seen.offset == expected.start()),
                "missed {:?}", expected
            );
        }
    }
}

#[test]
fn embedded_rules_do_not_depend_on_chunk_size() {
    let (engine, examples) = expand_all();
    let mut scratch = engine.scratch().unwrap();
    let mut text = Vec::new();
    for example in &examples {
        text.extend_from_slice(&example.bytes);
        text.push(b'\n');
    }
    let whole = scan_whole(&engine, &mut scratch, &text);
    assert!(whole.len() >= engine.rules().len(), "every rule is found at least once");
    for size in [997, 4096, 40_000, 1 << 20] {
        let pieces = scan_in_pieces(&engine, &mut scratch, &text, &[size]);
        assert_same(&whole, &pieces, &format!("size {size}"));
    }
}

#[test]
fn a_log_that_is_full_loses_nothing() {
    let engine = engine_of(RULES);
    let mut scratch = engine.scratch().unwrap();
    let mut text = b"tok_".repeat(300_000);
    let token = b" tok_abcdefgh ";
    text.extend_from_slice(token);
    text.extend(b"tok_".repeat(300_000));
    let found = scan_whole(&engine, &mut scratch, &text);
    assert!(found.iter().any(|seen: &Seen| seen.offset == 1_200_001 && seen.length == 12));
    let pieces = scan_in_pieces(&engine, &mut scratch, &text, &[300_001]);
    assert_same(&found, &pieces, "in pieces");
}

#[test]
fn more_findings_than_can_be_held_back_are_all_reported() {
    let engine = engine_of(RULES);
    let mut scratch = engine.scratch().unwrap();
    let text = b"tok_abcdefgh\n".repeat(5_000);
    let found = scan_whole(&engine, &mut scratch, &text);
    assert_eq!(found.len(), 5_000);
    assert!(found.iter().enumerate().all(|(index, seen)| seen.line == index as u64 + 1));
    let pieces = scan_in_pieces(&engine, &mut scratch, &text, &[64]);
    assert_same(&found, &pieces, "in pieces");
}

/// A finding that is settled and reported must still beat one that is open for longer.
#[test]
fn a_wide_finding_loses_to_one_that_was_settled_long_before() {
    let engine = engine_of(RULES);
    let mut scratch = engine.scratch().unwrap();
    let filler = "x".repeat(10_000);
    let text = format!("wrap[ tok_abcdefgh {filler}] tok_12345678 ");
    let found = scan_whole(&engine, &mut scratch, text.as_bytes());
    assert_eq!(found.iter().filter(|seen| seen.rule == "wide").count(), 0);
    assert_eq!(found.len(), 2);
    for size in [1, 100, 9_000] {
        let pieces = scan_in_pieces(&engine, &mut scratch, text.as_bytes(), &[size]);
        assert_same(&found, &pieces, "in pieces");
    }
}

#[test]
fn nothing_is_found_across_a_gap() {
    let engine = engine_of(RULES);
    let mut scratch = engine.scratch().unwrap();
    let mut seen = Vec::new();
    let mut scan = engine.scan(&mut scratch);
    scan.gap(b"\ntok_abcd", 100, &mut |finding, _| seen.push((finding.offset, finding.line)));
    scan.gap(b"efgh tok_abcdefgh\n", 1 << 40, &mut |finding, _| {
        seen.push((finding.offset, finding.line));
    });
    scan.chunk(b"tok_abcdefgh", true, &mut |finding, _| seen.push((finding.offset, finding.line)));
    assert_eq!(seen, [(114, 2), (127 + (1 << 40), 3)]);
}
