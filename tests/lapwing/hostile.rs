//! Files that somebody made to stop, blind or fool the agent.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::agent::{Agent, lapwing, run, wait};
use crate::file_systems::Mounted;
use crate::token::token;

#[test]
fn fifos_devices_sockets_and_leases_never_block_a_watch() {
    let mounted = Mounted::tmpfs();
    let path = |name: &str| mounted.path().join(name);
    let mut agent = Agent::start(&[mounted.path()]);
    run("mkfifo", &[path("fifo")]);
    run("mknod", &[path("null").as_os_str(), "c".as_ref(), "1".as_ref(), "3".as_ref()]);
    let _socket = UnixListener::bind(path("socket")).unwrap();
    fs::create_dir(path("folder")).unwrap();
    // The event of a FIFO that was written to and closed.
    let fifo = File::options().read(true).write(true).open(path("fifo")).unwrap();
    drop(fifo);
    fs::write(path("null"), "text").unwrap();
    fs::write(path("a.env"), token()).unwrap();
    agent.expect_next(&mut 0, &path("a.env"), 1);
    let ended = agent.stop();
    assert_eq!(ended.status.code(), Some(0));
    assert!(!ended.log.contains("warning"), "{}", ended.log);
}

fn lines(output: &[u8]) -> usize {
    String::from_utf8_lossy(output).lines().count()
}

/// Holds a write lease on a file for as long as its standard input is open.
fn hold_lease(path: &std::path::Path) -> std::process::Child {
    let script = "import fcntl,os,signal,sys\n\
                  signal.signal(signal.SIGIO, signal.SIG_IGN)\n\
                  fd=os.open(sys.argv[1],os.O_RDWR)\n\
                  fcntl.fcntl(fd,fcntl.F_SETLEASE,fcntl.F_WRLCK)\n\
                  print('held',flush=True)\n\
                  sys.stdin.read()\n";
    let mut child = Command::new("python3")
        .args(["-c", script])
        .arg(path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut held = [0; 5];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut held).unwrap();
    child
}

#[test]
fn a_file_under_a_lease_is_scanned_when_the_lease_is_gone() {
    let mounted = Mounted::tmpfs();
    let (leased, staged) = (mounted.path().join("watched/leased.env"), mounted.path().join("x"));
    fs::create_dir(mounted.path().join("watched")).unwrap();
    fs::write(&staged, token()).unwrap();
    let mut holder = hold_lease(&staged);
    let mut agent = Agent::start(&[mounted.path().join("watched")]);
    fs::rename(&staged, &leased).unwrap();
    let other = mounted.path().join("watched/other.env");
    fs::write(&other, token()).unwrap();
    let mut seen = 0;
    agent.expect_next(&mut seen, &other, 1);
    drop(holder.stdin.take());
    assert!(wait(&mut holder).success());
    agent.expect_next(&mut seen, &leased, 1);
}

#[test]
fn a_file_that_stays_under_a_lease_makes_a_scan_incomplete() {
    let mounted = Mounted::tmpfs();
    let (leased, other) = (mounted.path().join("leased.env"), mounted.path().join("other.env"));
    fs::write(&leased, token()).unwrap();
    fs::write(&other, token()).unwrap();
    let mut holder = hold_lease(&leased);
    let start = Instant::now();
    let output = lapwing().arg("scan").arg(mounted.path()).output().unwrap();
    assert!(start.elapsed() < Duration::from_secs(10));
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(lines(&output.stdout), 1);
    assert!(String::from_utf8(output.stderr).unwrap().contains("leased.env: "));
    drop(holder.stdin.take());
    assert!(wait(&mut holder).success());
}

#[test]
fn a_scan_skips_what_is_not_a_file() {
    let directory = tempfile::tempdir().unwrap();
    run("mkfifo", &[directory.path().join("fifo")]);
    let _socket = UnixListener::bind(directory.path().join("socket")).unwrap();
    std::os::unix::fs::symlink("/etc", directory.path().join("link")).unwrap();
    fs::write(directory.path().join("a.env"), token()).unwrap();
    let output = lapwing().arg("scan").arg(directory.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("1 files"), "{error}");
    let fifo = lapwing().arg("scan").arg(directory.path().join("fifo")).output().unwrap();
    assert_eq!(fifo.status.code(), Some(2));
}

#[test]
fn a_sparse_file_of_ten_gigabytes_takes_no_time() {
    let mounted = Mounted::tmpfs();
    let path = mounted.path().join("sparse.env");
    let mut agent = Agent::start(&[mounted.path()]);
    let file = File::create(&path).unwrap();
    file.set_len(10 << 30).unwrap();
    file.write_at(format!("\n{}\n", token()).as_bytes(), 9 << 30).unwrap();
    drop(file);
    let start = Instant::now();
    let alert = agent.expect_next(&mut 0, &path, 2);
    assert!(start.elapsed() < Duration::from_secs(10));
    assert_eq!(alert["offset"], (9_u64 << 30) + 1);
    assert!(agent.stop().peak < 96 * 1024);
    let start = Instant::now();
    let output = lapwing().arg("scan").arg(&path).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn files_that_vanish_change_and_shrink_while_they_are_read_do_no_harm() {
    let mounted = Mounted::tmpfs();
    let mut agent = Agent::start(&[mounted.path()]);
    let big = b"text without a secret\n".repeat(200_000);
    let end = Instant::now() + Duration::from_secs(2);
    thread::scope(|scope| {
        for worker in 0..2 {
            let (folder, big) = (mounted.path(), &big);
            scope.spawn(move || {
                let path = folder.join(format!("victim-{worker}"));
                let other = folder.join(format!("other-{worker}"));
                while Instant::now() < end {
                    fs::write(&path, big).unwrap();
                    File::options().write(true).open(&path).unwrap().set_len(5).unwrap();
                    fs::write(&other, "x").unwrap();
                    fs::rename(&other, &path).unwrap();
                    fs::remove_file(&path).unwrap();
                }
            });
        }
    });
    let path = mounted.path().join("after.env");
    fs::write(&path, token()).unwrap();
    agent.expect_next(&mut 0, &path, 1);
    let ended = agent.stop();
    assert_eq!(ended.status.code(), Some(0));
    assert!(!ended.log.contains("bug"), "{}", ended.log);
    assert!(!ended.log.contains("warning"), "{}", ended.log);
}

#[test]
fn names_of_raw_bytes_are_reported_escaped() {
    let mounted = Mounted::tmpfs();
    let mut agent = Agent::start(&[mounted.path()]);
    let raw = mounted.path().join(OsStr::from_bytes(b"raw-\xff-50%.env"));
    fs::write(raw, token()).unwrap();
    let alert = agent.expect_alerts(1).pop().unwrap();
    let expected = format!("{}/raw-%FF-50%25.env", mounted.path().display());
    assert_eq!(alert["path"].as_str(), Some(&*expected));
    assert_eq!(alert["path_encoding"], "percent");
    let line = "evil\n{\"rule\":\"forged\"}\u{1b}[2J.env";
    fs::write(mounted.path().join(line), token()).unwrap();
    let alert = agent.expect_alerts(2).pop().unwrap();
    assert!(alert["path"].as_str().unwrap().ends_with(line));
    assert!(alert.get("path_encoding").is_none());

    let output = lapwing().arg("scan").arg(mounted.path()).output().unwrap();
    assert_eq!(lines(&output.stdout), 2);
    assert!(!output.stdout.contains(&0x1b));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains(r"evil\n{"), "{text}");
    assert!(text.contains(r"raw-\xff-50%.env"), "{text}");
}

#[test]
fn a_name_as_long_as_names_get_and_a_path_longer_than_paths_get() {
    let mounted = Mounted::tmpfs();
    let mut agent = Agent::start(&[mounted.path()]);
    let long = mounted.path().join("n".repeat(255));
    fs::write(&long, token()).unwrap();
    agent.expect_next(&mut 0, &long, 1);
    let script = "d=$(printf 'd%.0s' $(seq 200)); cd \"$0\"; \
                  for i in $(seq 30); do mkdir $d; cd $d; done; cat > deep.env";
    let mut child = Command::new("bash")
        .args(["-c", script])
        .arg(mounted.path())
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(token().as_bytes()).unwrap();
    assert!(wait(&mut child).success());
    let output = lapwing().arg("scan").arg(mounted.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(lines(&output.stdout), 2);
    let alert = agent.expect_alerts(2).pop().unwrap();
    assert!(alert["path"].as_str().unwrap().ends_with("/deep.env"), "{alert:#}");
}
