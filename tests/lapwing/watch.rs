//! Every way in which a secret gets a name on disk gives exactly one alert, with the right path and line.

use std::fs::{self, File};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::agent::{Agent, lapwing, run, wait};
use crate::file_systems::Mounted;
use crate::token::{assert_absent, token};

/// Three lines; the secret is on the second.
fn text() -> String {
    format!("first line\nGITHUB_TOKEN={}\nlast line\n", token())
}

/// Writes in every way, one after the other, and expects one alert for each.
fn every_way(watched: &Path, elsewhere: &Path) {
    let mut agent = Agent::start(&[watched]);
    let mut seen = 0;

    let plain = watched.join("plain.env");
    fs::write(&plain, text()).unwrap();
    let alert = agent.expect_next(&mut seen, &plain, 2);
    assert_eq!(alert["rule"], "github-pat");
    assert_eq!(alert["confidence"], "certain");
    assert_eq!(alert["column"], 14);
    assert_eq!(alert["offset"], 24);
    assert_eq!(alert["length"], 40);
    assert_eq!(alert["source"], "fanotify");
    assert_eq!(alert["pid"], std::process::id());
    assert_eq!(alert["uid"], 0);
    assert_eq!(alert["exe"].as_str(), std::env::current_exe().unwrap().to_str());

    let folder = watched.join("made/later");
    fs::create_dir_all(&folder).unwrap();
    let nested = folder.join("nested.env");
    fs::write(&nested, text()).unwrap();
    agent.expect_next(&mut seen, &nested, 2);

    let (temporary, target) = (watched.join(".edited.env.tmp"), watched.join("edited.env"));
    fs::write(&target, "old").unwrap();
    fs::write(&temporary, text()).unwrap();
    fs::rename(&temporary, &target).unwrap();
    agent.expect_next(&mut seen, &target, 2);

    let linked = watched.join("linked.env");
    write_and_link(watched, &linked);
    agent.expect_next(&mut seen, &linked, 2);

    let (outside, inside) = (elsewhere.join("moved.env"), watched.join("moved.env"));
    fs::write(&outside, text()).unwrap();
    fs::rename(&outside, &inside).unwrap();
    agent.expect_next(&mut seen, &inside, 2);

    let other_namespace = watched.join("namespace.env");
    write_in_other_namespace(watched, "namespace.env");
    agent.expect_next(&mut seen, &other_namespace, 2);

    let bind = Mounted::bind(watched);
    fs::write(bind.path().join("bind.env"), text()).unwrap();
    agent.expect_next(&mut seen, &watched.join("bind.env"), 2);
    bind.unmount();

    let copy = fs::read(&plain).unwrap();
    fs::write(&plain, copy).unwrap();
    fs::write(elsewhere.join("outside.env"), text()).unwrap();
    fs::write(watched.join("clean.txt"), "nothing in here").unwrap();
    agent.expect_alerts(seen);

    let ended = agent.stop();
    assert_eq!(ended.status.code(), Some(0), "{}", ended.log);
}

/// O_TMPFILE, write, linkat, close.
fn write_and_link(folder: &Path, name: &Path) {
    let mut options = File::options();
    let mut file = options.write(true).custom_flags(libc::O_TMPFILE).open(folder).unwrap();
    file.write_all(text().as_bytes()).unwrap();
    let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
    rustix::fs::linkat(
        rustix::fs::CWD,
        &unnamed,
        rustix::fs::CWD,
        name,
        rustix::fs::AtFlags::SYMLINK_FOLLOW,
    )
    .unwrap();
}

/// A container's way: a mount namespace of its own, in which the folder is somewhere else.
fn write_in_other_namespace(folder: &Path, name: &str) {
    let script = "mount --bind \"$0\" /mnt && cat > \"/mnt/$1\"";
    let mut child = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-c", script])
        .args([folder.as_os_str(), name.as_ref()])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text().as_bytes()).unwrap();
    assert!(wait(&mut child).success());
}

fn every_way_on(mounted: &Mounted) {
    let (watched, elsewhere) = (mounted.path().join("watched"), mounted.path().join("elsewhere"));
    fs::create_dir(&watched).unwrap();
    fs::create_dir(&elsewhere).unwrap();
    every_way(&watched, &elsewhere);
}

#[test]
fn every_way_of_writing_on_ext4() {
    every_way_on(&Mounted::on_loop("ext4", 64));
}

#[test]
fn every_way_of_writing_on_xfs() {
    every_way_on(&Mounted::on_loop("xfs", 320));
}

#[test]
fn every_way_of_writing_on_btrfs() {
    every_way_on(&Mounted::on_loop("btrfs", 128));
}

#[test]
fn every_way_of_writing_on_tmpfs() {
    every_way_on(&Mounted::tmpfs());
}

#[test]
fn a_new_secret_in_a_known_file_is_one_alert_more() {
    let mounted = Mounted::tmpfs();
    let path = mounted.path().join("growing.env");
    let mut agent = Agent::start(&[mounted.path()]);
    let mut seen = 0;
    fs::write(&path, text()).unwrap();
    agent.expect_next(&mut seen, &path, 2);
    let mut file = File::options().append(true).open(&path).unwrap();
    file.write_all(text().as_bytes()).unwrap();
    drop(file);
    agent.expect_next(&mut seen, &path, 5);
    fs::write(&path, "gone\n").unwrap();
    agent.expect_alerts(seen);
    fs::write(&path, text()).unwrap();
    agent.expect_next(&mut seen, &path, 2);
}

#[test]
fn a_folder_moved_into_a_watched_one_is_scanned() {
    let mounted = Mounted::tmpfs();
    let (watched, elsewhere) = (mounted.path().join("watched"), mounted.path().join("elsewhere"));
    fs::create_dir_all(elsewhere.join("folder/deep")).unwrap();
    fs::create_dir(&watched).unwrap();
    fs::write(elsewhere.join("folder/deep/a.env"), text()).unwrap();
    let mut agent = Agent::start(&[&watched]);
    // Learned as not watched before it moves.
    fs::write(elsewhere.join("folder/deep/b.txt"), "clean").unwrap();
    agent.expect_alerts(0);
    fs::rename(elsewhere.join("folder"), watched.join("folder")).unwrap();
    let mut seen = 0;
    let alert = agent.expect_next(&mut seen, &watched.join("folder/deep/a.env"), 2);
    assert_eq!(alert["source"], "catchup");
    let later = watched.join("folder/deep/c.env");
    fs::write(&later, text()).unwrap();
    agent.expect_next(&mut seen, &later, 2);
}

#[test]
fn a_path_that_appears_later_is_picked_up_with_what_is_in_it() {
    let mounted = Mounted::tmpfs();
    let path = mounted.path().join("later");
    let mut agent = Agent::start(&[&path]);
    assert!(agent.log().contains("does not exist; it is watched from when it appears"));
    fs::create_dir(&path).unwrap();
    fs::write(path.join("first.env"), text()).unwrap();
    let mut seen = 0;
    agent.expect_next(&mut seen, &path.join("first.env"), 2);
    fs::write(path.join("second.env"), text()).unwrap();
    agent.expect_next(&mut seen, &path.join("second.env"), 2);
}

#[test]
fn a_file_system_mounted_below_a_watched_path_is_watched_too() {
    let outer = Mounted::tmpfs();
    let inner = outer.path().join("inner");
    fs::create_dir(&inner).unwrap();
    run("mount", &["-t", "tmpfs", "tmpfs", inner.to_str().unwrap()]);
    let mut agent = Agent::start(&[outer.path()]);
    fs::write(inner.join("a.env"), text()).unwrap();
    let mut seen = 0;
    agent.expect_next(&mut seen, &inner.join("a.env"), 2);
    fs::write(outer.path().join("b.env"), text()).unwrap();
    agent.expect_next(&mut seen, &outer.path().join("b.env"), 2);
    run("umount", &[&inner]);
}

#[test]
fn a_single_file_can_be_watched() {
    let mounted = Mounted::tmpfs();
    let path = mounted.path().join("one.conf");
    fs::write(&path, "empty").unwrap();
    let mut agent = Agent::start(&[&path]);
    fs::write(mounted.path().join("other.conf"), text()).unwrap();
    fs::write(&path, text()).unwrap();
    agent.expect_next(&mut 0, &path, 2);
}

#[test]
fn a_watched_link_means_what_it_leads_to() {
    let mounted = Mounted::tmpfs();
    let (real, link) = (mounted.path().join("real"), mounted.path().join("link"));
    fs::create_dir(&real).unwrap();
    symlink(&real, &link).unwrap();
    let mut agent = Agent::start(&[&link]);
    fs::write(link.join("a.env"), text()).unwrap();
    agent.expect_next(&mut 0, &real.join("a.env"), 2);
}

#[test]
fn a_hard_link_into_a_watched_folder_is_seen() {
    let mounted = Mounted::tmpfs();
    let (watched, elsewhere) = (mounted.path().join("watched"), mounted.path().join("elsewhere"));
    fs::create_dir(&watched).unwrap();
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("a.env"), text()).unwrap();
    let mut agent = Agent::start(&[&watched]);
    fs::hard_link(elsewhere.join("a.env"), watched.join("b.env")).unwrap();
    agent.expect_next(&mut 0, &watched.join("b.env"), 2);
}

#[test]
fn nothing_of_a_watched_file_system_stays_open() {
    let mounted = Mounted::tmpfs();
    let mut agent = Agent::start(&[mounted.path()]);
    for index in 0..1000 {
        fs::write(mounted.path().join(index.to_string()), "text").unwrap();
    }
    let last = mounted.path().join("last.env");
    fs::write(&last, text()).unwrap();
    agent.expect_next(&mut 0, &last, 2);
    mounted.unmount();
    assert_eq!(agent.stop().status.code(), Some(0));
}

#[test]
fn what_is_queued_is_scanned_before_the_end() {
    let mounted = Mounted::tmpfs();
    let agent = Agent::start(&[mounted.path()]);
    for index in 0..500 {
        fs::write(mounted.path().join(format!("{index}.env")), text()).unwrap();
    }
    fs::write(mounted.path().join("waiting.tmp"), text()).unwrap();
    let ended = agent.stop();
    assert_eq!(ended.status.code(), Some(0), "{}", ended.log);
    assert_eq!(ended.alerts.len(), 501);
}

#[test]
fn nothing_of_a_secret_is_said() {
    let mounted = Mounted::tmpfs();
    let mut agent = Agent::start(&[mounted.path()]);
    let secret = token();
    let path = mounted.path().join("a.env");
    fs::write(&path, format!("{secret}\n")).unwrap();
    agent.expect_next(&mut 0, &path, 1);
    let ended = agent.stop();
    let said = serde_json::to_string(&ended.alerts).unwrap() + &ended.log;
    assert!(said.contains(&format!("{}…{}", &secret[..4], &secret[36..])));
    assert_absent(said.as_bytes(), &secret, "the agent's output");
}

#[test]
fn without_capabilities_it_says_which_and_how() {
    let output = Command::new("setpriv")
        .args(["--bounding-set", "-all", "--inh-caps", "-all", "--ambient-caps", "-all"])
        .args([
            "--reuid",
            "65534",
            "--clear-groups",
            env!("CARGO_BIN_EXE_lapwing"),
            "watch",
            "/tmp",
        ])
        .output()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("missing CAP_SYS_ADMIN"), "{error}");
    assert!(error.contains("CAP_DAC_READ_SEARCH"), "{error}");
    assert!(error.contains("sudo lapwing watch"), "{error}");
}

#[test]
fn a_file_system_without_handles_is_named() {
    let output = lapwing().args(["watch", "/proc"]).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("cannot watch the file system of /proc"), "{error}");
}

#[test]
fn an_overflow_is_told_and_made_good() {
    let mounted = Mounted::tmpfs();
    let mut agent = Agent::start(&[mounted.path()]);
    crate::agent::signal(agent.pid(), "STOP");
    let mut expected = Vec::new();
    // More than the kernel's queue holds.
    let limit = fs::read_to_string("/proc/sys/fs/fanotify/max_queued_events").unwrap();
    let count = limit.trim().parse::<usize>().unwrap() + 2000;
    for index in 0..count {
        let path = mounted.path().join(index.to_string());
        if index % 500 == 0 || index > count - 10 {
            fs::write(&path, text()).unwrap();
            expected.push(path.to_str().unwrap().to_owned());
        } else {
            fs::write(&path, "clean").unwrap();
        }
    }
    crate::agent::signal(agent.pid(), "CONT");
    let count = expected.len();
    agent.wait_for("recovery", |agent| agent.log().contains("caught up with lost events"));
    let alerts = agent.expect_alerts(count);
    let mut paths: Vec<&str> = alerts.iter().map(|alert| alert["path"].as_str().unwrap()).collect();
    paths.sort_unstable();
    expected.sort_unstable();
    assert_eq!(paths, expected);
    // Which queue was full first depends on who gets the processor.
    assert!(agent.log().contains("queue was full") || agent.log().contains("too many changed"));
    assert!(agent.log().contains("some events were lost"));
}

#[test]
fn the_agent_ends_when_nobody_reads_its_output() {
    let mounted = Mounted::tmpfs();
    let state = tempfile::tempdir().unwrap();
    let mut child = lapwing()
        .args([std::ffi::OsStr::new("watch"), mounted.path().as_os_str()])
        .env("STATE_DIRECTORY", state.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut stderr = child.stderr.take().unwrap();
    std::io::Read::read_exact(&mut stderr, &mut [0; 6]).unwrap();
    fs::write(mounted.path().join("a.env"), text()).unwrap();
    assert_eq!(wait(&mut child).code(), Some(2));
}
