//! The host's key for fingerprints: 32 random bytes in the state directory, readable by its owner only.
//!
//! `watch` makes it when there is none; `scan` uses one that it can read and otherwise one that lives
//! only as long as the run. The key never appears in any message.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use engine::FingerprintKey;
use rustix::process::geteuid;
use rustix::rand::{GetRandomFlags, getrandom};

const FILE: &str = "fingerprint.key";

/// The directory of the agent's state: systemd's `STATE_DIRECTORY`, `/var/lib/lapwing` for root,
/// `$XDG_STATE_HOME/lapwing` for others.
#[must_use]
pub fn state_directory() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    if let Some(directory) = absolute("STATE_DIRECTORY") {
        return Some(directory);
    }
    if geteuid().is_root() {
        return Some(PathBuf::from("/var/lib/lapwing"));
    }
    absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
        .map(|state| state.join("lapwing"))
}

/// The host's key, made if there is none.
///
/// # Errors
///
/// If it cannot be read, is damaged, or cannot be made.
pub fn load_or_make() -> Result<FingerprintKey> {
    let directory = state_directory().context("no state directory: set XDG_STATE_HOME or HOME")?;
    let path = directory.join(FILE);
    if let Some(key) = load(&path)? {
        return Ok(key);
    }
    make(&directory, &path).with_context(|| format!("making {}", path.display()))?;
    load(&path)?.with_context(|| format!("{} has vanished", path.display()))
}

/// The host's key if there is one that can be read and is whole, else one for this run only.
///
/// # Errors
///
/// If the kernel has no randomness.
pub fn load_or_borrow() -> Result<FingerprintKey> {
    if let Some(directory) = state_directory()
        && let Ok(Some(key)) = load(&directory.join(FILE))
    {
        return Ok(key);
    }
    Ok(FingerprintKey::new(&random()?))
}

fn load(path: &Path) -> Result<Option<FingerprintKey>> {
    let mut bytes = Vec::with_capacity(64);
    match File::open(path) {
        Ok(file) => file.take(64).read_to_end(&mut bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => Err(error),
    }
    .with_context(|| format!("reading {}", path.display()))?;
    let Ok(key) = <[u8; 32]>::try_from(bytes) else {
        bail!("{} is damaged: move it away, and a new key is made", path.display());
    };
    Ok(Some(FingerprintKey::new(&key)))
}

/// Writes a new key so that it is there as a whole or not at all. If another process was faster, its key
/// stays.
fn make(directory: &Path, path: &Path) -> Result<()> {
    let mut builder = fs::DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(builder.recursive(true), 0o700).create(directory)?;
    let temporary = directory.join(format!("{FILE}.{}", std::process::id()));
    let written = (|| {
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(&temporary)?;
        file.write_all(&random()?)?;
        file.sync_all()?;
        match fs::hard_link(&temporary, path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            other => other,
        }
    })();
    fs::remove_file(&temporary)?;
    Ok(written?)
}

fn random() -> io::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    let len = getrandom(&mut bytes, GetRandomFlags::empty())?;
    assert_eq!(len, bytes.len(), "up to 256 bytes come whole, see getrandom(2)");
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_key_is_made_once_and_private() {
        let directory = tempfile::tempdir().unwrap();
        let state = directory.path().join("state");
        let path = state.join(FILE);
        assert!(load(&path).unwrap().is_none());
        make(&state, &path).unwrap();
        let first = load(&path).unwrap().unwrap().fingerprint(b"x");
        make(&state, &path).unwrap();
        assert_eq!(load(&path).unwrap().unwrap().fingerprint(b"x"), first);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(&state).unwrap().count(), 1);
    }

    #[test]
    fn a_damaged_key_is_an_error_that_says_what_to_do() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(FILE);
        fs::write(&path, "short").unwrap();
        assert!(load(&path).unwrap_err().to_string().contains("move it away"));
    }
}
