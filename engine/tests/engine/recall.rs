//! Every example of every embedded rule is found wherever it stands, and no counter-example is.

use crate::support::{
    assert_same, examples_of, expand_all, recognises, scan_in_pieces, scan_whole,
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

#[test]
fn a_valid_checksum_makes_certain_and_a_wrong_one_low() {
    let (engine, examples) = expand_all();
    let mut scratch = engine.scratch().unwrap();
    let mut checked = 0;
    for example in examples.iter().filter(|example| example.rule.checksum.is_some()) {
        let seen = scan_whole(&engine, &mut scratch, &example.bytes);
        let seen = seen.iter().find(|seen| seen.rule == example.rule.id).unwrap();
        if seen.confidence != Confidence::Certain {
            continue;
        }
        checked += 1;
        // Alone, so that no other rule has a say.
        let mut wrong = seen.secret.clone();
        wrong[15] = if wrong[15] == b'Q' { b'R' } else { b'Q' };
        let wrong = scan_whole(&engine, &mut scratch, &wrong);
        let confidence = wrong.iter().find(|seen| seen.rule == example.rule.id).unwrap().confidence;
        assert_eq!(confidence, Confidence::Low, "{}", example.rule.id);
    }
    assert!(checked >= 4, "only {checked} examples carry a checksum");
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
