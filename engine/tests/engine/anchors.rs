//! Anchors are sound: whatever matches a rule's regex is found by way of its literals.

use crate::support::{engine_of, scan_whole};
use engine::{Engine, EngineError, FingerprintKey, parse_rules};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::string::bytes_regex;

fn file(regex: &str) -> String {
    format!(
        "provider = 'Test'\n[[rules]]\nid = 'r'\ndescription = 'd'\nregex = '''{regex}'''\n\
         confidence = 'high'\n"
    )
}

/// Shapes that the derivation has to get right.
const SHAPES: &[&str] = &[
    "abc[0-9]{4}",
    "[a-f]{0,9}abc-[0-9]",
    "(?:foo|barbaz)_[a-z]{3}",
    "(?i)secret[_-]?key=[0-9]{3}",
    "(?:ab|cd){2}[0-9]",
    "x(?:yz1)+[0-9]",
    "(?:key|token)?=>>[0-9]{2}<=",
    "[Aa]bc[01]d[0-9]{3}",
    "(?:[a-z]{3}-){2}end",
    "(?i:ABC)def[0-9]",
    "a?b?c?defg",
    "(?:ab(?:cd|ef)?gh|ijkl[0-9]?)m",
    "(?:[0-9]{2}(?:alpha|beta)|gamma[0-9])",
    "-----BEGIN OLD QUARTZ KEY-----[a-z]{3}",
    "[0-9]{2,5}(?i:the quick brown jumps)[0-9]",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_matches_is_found(seed in any::<u64>()) {
        for shape in SHAPES {
            let engine = engine_of(&file(shape));
            let mut scratch = engine.scratch().unwrap();
            let mut runner = proptest::test_runner::TestRunner::new_with_rng(
                ProptestConfig::default(),
                proptest::test_runner::TestRng::from_seed(
                    proptest::test_runner::RngAlgorithm::ChaCha,
                    &[seed.to_le_bytes(); 4].concat(),
                ),
            );
            let strategy = bytes_regex(&format!("(?-u){shape}")).unwrap();
            let text = strategy.new_tree(&mut runner).unwrap().current();
            let input = [b"-- ", &text[..], b" --"].concat();
            prop_assert!(!scan_whole(&engine, &mut scratch, &input).is_empty(), "{} in {:?}", shape, text);
        }
    }
}

#[test]
fn a_rule_without_an_anchor_is_refused_by_name() {
    for regex in ["[0-9a-f]{32}", "ab[0-9]{9}", "(?:abc|d)[0-9]", "(?:abc)?[0-9]{5}"] {
        let rules = parse_rules("no.toml", &file(regex)).unwrap();
        let error = Engine::new(rules, FingerprintKey::new(&[0; 32])).unwrap_err();
        assert!(matches!(error, EngineError::Rule(_)));
        assert!(error.to_string().starts_with("no.toml:3: rule r: the regex has no literal"));
    }
}

#[test]
fn named_anchors_stand_in_where_none_can_be_derived() {
    let rule = file("[a-z]{3,5}[0-9]{4}") + "anchors = ['foo', 'BAR']\n";
    let engine = engine_of(&rule);
    let mut scratch = engine.scratch().unwrap();
    assert_eq!(scan_whole(&engine, &mut scratch, b"xfoo1234 xbar5678 baz1234").len(), 2);
}

#[test]
fn two_rules_cannot_share_an_id() {
    let mut rules = parse_rules("a.toml", &file("abc[0-9]")).unwrap();
    rules.extend(parse_rules("b.toml", &file("def[0-9]")).unwrap());
    let error = Engine::new(rules, FingerprintKey::new(&[0; 32])).unwrap_err();
    assert_eq!(error.to_string(), "b.toml:3: rule r: the id is taken at a.toml:3");
}
