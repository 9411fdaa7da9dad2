//! `lapwing scan`: its output, its exit status, its errors.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::Value;

use crate::agent::lapwing;
use crate::token::{assert_absent, token};

fn scan(arguments: &[&str]) -> Output {
    lapwing().arg("scan").args(arguments).stdin(Stdio::null()).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn path(directory: &Path, name: &str) -> String {
    directory.join(name).to_str().unwrap().to_owned()
}

#[test]
fn findings_are_reported_and_make_the_status_one() {
    let directory = tempfile::tempdir().unwrap();
    let secret = token();
    let file = path(directory.path(), "sub/a.env");
    fs::create_dir(directory.path().join("sub")).unwrap();
    fs::write(&file, format!("\n\nexport TOKEN={secret}\n")).unwrap();
    fs::write(directory.path().join("clean"), "nothing").unwrap();
    let output = scan(&[directory.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let expected = format!("{file}:3:14: certain github-pat {}…{}", &secret[..4], &secret[36..]);
    assert!(stdout(&output).starts_with(&expected), "{}", stdout(&output));
    assert_eq!(stdout(&output).lines().count(), 1);
    assert!(stderr(&output).contains("2 files"), "{}", stderr(&output));
    assert_absent(&output.stdout, &secret, "standard output");
}

#[test]
fn json_has_the_fields_in_their_order() {
    let directory = tempfile::tempdir().unwrap();
    let secret = token();
    let file = path(directory.path(), "a.env");
    fs::write(&file, &secret).unwrap();
    let output = scan(&["--format", "jsonl", &file]);
    let line = stdout(&output);
    let finding: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(finding["path"].as_str(), Some(&*file));
    assert_eq!(finding["source"], "scan");
    assert_eq!(finding["fingerprint"].as_str().unwrap().len(), 64);
    let keys = [
        "rule",
        "description",
        "confidence",
        "path",
        "line",
        "end_line",
        "column",
        "offset",
        "length",
        "redacted",
        "fingerprint",
        "source",
    ];
    let places: Vec<usize> =
        keys.iter().map(|key| line.find(&format!("\"{key}\":")).unwrap()).collect();
    assert!(places.is_sorted(), "{line}");
    assert_eq!(finding.as_object().unwrap().len(), keys.len());
    assert_absent(&output.stdout, &secret, "standard output");
}

#[test]
fn secrets_are_shown_only_when_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let secret = token();
    let file = path(directory.path(), "a.env");
    fs::write(&file, &secret).unwrap();
    for format in ["text", "jsonl"] {
        let output = scan(&["--show-secrets", "--format", format, &file]);
        assert!(stdout(&output).contains(&secret));
        assert_absent(&output.stderr, &secret, "standard error");
    }
}

#[test]
fn confidence_decides_what_is_shown_and_what_fails() {
    let directory = tempfile::tempdir().unwrap();
    let file = path(directory.path(), "a.env");
    fs::write(&file, token()).unwrap();
    assert_eq!(scan(&["--fail-on", "certain", &file]).status.code(), Some(1));
    let mut wrong = token().into_bytes();
    wrong[10] = if wrong[10] == b'Q' { b'R' } else { b'Q' };
    fs::write(&file, wrong).unwrap();
    let hidden = scan(&[&file]);
    assert_eq!((hidden.status.code(), hidden.stdout.len()), (Some(0), 0));
    let shown = scan(&["--min-confidence", "low", &file]);
    assert_eq!(shown.status.code(), Some(0), "below --fail-on");
    assert!(stdout(&shown).contains(": low github-pat "));
    let failed = scan(&["--min-confidence", "low", "--fail-on", "low", &file]);
    assert_eq!(failed.status.code(), Some(1));
}

#[test]
fn standard_input_is_read_to_its_end() {
    let mut child = lapwing()
        .args(["scan", "--format", "jsonl", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&b"text\n".repeat(1_000_000)).unwrap();
    stdin.write_all(token().as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let finding: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&finding["path"], &finding["line"]), (&"-".into(), &1_000_001.into()));
}

#[test]
fn an_empty_folder_is_clean() {
    let directory = tempfile::tempdir().unwrap();
    let output = scan(&[directory.path().to_str().unwrap()]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
}

#[test]
fn a_missing_path_is_named() {
    let output = scan(&["/nonexistent/path"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("/nonexistent/path: No such file"), "{}", stderr(&output));
}

#[test]
fn wrong_usage_is_status_two() {
    for arguments in [&["scan"][..], &["scan", "--format", "xml", "/tmp"], &["swim"], &[]] {
        let output = lapwing().args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn a_rule_file_with_an_error_is_named_with_its_line() {
    let directory = tempfile::tempdir().unwrap();
    let rules = path(directory.path(), "mine.toml");
    let rule = "provider = 'X'\n[[rules]]\nid = 'x'\ndescription = 'd'\nregex = 'abc('\n\
                confidence = 'high'\n";
    fs::write(&rules, rule).unwrap();
    for given in [&*rules, directory.path().to_str().unwrap()] {
        let output = scan(&["--rules", given, "/tmp"]);
        assert_eq!(output.status.code(), Some(2));
        let error = stderr(&output);
        assert!(error.contains(&format!("{rules}:5: not a valid regex")), "{error}");
    }
    let output = scan(&["--rules", "/nonexistent", "/tmp"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("/nonexistent: No such file"));
}

#[test]
fn rules_of_ones_own_replace_the_built_in_ones() {
    let directory = tempfile::tempdir().unwrap();
    let rules = path(directory.path(), "mine.toml");
    let rule = "provider = 'X'\n[[rules]]\nid = 'mine'\ndescription = 'my token'\n\
                regex = 'zz_([0-9]{4})'\nconfidence = 'high'\n";
    fs::write(&rules, rule).unwrap();
    let file = path(directory.path(), "a.txt");
    fs::write(&file, format!("{} zz_1234", token())).unwrap();
    let output = scan(&["--rules", &rules, &file]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains(":1:45: high mine … (my token)"), "{}", stdout(&output));
}

#[test]
fn any_number_of_workers_finds_the_same() {
    let directory = tempfile::tempdir().unwrap();
    for index in 0..700 {
        let folder = directory.path().join((index % 7).to_string());
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(index.to_string()), format!("{}\n", token())).unwrap();
    }
    let folder = directory.path().to_str().unwrap();
    let sorted = |workers: &str| {
        let output = scan(&["-j", workers, folder]);
        let mut lines: Vec<String> = stdout(&output).lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let one = sorted("1");
    assert_eq!(one.len(), 700);
    for workers in ["2", "4", "9"] {
        assert_eq!(sorted(workers), one);
    }
}

#[test]
fn what_was_decided_is_explained_without_the_secret() {
    let directory = tempfile::tempdir().unwrap();
    let secret = token();
    let file = path(directory.path(), "a.env");
    fs::write(&file, format!("\n{secret}\nAKIA{}\n", "A".repeat(16))).unwrap();
    let output = scan(&["--explain", &file]);
    let explained = stderr(&output);
    let kept = format!("{file}:2: github-pat {}…{} is certain: ", &secret[..4], &secret[36..]);
    assert!(explained.contains(&kept), "{explained}");
    assert!(explained.contains(":3: aws-access-key-id AKIA…AAAA is dropped: "), "{explained}");
    assert_absent(&output.stderr, &secret, "the explanation");
}
