//! Which capabilities the agent needs, and a message for who lacks them.

use rustix::thread::{CapabilitySet, capabilities};

/// Capabilities without which `watch` cannot work, with what each is for.
const NEEDED: &[(CapabilitySet, &str, &str)] = &[
    (CapabilitySet::SYS_ADMIN, "CAP_SYS_ADMIN", "to watch whole file systems with fanotify"),
    (CapabilitySet::DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH", "to open files by handle"),
];

/// What is missing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "missing {missing}.\nRun it as root (sudo lapwing watch …), as the systemd service \
     (systemd/up.sh installs it), or give the binary the capabilities:\n  \
     setcap cap_sys_admin,cap_dac_read_search,cap_sys_ptrace+ep lapwing"
)]
pub struct MissingCapabilities {
    missing: String,
}

/// Checks that this process may watch.
///
/// # Errors
///
/// The names of what is missing, what each is for and how to get it.
pub fn check() -> Result<(), MissingCapabilities> {
    // Where they cannot be asked for, the calls that need them will say what is wrong.
    let effective = capabilities(None).map_or(CapabilitySet::all(), |sets| sets.effective);
    explain(effective)
}

fn explain(effective: CapabilitySet) -> Result<(), MissingCapabilities> {
    let missing: Vec<String> = NEEDED
        .iter()
        .filter(|(capability, _, _)| !effective.contains(*capability))
        .map(|(_, name, purpose)| format!("{name} ({purpose})"))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(MissingCapabilities { missing: missing.join(" and ") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_names_what_is_missing_and_only_that() {
        assert_eq!(explain(CapabilitySet::all()), Ok(()));
        let message = explain(CapabilitySet::SYS_ADMIN).unwrap_err().to_string();
        assert!(message.starts_with("missing CAP_DAC_READ_SEARCH (to open files by handle).\n"));
        let message = explain(CapabilitySet::empty()).unwrap_err().to_string();
        assert!(message.contains("CAP_SYS_ADMIN"));
    }
}
