//! Many files at once.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use crate::agent::{Agent, run, wait};
use crate::file_systems::Mounted;
use crate::token::token;

const FILES: usize = 20_000;
const SECRETS: usize = 200;

/// One process writes as fast as it can; every secret is reported once.
fn every_secret_of_a_burst(mounted: &Mounted) {
    let mut agent = Agent::start(&[mounted.path()]);
    let mut expected = BTreeSet::new();
    let clean = "a line of ordinary text without anything in it\n".repeat(20);
    for index in 0..FILES {
        let path = mounted.path().join(format!("file-{index}.txt"));
        if index % (FILES / SECRETS) == 7 {
            fs::write(&path, format!("{clean}key = {}\n", token())).unwrap();
            expected.insert(path.to_str().unwrap().to_owned());
        } else {
            fs::write(&path, &clean).unwrap();
        }
    }
    let alerts = agent.expect_alerts(SECRETS);
    let paths: BTreeSet<String> =
        alerts.iter().map(|alert| alert["path"].as_str().unwrap().to_owned()).collect();
    assert_eq!(paths, expected);
    let ended = agent.stop();
    assert_eq!(ended.status.code(), Some(0));
    assert!(ended.peak < 96 * 1024, "peak memory {} KiB", ended.peak);
}

#[test]
fn a_burst_of_files_on_ext4() {
    every_secret_of_a_burst(&Mounted::on_loop("ext4", 256));
}

#[test]
fn a_burst_of_files_on_tmpfs() {
    every_secret_of_a_burst(&Mounted::tmpfs());
}

#[test]
fn hardly_any_descriptors_lose_no_secret() {
    let mounted = Mounted::tmpfs();
    let mut agent = Agent::start_with(&[mounted.path()], &["-j", "4"]);
    // Some more than the agent has open when it has nothing to do.
    let open = fs::read_dir(format!("/proc/{}/fd", agent.pid())).unwrap().count();
    let limit = format!("--nofile={}:{}", open + 4, open + 4);
    run("prlimit", &["--pid", &agent.pid().to_string(), &limit]);
    for index in 0..5_000 {
        fs::write(mounted.path().join(index.to_string()), "clean").unwrap();
    }
    // Each from a process of its own, which the agent wants to know.
    let script =
        "while read -r secret; do sh -c 'echo $0 > $1' $secret $0/$((n = n + 1)).env; done";
    let mut child = Command::new("sh")
        .args(["-c", script])
        .arg(mounted.path())
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let secrets: String = (0..200).map(|_| token() + "\n").collect();
    child.stdin.take().unwrap().write_all(secrets.as_bytes()).unwrap();
    assert!(wait(&mut child).success());
    agent.expect_alerts(200);
    let ended = agent.stop();
    assert_eq!(ended.status.code(), Some(0));
    assert!(!ended.log.contains("warning"), "{}", ended.log);
}
