//! Repositories that git never makes: made to block, to exhaust or to confuse their reader.
//!
//! Each must give an answer, and most an error that names the file at fault. Where git itself
//! would block or read without bound, it is not asked.
//!
//! A test that hangs is a failure; nothing here takes more than a moment.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

use git_reader::{AlternateReason, FileError, OpenError, Repository};

use crate::sandbox::Sandbox;

/// Opens and discovers the work tree `work`, which must both fail with the same error.
fn refused(sandbox: &Sandbox) -> OpenError {
    let opened = Repository::open(&sandbox.path("work")).expect_err("it is hostile");
    let discovered = Repository::discover(&sandbox.path("work")).expect_err("it is hostile");
    assert_eq!(opened.to_string(), discovered.to_string());
    opened
}

fn assert_unreadable(error: &OpenError, file: &Path, expected: fn(&FileError) -> bool) {
    let OpenError::Unreadable { path, cause } = error else { panic!("{error}") };
    assert_eq!(path, file);
    assert!(expected(cause), "{error}");
}

#[test]
fn a_giant_git_file() {
    let sandbox = Sandbox::new();
    sandbox.git_directory("real");
    sandbox.write("work/.git", format!("gitdir: ../real{}", "\n".repeat(10 << 20)));
    let error = refused(&sandbox);
    let too_long = |cause: &FileError| matches!(cause, FileError::TooLong { .. });
    assert_unreadable(&error, &sandbox.path("work/.git"), too_long);
    // A sparse file that would fill memory.
    let file = fs::File::create(sandbox.path("work/.git")).unwrap();
    file.set_len(1 << 40).unwrap();
    assert_unreadable(&refused(&sandbox), &sandbox.path("work/.git"), too_long);
}

#[test]
fn git_files_that_lead_round_in_a_circle() {
    let sandbox = Sandbox::new();
    for (own, other) in [("gitdir: .git\n", ""), ("gitdir: ../b/.git\n", "gitdir: ../work/.git\n")]
    {
        sandbox.write("work/.git", own);
        sandbox.write("b/.git", other);
        assert!(!sandbox.git_accepts("work", &["rev-parse"]));
        let error = refused(&sandbox);
        let OpenError::GitFile { path, .. } = &error else { panic!("{error}") };
        assert_eq!(*path, sandbox.path("work/.git"));
    }
}

#[test]
fn symbolic_links_that_lead_round_in_a_circle() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("work")).unwrap();
    symlink(".git", sandbox.path("work/.git")).unwrap();
    let io = |cause: &FileError| matches!(cause, FileError::Io(_));
    assert_unreadable(&refused(&sandbox), &sandbox.path("work/.git"), io);
}

#[test]
fn common_directories_that_lead_round_in_a_circle() {
    let sandbox = Sandbox::new();
    sandbox.git_directory("work/.git");
    sandbox.git_directory("other");
    sandbox.write("work/.git/commondir", "../../other\n");
    sandbox.write("other/commondir", "../work/.git\n");
    // Followed once, as git does.
    let repository = Repository::open(&sandbox.path("work")).unwrap();
    assert_eq!(repository.common_dir(), sandbox.path("other"));
    assert_eq!(
        sandbox.git("work", &["rev-parse", "--path-format=absolute", "--git-common-dir"]),
        sandbox.path("other").to_str().unwrap()
    );
}

#[test]
fn nul_bytes() {
    let files = [("work/.git", "gitdir: ../re\0al\n"), ("work/.git/commondir", "../re\0al\n")];
    for (name, content) in files {
        let sandbox = Sandbox::new();
        if name.ends_with("commondir") {
            sandbox.git_directory("work/.git");
        }
        sandbox.write(name, content);
        let error = refused(&sandbox);
        let OpenError::Malformed { path, message } = &error else { panic!("{error}") };
        assert_eq!(*path, sandbox.path(name));
        assert!(message.contains("NUL"));
    }
}

#[test]
fn fifos_and_sockets_in_place_of_files() {
    for name in ["HEAD", "config", "commondir"] {
        let sandbox = Sandbox::new();
        sandbox.git_directory("work/.git");
        let file = sandbox.path("work/.git").join(name);
        fs::remove_file(&file).ok();
        sandbox.fifo(&format!("work/.git/{name}"));
        let not_regular = |cause: &FileError| matches!(cause, FileError::NotRegular);
        assert_unreadable(&refused(&sandbox), &file, not_regular);
        fs::remove_file(&file).unwrap();
        let _listener = UnixListener::bind(&file).unwrap();
        assert_unreadable(&refused(&sandbox), &file, not_regular);
    }
}

#[test]
fn a_fifo_in_place_of_the_git_file() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("work")).unwrap();
    sandbox.fifo("work/.git");
    let not_regular = |cause: &FileError| matches!(cause, FileError::NotRegular);
    assert_unreadable(&refused(&sandbox), &sandbox.path("work/.git"), not_regular);
}

#[test]
fn devices_in_place_of_files() {
    let sandbox = Sandbox::new();
    sandbox.git_directory("work/.git");
    symlink("/dev/zero", sandbox.path("work/.git/config")).unwrap();
    let not_regular = |cause: &FileError| matches!(cause, FileError::NotRegular);
    assert_unreadable(&refused(&sandbox), &sandbox.path("work/.git/config"), not_regular);
}

#[test]
fn alternates_that_cannot_be_followed() {
    let sandbox = Sandbox::new();
    sandbox.git_directory("work/.git");
    sandbox.fifo("work/.git/objects/info/alternates");
    let repository = Repository::open(&sandbox.path("work")).unwrap();
    let [fault] = repository.object_directories().faults() else { panic!("{repository:?}") };
    assert!(matches!(fault.reason(), AlternateReason::Unreadable(FileError::NotRegular)));
    assert_eq!(repository.object_directories().paths(), [sandbox.path("work/.git/objects")]);
}

#[test]
fn a_message_does_not_carry_what_was_read() {
    let sandbox = Sandbox::new();
    sandbox.write("secret", "hunter2\n");
    fs::create_dir(sandbox.path("work")).unwrap();
    symlink("../secret", sandbox.path("work/.git")).unwrap();
    assert!(!refused(&sandbox).to_string().contains("hunter2"));
}

#[test]
fn names_that_are_not_text() {
    let sandbox = Sandbox::new();
    let name = OsStr::from_bytes(b"\xff\xfe\n\x1b");
    sandbox.git_directory("real");
    fs::rename(sandbox.path("real"), sandbox.path("").join(name)).unwrap();
    sandbox.write("work/.git", b"gitdir: ../\xff\xfe\n\x1b\n");
    let repository = Repository::open(&sandbox.path("work")).unwrap();
    assert_eq!(repository.git_dir().file_name(), Some(name));
}

#[test]
fn paths_that_lead_nowhere() {
    for path in ["", "/nonexistent/path", "/dev/null", "/proc/self/mem"] {
        assert!(Repository::open(Path::new(path)).is_err(), "{path:?}");
    }
    for path in ["", "/nonexistent/path"] {
        assert!(Repository::discover(Path::new(path)).is_err(), "{path:?}");
    }
    assert!(Repository::open(Path::new(OsStr::from_bytes(b"a\0b"))).is_err());
}
