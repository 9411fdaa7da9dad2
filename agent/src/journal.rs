//! Alerts as journal entries.
//!
//! Speaks journald's native protocol (systemd.journal-fields(7), "Native Journal Protocol" in systemd's
//! documentation): every field with its length, so that no file name can end one and begin another. The
//! agent's own log goes through systemd-journal-logger; alerts do not, because that maps levels to
//! priorities 3 and below and leaves no 2 for `certain`, and because an alert must not be dropped in
//! silence: sending waits for a busy journal and tells its caller when there is none.

use std::io;
use std::os::unix::net::UnixDatagram;
use std::thread::sleep;
use std::time::Duration;

use engine::{Confidence, Rule};
use serde_json::Value;

use crate::alert::Alert;
use crate::escape::for_people;
use crate::report::Record;

const SOCKET: &str = "/run/systemd/journal/socket";

/// A secret was found. `lapwing.catalog` explains it.
pub const SECRET_FOUND: &str = "b1f8a7c2e0d94f6c8a3e5d7f90124c61";
/// Events were lost. `lapwing.catalog` explains it.
pub const EVENTS_LOST: &str = "5d0c9f3a6b1e4e2f97a8c4d2e6b30f18";
/// What was missed has been made good. `lapwing.catalog` explains it.
pub const RECOVERED: &str = "c37e6a90d52b4b1d8f04a1b9e8d75326";

/// How often an entry is tried while journald restarts.
const TRIES: u32 = 50;
/// How long one try may wait, and how long to wait between tries.
const WAIT: Duration = Duration::from_millis(200);

/// A connection to the journal.
#[derive(Debug)]
pub struct Journal {
    socket: UnixDatagram,
}

impl Journal {
    /// Connects.
    ///
    /// # Errors
    ///
    /// If journald does not listen.
    pub fn connect() -> io::Result<Self> {
        let socket = UnixDatagram::unbound()?;
        socket.set_write_timeout(Some(WAIT))?;
        // journald ignores an empty entry.
        socket.send_to(&[], SOCKET)?;
        Ok(Self { socket })
    }

    /// Sends an alert. Waits up to `TRIES * WAIT` for a journald that restarts or is busy.
    ///
    /// # Errors
    ///
    /// If journald did not take it.
    pub fn alert(&self, rule: &Rule, alert: &Alert) -> io::Result<()> {
        self.send(&entry(rule, alert)?)
    }

    /// Sends a notice about the agent itself.
    ///
    /// # Errors
    ///
    /// If journald did not take it.
    pub fn notice(&self, id: &str, message: &str, fields: &[(&str, u64)]) -> io::Result<()> {
        let mut entry = Vec::with_capacity(512);
        put(&mut entry, "MESSAGE", message);
        put(&mut entry, "MESSAGE_ID", id);
        put(&mut entry, "PRIORITY", "4");
        put(&mut entry, "SYSLOG_IDENTIFIER", "lapwing");
        for (name, number) in fields {
            put(&mut entry, &format!("LAPWING_{name}"), &number.to_string());
        }
        self.send(&entry)
    }

    fn send(&self, entry: &[u8]) -> io::Result<()> {
        let mut tries = 0;
        loop {
            match self.socket.send_to(entry, SOCKET) {
                Ok(_) => return Ok(()),
                Err(error) if tries == TRIES || error.kind() == io::ErrorKind::InvalidInput => {
                    return Err(error);
                }
                Err(_) => sleep(WAIT),
            }
            tries += 1;
        }
    }
}

fn entry(rule: &Rule, alert: &Alert) -> io::Result<Vec<u8>> {
    let mut entry = Vec::with_capacity(2048);
    put(&mut entry, "MESSAGE", &message(rule, alert));
    put(&mut entry, "MESSAGE_ID", SECRET_FOUND);
    put(&mut entry, "PRIORITY", priority(alert.finding.confidence));
    put(&mut entry, "SYSLOG_IDENTIFIER", "lapwing");
    let record = serde_json::to_value(Record::new(rule, alert))?;
    let Value::Object(fields) = record else { unreachable!("a record is an object") };
    for (name, value) in &fields {
        let name = format!("LAPWING_{}", name.to_ascii_uppercase());
        match value {
            Value::String(text) => put(&mut entry, &name, text),
            other => put(&mut entry, &name, &other.to_string()),
        }
    }
    Ok(entry)
}

fn message(rule: &Rule, alert: &Alert) -> String {
    use std::os::unix::ffi::OsStrExt;
    let path = for_people(alert.path.as_os_str().as_bytes());
    let (finding, description) = (&alert.finding, &rule.description);
    let (redacted, confidence) =
        (for_people(finding.redacted.as_str().as_bytes()), finding.confidence);
    format!("{description} {redacted} in {path}:{} (confidence {confidence})", finding.line)
}

fn priority(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Certain => "2",
        Confidence::High => "3",
        Confidence::Medium => "4",
        Confidence::Low => "5",
    }
}

/// Appends one field in the form with a length.
fn put(entry: &mut Vec<u8>, name: &str, value: &str) {
    assert!(name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_'));
    entry.extend_from_slice(name.as_bytes());
    entry.push(b'\n');
    entry.extend_from_slice(&(value.len() as u64).to_le_bytes());
    entry.extend_from_slice(value.as_bytes());
    entry.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_cannot_end_its_field() {
        let mut entry = Vec::new();
        put(&mut entry, "LAPWING_PATH", "a\nPRIORITY=0\nMESSAGE=owned");
        let expected = b"LAPWING_PATH\n\x1a\0\0\0\0\0\0\0a\nPRIORITY=0\nMESSAGE=owned\n";
        assert_eq!(entry, expected);
    }
}
