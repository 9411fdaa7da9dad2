//! File systems to test on: made for a test, gone after it.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::agent::run;

/// A mounted file system.
pub(crate) struct Mounted {
    path: PathBuf,
    _directory: TempDir,
}

impl Mounted {
    /// A tmpfs.
    pub(crate) fn tmpfs() -> Self {
        Self::mount(|path| run("mount", &["-t", "tmpfs", "tmpfs", path.to_str().unwrap()]))
    }

    /// A file system on a loop device, made by `mkfs.KIND`.
    pub(crate) fn on_loop(kind: &str, megabytes: u64) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let image = directory.path().join("image");
        std::fs::File::create(&image).unwrap().set_len(megabytes << 20).unwrap();
        run(&format!("mkfs.{kind}"), &["-q", image.to_str().unwrap()]);
        let mounted = Self::mount(|path| {
            run("mount", &["-o", "loop", image.to_str().unwrap(), path.to_str().unwrap()]);
        });
        // The loop device keeps the image's blocks until it is unmounted.
        drop(directory);
        mounted
    }

    /// `source` a second time.
    pub(crate) fn bind(source: &Path) -> Self {
        Self::mount(|path| {
            run("mount", &["--bind", source.to_str().unwrap(), path.to_str().unwrap()]);
        })
    }

    fn mount(mount: impl FnOnce(&Path)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap().join("mnt");
        std::fs::create_dir(&path).unwrap();
        mount(&path);
        Self { path, _directory: directory }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Unmounts now. Fails if anything holds the file system.
    pub(crate) fn unmount(self) {
        run("umount", &[&self.path]);
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Unmounted already, or the test has failed; then get it out of the way.
        let _ = Command::new("umount").args(["-l", "-q"]).arg(&self.path).output();
    }
}
