//! Every example of every embedded rule is found wherever it stands, and no counter-example is.

use crate::support::{
    Seen, assert_same, examples_of, expand_all, recognises, scan_in_pieces, scan_whole,
};
use engine::{Confidence, Engine, Scratch};

/// Ordinary text without anything that a rule looks for.
fn filler(len: usize) -> Vec<u8> {
    b"the quick brown fox jumps over a lazy dog\n".iter().copied().cycle().take(len).collect()
}

fn found(engine: &Engine, scratch: &mut Scratch, text: &[u8], rule: &str) -> usize {
    scan_whole(engine, scratch, text).iter().filter(|seen| seen.rule == rule).count()
}

#[test]
fn every_example_is_found_at_the_start_in_the_middle_and_at_the_end() {
    let (engine, examples) = expand_all();
    let mut scratch = engine.scratch().unwrap();
    let text = filler(5_000);
    for example in &examples {
        let bytes = &example.bytes;
        for (place, input) in [
            ("alone", bytes.clone()),
            ("start", [&bytes[..], b"\n", &text].concat()),
            ("middle", [&text[..], b"\n", bytes, b"\n", &text].concat()),
            ("end", [&text[..], b"\n", bytes].concat()),
        ] {
            let reported = recognises(&engine, &mut scratch, &input, &example.rule.id);
            let shown = String::from_utf8_lossy(bytes);
            assert!(reported, "{} not found ({place}) in {shown}", example.rule.id);
        }
    }
}

#[test]
fn every_example_is_found_at_every_chunk_boundary_within_it() {
    let (engine, examples) = expand_all();
    let mut scratch = engine.scratch().unwrap();
    for example in &examples {
        let text = [&filler(600)[..], b"\n", &example.bytes, b"\n", &filler(600)].concat();
        let whole = scan_whole(&engine, &mut scratch, &text);
        for boundary in (600..=602 + example.bytes.len()).step_by(1 + example.bytes.len() / 40) {
            let sizes = [boundary, text.len()];
            let pieces = scan_in_pieces(&engine, &mut scratch, &text, &sizes);
            let what = format!("{} with a boundary at {boundary}", example.rule.id);
            assert_same(&whole, &pieces, &what);
        }
    }
}

#[test]
fn no_counter_example_is_found() {
    let (engine, _) = expand_all();
    let mut scratch = engine.scratch().unwrap();
    let text = filler(1_000);
    for rule in engine.rules() {
        for example in examples_of(rule, true) {
            let input = [&text[..], b"\n", &example.bytes, b"\n", &text].concat();
            for input in [&input, &example.bytes] {
                let count = found(&engine, &mut scratch, input, &rule.id);
                let shown = String::from_utf8_lossy(&example.bytes);
                assert_eq!(count, 0, "{} is found in {shown}", rule.id);
            }
        }
    }
}

/// Rules whose algorithm proves nothing or cannot say that a token is wrong, and why.
const NEVER_CERTAIN: [(&str, &str); 7] = [
    ("artifactory-api-key", "one in a hundred alphanumeric texts is base 58"),
    ("aws-access-key-id", "nine in ten texts encode an account's number"),
    ("aws-temporary-access-key-id", "nine in ten texts encode an account's number"),
    ("azure-sas-signature", "one in four texts is the base 64 of 32 bytes"),
    ("azure-sas-token", "one in four texts is the base 64 of 32 bytes"),
    ("jwt-signed-token", "a token that anybody can write, and that is often no secret"),
    ("sendgrid-api-key", "one in 64 texts has the right lengths"),
];

#[test]
fn every_rule_with_a_checksum_is_certain_of_an_example() {
    let (engine, examples) = expand_all();
    let mut scratch = engine.scratch().unwrap();
    let mut certain: Vec<&str> = Vec::new();
    for example in &examples {
        let seen = scan_whole(&engine, &mut scratch, &example.bytes);
        let is_certain = |seen: &&Seen| seen.confidence == Confidence::Certain;
        if seen.iter().filter(is_certain).any(|seen| seen.rule == example.rule.id) {
            certain.push(&example.rule.id);
        }
    }
    let mut checked = 0;
    for rule in engine.rules().filter(|rule| rule.checksum.is_some()) {
        let exempt = NEVER_CERTAIN.iter().any(|(id, _)| *id == rule.id);
        assert_ne!(certain.contains(&&*rule.id), exempt, "{}", rule.id);
        checked += 1;
    }
    assert!(checked >= 35, "only {checked} rules have a checksum");
    for (id, _) in NEVER_CERTAIN {
        assert!(engine.rules().any(|rule| rule.id == id && rule.checksum.is_some()), "{id}");
    }
}

#[test]
fn a_wrong_checksum_makes_low() {
    let (engine, _) = expand_all();
    let mut scratch = engine.scratch().unwrap();
    let mut checked = 0;
    for rule in engine.rules() {
        let examples = examples_of(rule, false).into_iter().zip(&rule.examples);
        for (example, template) in examples.filter(|(_, text)| text.contains("%{checksum}")) {
            let seen = scan_whole(&engine, &mut scratch, &example.bytes);
            let seen = seen.iter().find(|seen| seen.rule == rule.id).unwrap();
            // Alone, so that no other rule has a say.
            let mut wrong = seen.secret.clone();
            let middle = wrong.len() / 2;
            wrong[middle] = if wrong[middle] == b'Q' { b'R' } else { b'Q' };
            let wrong = scan_whole(&engine, &mut scratch, &wrong);
            let wrong = wrong.iter().find(|seen| seen.rule == rule.id).unwrap();
            // Where a mismatch says nothing, the rule's own confidence stays.
            let says_nothing = rule.id == "azure-annotated-key" || template.contains("AzCa");
            let expected = if says_nothing { rule.confidence } else { Confidence::Low };
            assert_eq!(wrong.confidence, expected, "{}", rule.id);
            checked += 1;
        }
    }
    assert!(checked >= 40, "only {checked} examples carry a checksum");
}

#[test]
fn no_finding_shows_its_secret() {
    let (engine, examples) = expand_all();
    let mut scratch = engine.scratch().unwrap();
    for example in &examples {
        engine.scan(&mut scratch).chunk(&example.bytes, true, &mut |finding, secret| {
            let shown = format!("{finding:?} {secret:?}");
            for window in secret.expose().windows(9) {
                let Ok(part) = std::str::from_utf8(window) else { continue };
                assert!(!shown.contains(part), "{} leaks", example.rule.id);
            }
        });
    }
}
