//! `lapwing rules`: what people learn about rules.

use std::fs;
use std::io::Write;
use std::process::{Output, Stdio};

use crate::agent::lapwing;
use crate::token::{assert_absent, token};

fn rules(arguments: &[&str], input: &str) -> Output {
    let mut child = lapwing()
        .arg("rules")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn the_built_in_rules_are_proven() {
    let output = rules(&["check"], "");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    let count: usize = said.split(' ').next().unwrap().parse().unwrap();
    assert!(count >= 60, "{said}");
    let listed = rules(&["list"], "");
    assert_eq!(text(&listed.stdout).lines().count(), count);
}

#[test]
fn a_rule_that_fails_its_examples_is_named_with_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mine.toml");
    let rule = "provider = 'X'\n[[rules]]\nid = 'mine'\ndescription = 'd'\nentropy = 1.0\n\
                regex = 'zz_([0-9]{8})'\nconfidence = 'high'\n\
                examples = ['zz_11111111', 'zz_%{digit:8}', 'zy_%{digit:8}']\n\
                counter_examples = ['zz_%{digit:9}', 'zz_12']\n";
    fs::write(&file, rule).unwrap();
    let output = rules(&["check", "--rules", file.to_str().unwrap()], "");
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    let place = format!("{}:3: rule mine: ", file.display());
    assert!(error.contains(&format!("{place}example 1: it is not found: ")), "{error}");
    assert!(error.contains("its entropy is only 0.00 bits a byte"), "{error}");
    assert!(error.contains(&format!("{place}example 3: it is not found: the regex")), "{error}");
    assert!(error.contains(&format!("{place}counter-example 1: it is found: ")), "{error}");
    assert!(!error.contains("counter-example 2"), "{error}");
}

#[test]
fn a_rule_is_shown_with_its_anchors() {
    let output = rules(&["show", "github-pat"], "");
    let shown = text(&output.stdout);
    assert!(shown.contains("found by      ghp_ (0 bytes into the match)"), "{shown}");
    let output = rules(&["show", "github"], "");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("is it one of github-pat"));
}

#[test]
fn a_text_is_tried_without_showing_its_secrets() {
    let secret = token();
    let input = format!("one\nexport TOKEN={secret}\n");
    let output = rules(&["test"], &input);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("2: github-pat ghp_…"), "{}", text(&output.stdout));
    assert!(text(&output.stdout).contains("is certain: its checksum is right"));
    assert_absent(&[output.stdout, output.stderr].concat(), &secret, "the output");
    let other = rules(&["test", "aws-access-key-id"], &input);
    assert_eq!(text(&other.stdout), "no regex matches\n");
    assert_eq!(other.status.code(), Some(0));
}
