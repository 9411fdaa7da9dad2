//! A directory of its own for one test, and the real `git` to work in it.
//!
//! It must not let the machine's or the user's git settings into a test: the environment of git
//! is cleared of all but the search path, and no settings file outside the sandbox is read.
//!
//! The directory is free of symbolic links, so that paths can be compared, and is removed when
//! the test ends.

#![expect(clippy::disallowed_methods, reason = "tests compare with the real git")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A temporary directory in which git can be run.
#[derive(Debug)]
pub(crate) struct Sandbox {
    root: PathBuf,
    _directory: tempfile::TempDir,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().expect("the temporary directory can be written");
        let root = fs::canonicalize(directory.path()).expect("it was just made");
        Self { root, _directory: directory }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Writes a file, and the directories above it.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        let parent = path.parent().expect("it is below the root");
        fs::create_dir_all(parent).expect("the sandbox can be written");
        fs::write(path, content).expect("the sandbox can be written");
    }

    /// Makes the least that is a git directory.
    pub(crate) fn git_directory(&self, name: &str) {
        for below in ["objects/info", "refs"] {
            let path = self.path(name).join(below);
            fs::create_dir_all(path).expect("the sandbox can be written");
        }
        self.write(&format!("{name}/HEAD"), "ref: refs/heads/main\n");
    }

    pub(crate) fn fifo(&self, name: &str) {
        let status = Command::new("mkfifo").arg(self.path(name)).status();
        assert!(status.expect("mkfifo runs").success());
    }

    /// Runs git in the directory `name`, which must succeed, and gives what it prints.
    pub(crate) fn git(&self, name: &str, arguments: &[&str]) -> String {
        let path = self.path(name);
        let output = self.command(&path, arguments).output().expect("git runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?} in {name:?}: {stderr}");
        let stdout = String::from_utf8(output.stdout).expect("paths of the sandbox are text");
        stdout.trim_end().to_owned()
    }

    /// Whether git succeeds in the directory `name`.
    pub(crate) fn git_accepts(&self, name: &str, arguments: &[&str]) -> bool {
        let mut command = self.command(&self.path(name), arguments);
        command.output().expect("git runs").status.success()
    }

    fn command(&self, path: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.root)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CEILING_DIRECTORIES", &self.root)
            .args(["-c", "user.name=A", "-c", "user.email=a@example.org"])
            .args(["-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always"])
            .args(arguments)
            .current_dir(path);
        command
    }
}
