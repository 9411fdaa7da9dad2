//! One secret is one finding: which of two that overlap is reported.

use crate::support::{engine_of, scan_whole};

fn rules(rules: &[(&str, &str, &str)]) -> String {
    let rule = |(id, regex, confidence): &(&str, &str, &str)| {
        format!(
            "[[rules]]\nid = '{id}'\ndescription = 'd'\nregex = '''{regex}'''\n\
             confidence = '{confidence}'\n"
        )
    };
    format!("provider = 'Test'\n{}", rules.iter().map(rule).collect::<String>())
}

fn found(given: &[(&str, &str, &str)], text: &str) -> Vec<String> {
    let engine = engine_of(&rules(given));
    let mut scratch = engine.scratch().unwrap();
    let found = scan_whole(&engine, &mut scratch, text.as_bytes());
    found.into_iter().map(|seen| seen.rule).collect()
}

#[test]
fn the_more_confident_one_wins_even_if_it_is_shorter() {
    let rules = [("long", "key=([a-z0-9_]+)", "low"), ("short", "tok_[0-9]{4}", "high")];
    assert_eq!(found(&rules, "key=abc_tok_1234_def"), ["short"]);
}

#[test]
fn of_equals_the_one_that_holds_the_other_wins() {
    let rules = [("inner", "tok_[0-9]{4}", "high"), ("outer", "key=([a-z0-9_]+)", "high")];
    assert_eq!(found(&rules, "key=abc_tok_1234_def"), ["outer"]);
}

#[test]
fn of_two_rules_that_say_the_same_the_first_does() {
    let rules = [("one", "tok_[0-9]{4}", "high"), ("two", "x (tok_[0-9]{4})", "high")];
    assert_eq!(found(&rules, "x tok_1234"), ["one"]);
}

#[test]
fn equals_that_only_touch_are_both_reported() {
    let rules = [("head", "abc[0-9]{4}", "high"), ("tail", "[0-9]{2}xyz", "high")];
    assert_eq!(found(&rules, "abc1234xyz"), ["head", "tail"]);
    assert_eq!(found(&rules, "abc1234 56xyz"), ["head", "tail"]);
}
