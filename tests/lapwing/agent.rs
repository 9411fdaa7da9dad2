//! A running `lapwing watch`.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// How long something that must happen may take on a machine that does other things, too.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
/// How long nothing must happen to count as never: longer than any delay of the agent.
const SILENCE: Duration = Duration::from_millis(1200);

/// The program.
pub(crate) fn lapwing() -> Command {
    Command::new(env!("CARGO_BIN_EXE_lapwing"))
}

/// An agent that reports in JSON lines.
pub(crate) struct Agent {
    child: Child,
    alerts: Arc<Mutex<Vec<Value>>>,
    log: Arc<Mutex<String>>,
    threads: Vec<JoinHandle<()>>,
    _state: TempDir,
}

/// How an agent ended and what it said.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) alerts: Vec<Value>,
    pub(crate) log: String,
    /// Peak memory in KiB.
    pub(crate) peak: u64,
}

impl Agent {
    /// Starts an agent and waits until it is ready.
    pub(crate) fn start<P: AsRef<OsStr>>(paths: &[P]) -> Self {
        Self::start_with(paths, &[])
    }

    pub(crate) fn start_with<P: AsRef<OsStr>>(paths: &[P], options: &[&str]) -> Self {
        let state = tempfile::tempdir().unwrap();
        let mut command = lapwing();
        command.args(["watch", "--format", "jsonl"]).args(options).arg("--").args(paths);
        command.env("STATE_DIRECTORY", state.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let alerts = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::new(Mutex::new(String::new()));
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let threads = vec![
            collect(stdout, &alerts, |alerts, line| {
                alerts.push(serde_json::from_str(line).unwrap());
            }),
            collect(stderr, &log, |log, line| {
                log.push_str(line);
                log.push('\n');
            }),
        ];
        let mut agent = Self { child, alerts, log, threads, _state: state };
        agent.wait_for("ready", |agent| agent.log().lines().any(|line| line == "ready"));
        agent
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    pub(crate) fn alerts(&self) -> Vec<Value> {
        self.alerts.lock().unwrap().clone()
    }

    pub(crate) fn wait_for(&mut self, what: &str, done: impl Fn(&Self) -> bool) {
        let start = Instant::now();
        while !done(self) {
            if let Some(status) = self.child.try_wait().unwrap() {
                panic!("the agent ended with {status}: {}", self.log());
            }
            let (alerts, log) = (self.alerts(), self.log());
            assert!(start.elapsed() < PATIENCE, "no {what} in time; {alerts:?}\n{log}");
            sleep(Duration::from_millis(2));
        }
    }

    /// Waits for `count` alerts and makes sure that no more come.
    pub(crate) fn expect_alerts(&mut self, count: usize) -> Vec<Value> {
        self.wait_for(&format!("{count} alerts"), |agent| agent.alerts().len() >= count);
        sleep(SILENCE);
        let alerts = self.alerts();
        assert_eq!(alerts.len(), count, "{alerts:#?}");
        alerts
    }

    /// Waits for one more alert than there are and checks its path and line.
    pub(crate) fn expect_next(&mut self, seen: &mut usize, path: &Path, line: u64) -> Value {
        *seen += 1;
        let alert = self.expect_alerts(*seen).pop().unwrap();
        assert_eq!(alert["path"].as_str(), path.to_str(), "{alert:#}");
        assert_eq!(alert["line"], line, "{alert:#}");
        alert
    }

    /// Ends the agent with SIGTERM.
    pub(crate) fn stop(mut self) -> Ended {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let peak = peak.trim().trim_end_matches(" kB").parse().unwrap();
        signal(self.pid(), "TERM");
        let status = wait(&mut self.child);
        for thread in self.threads.drain(..) {
            thread.join().unwrap();
        }
        Ended { status, alerts: self.alerts(), log: self.log(), peak }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // Ended already, unless a test has failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits for a process that must end.
pub(crate) fn wait(child: &mut Child) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        assert!(start.elapsed() < PATIENCE, "the process does not end");
        sleep(Duration::from_millis(2));
    }
}

pub(crate) fn signal(pid: u32, name: &str) {
    run("kill", &["-s", name, &pid.to_string()]);
}

/// Runs a tool that must succeed.
pub(crate) fn run<A: AsRef<OsStr>>(program: &str, arguments: &[A]) {
    let output = Command::new(program).args(arguments).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {error}");
}

fn collect<T: Send + 'static>(
    mut stream: BufReader<impl Read + Send + 'static>,
    into: &Arc<Mutex<T>>,
    take: impl Fn(&mut T, &str) + Send + 'static,
) -> JoinHandle<()> {
    let into = Arc::clone(into);
    thread::spawn(move || {
        let mut line = String::new();
        while stream.read_line(&mut line).unwrap() > 0 {
            take(&mut into.lock().unwrap(), line.trim_end_matches('\n'));
            line.clear();
        }
    })
}
