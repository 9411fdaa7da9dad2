//! Alerts in a real journal, and the service under a real systemd.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::agent::{Agent, run};
use crate::token::{assert_absent, token};

/// Set while a test runs again beside a journald of its own.
const INSIDE: &str = "LAPWING_TEST_INSIDE";

/// Runs `body` beside a journald of its own: this test program again, in other namespaces.
fn beside_journald(test: &str, body: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return body();
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/journald.sh");
    let output = Command::new(script)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("test result: ok. 1 passed"), "{said}");
}

fn journal() -> Vec<Value> {
    run("journalctl", &["--sync"]);
    let output = Command::new("journalctl").args(["-o", "json", "-a"]).output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn alerts() -> Vec<Value> {
    journal().into_iter().filter(|entry| entry.get("LAPWING_RULE").is_some()).collect()
}

#[test]
fn a_secret_becomes_an_entry_with_its_fields() {
    beside_journald("journal::a_secret_becomes_an_entry_with_its_fields", || {
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let path = folder.path().join("a.env");
        let mut agent = Agent::start_with(&[folder.path()], &["--journal"]);
        let secret = token();
        fs::write(&path, format!("one\n{secret}\n")).unwrap();
        agent.wait_for("entry", |_| !alerts().is_empty());
        let entry = alerts().pop().unwrap();
        for (field, value) in [
            ("LAPWING_RULE", "github-pat"),
            ("LAPWING_CONFIDENCE", "certain"),
            ("LAPWING_PATH", path.to_str().unwrap()),
            ("LAPWING_LINE", "2"),
            ("LAPWING_END_LINE", "2"),
            ("LAPWING_COLUMN", "1"),
            ("LAPWING_OFFSET", "4"),
            ("LAPWING_LENGTH", "40"),
            ("LAPWING_SOURCE", "fanotify"),
            ("LAPWING_UID", "0"),
            ("LAPWING_PID", &std::process::id().to_string()),
            ("PRIORITY", "2"),
            ("SYSLOG_IDENTIFIER", "lapwing"),
            ("MESSAGE_ID", "b1f8a7c2e0d94f6c8a3e5d7f90124c61"),
        ] {
            assert_eq!(entry[field], value, "{field} in {entry:#}");
        }
        let redacted = format!("{}…{}", &secret[..4], &secret[36..]);
        assert_eq!(entry["LAPWING_REDACTED"], *redacted);
        assert_eq!(entry["LAPWING_FINGERPRINT"].as_str().unwrap().len(), 64);
        assert!(entry["MESSAGE"].as_str().unwrap().contains(&redacted), "{entry:#}");
        let ended = agent.stop();
        assert_eq!(ended.status.code(), Some(0), "{}", ended.log);
        assert!(ended.alerts.is_empty(), "not on standard output, too");
        assert_eq!(alerts().len(), 1);
        let mut files = 0;
        for file in journal_files(Path::new("/run/log/journal")) {
            assert_absent(&fs::read(&file).unwrap(), &secret, "the journal");
            files += 1;
        }
        assert!(files > 0, "there is a journal to look into");
    });
}

fn journal_files(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, mut files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    files.extend(folders.iter().flat_map(|folder| journal_files(folder)));
    files
}

#[test]
fn a_name_cannot_forge_a_field() {
    beside_journald("journal::a_name_cannot_forge_a_field", || {
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let mut agent = Agent::start_with(&[folder.path()], &["--journal"]);
        let newline = "a\nPRIORITY=0\nMESSAGE=owned\nLAPWING_RULE=forged";
        let raw = std::ffi::OsStr::from_bytes(b"raw\xff\nMESSAGE=owned");
        fs::write(folder.path().join(newline), token()).unwrap();
        fs::write(folder.path().join(raw), token()).unwrap();
        agent.wait_for("entries", |_| alerts().len() == 2);
        let mut entries = alerts();
        entries.sort_by_key(|entry| entry["LAPWING_PATH"].to_string());
        for entry in &entries {
            assert_eq!(entry["PRIORITY"], "2", "{entry:#}");
            assert_eq!(entry["LAPWING_RULE"], "github-pat", "{entry:#}");
            let message = entry["MESSAGE"].as_str().unwrap();
            assert!(message.contains(r"\nMESSAGE=owned") && !message.contains('\n'), "{message}");
        }
        let path = |index: usize| entries[index]["LAPWING_PATH"].as_str().unwrap().to_owned();
        assert!(path(0).ends_with(newline));
        assert!(path(1).ends_with("raw%FF\nMESSAGE=owned"));
        assert_eq!(entries[1]["LAPWING_PATH_ENCODING"], "percent");
        agent.stop();
    });
}

#[test]
fn without_a_journal_it_says_so() {
    if Path::new("/run/systemd/journal/socket").exists() {
        // The case cannot be made here without hiding the host's journal: do just that.
        let status = Command::new("unshare")
            .args([
                "--mount",
                "sh",
                "-c",
                "mount -t tmpfs tmpfs /run/systemd && exec \"$0\" \"$@\"",
            ])
            .args([env!("CARGO_BIN_EXE_lapwing"), "watch", "--journal", "/tmp"])
            .status()
            .unwrap();
        return assert_eq!(status.code(), Some(2));
    }
    let output = crate::agent::lapwing().args(["watch", "--journal", "/tmp"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("the journal does not answer"), "{error}");
}

#[test]
fn the_service_runs_sandboxed_under_systemd() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/service.sh");
    let output = Command::new(script).arg(env!("CARGO_BIN_EXE_lapwing")).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
}
