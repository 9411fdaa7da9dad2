//! Many files at once.

use std::collections::BTreeSet;
use std::fs;

use crate::agent::Agent;
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
