//! How long people wait: from `close(2)` to the alert line, and for `lapwing scan` over nothing.
//!
//! `cargo bench --bench latency` runs the release binary as root and prints medians and 99th percentiles.
//! The latency is what a writer's neighbour sees: one file of 10 KiB with one secret at a time, a pause
//! before each so that the machine is idle, the clock from the return of `close` to the line read from the
//! agent's standard output.
#![allow(clippy::unwrap_used, reason = "a bench that cannot go on stops")]
#![allow(clippy::disallowed_methods, reason = "it starts the program that it measures")]
#![allow(clippy::print_stdout, reason = "the result")]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use engine::{Checksum, expand};

const ROUNDS: usize = 1_000;
const STARTS: usize = 100;
const FILE_LEN: usize = 10 * 1024;

fn main() {
    if std::env::args().any(|argument| argument == "--test") {
        // `cargo test --benches` only wants to know that it builds.
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    report("close(2) to alert line, 10 KiB file", &mut latencies(&folder));
    let empty = tempfile::tempdir().unwrap();
    report("lapwing scan over an empty folder, whole process", &mut starts(&empty));
}

fn report(what: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100];
    let (median, p99, max) = (at(50), at(99), at(100));
    println!("{what}: median {median:.1?}, p99 {p99:.1?}, max {max:.1?}, {} runs", times.len());
}

fn lapwing() -> Command {
    Command::new(env!("CARGO_BIN_EXE_lapwing"))
}

fn latencies(folder: &tempfile::TempDir) -> Vec<Duration> {
    let state = tempfile::tempdir().unwrap();
    let mut agent = lapwing()
        .arg("watch")
        .arg(folder.path())
        .env("STATE_DIRECTORY", state.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    agent.stderr.as_mut().unwrap().read_exact(&mut [0; b"ready\n".len()]).unwrap();
    let mut alerts = BufReader::new(agent.stdout.take().unwrap());
    let mut line = String::new();
    let times = (0..ROUNDS)
        .map(|round| {
            sleep(Duration::from_millis(5));
            let path = folder.path().join(format!("{round}.env"));
            let text = text(round);
            fs::write(&path, &text).unwrap();
            let closed = Instant::now();
            line.clear();
            alerts.read_line(&mut line).unwrap();
            let time = closed.elapsed();
            assert!(line.contains("github-pat"), "{line}");
            time
        })
        .collect();
    agent.kill().unwrap();
    agent.wait().unwrap();
    times
}

fn text(seed: usize) -> Vec<u8> {
    let checksum = Some(Checksum::Crc32Base62);
    let token = "\nTOKEN=gh%{}p_%{base62:30}%{checksum}\n";
    let token = expand(token, seed as u64, checksum).unwrap();
    let line = b"An ordinary line of text, as there are many in any file.\n";
    let mut text: Vec<u8> = line.iter().copied().cycle().take(FILE_LEN - token.len()).collect();
    text.extend(token);
    text
}

fn starts(folder: &tempfile::TempDir) -> Vec<Duration> {
    (0..STARTS)
        .map(|_| {
            let start = Instant::now();
            let status = lapwing()
                .args(["scan", "--quiet"])
                .arg(folder.path())
                .stdout(Stdio::null())
                .status()
                .unwrap();
            assert!(status.success());
            start.elapsed()
        })
        .collect()
}
