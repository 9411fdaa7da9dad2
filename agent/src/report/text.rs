//! A finding as one line of text. All that comes from outside is escaped.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;

use engine::{Confidence, Decision, Rule};

use crate::alert::Alert;
use crate::escape::for_people;

/// `PATH:LINE:COLUMN: CONFIDENCE RULE REDACTED (DESCRIPTION), written by COMM[PID] uid UID`.
#[must_use]
pub(super) fn line(rule: &Rule, alert: &Alert) -> String {
    let finding = &alert.finding;
    let path = for_people(alert.path.as_os_str().as_bytes());
    let secret = match &alert.secret {
        Some(secret) => for_people(&secret.0),
        None => for_people(finding.redacted.as_str().as_bytes()),
    };
    let mut text = format!(
        "{path}:{}:{}: {} {} {secret} ({})",
        finding.line, finding.column, finding.confidence, rule.id, rule.description,
    );
    if let Some(writer) = writer(alert) {
        text.push_str(", written by ");
        text.push_str(&writer);
    }
    text
}

/// `LINE: RULE REDACTED is CONFIDENCE: WHY`, or `is dropped`.
#[must_use]
pub fn explanation(rule: &str, decision: &Decision) -> String {
    let redacted = for_people(decision.redacted.as_str().as_bytes());
    let verdict = decision.judgement.confidence.map_or("dropped", Confidence::as_str);
    format!("{}: {rule} {redacted} is {verdict}: {}", decision.line, decision.judgement.step)
}

/// Who wrote the file, as far as it is known.
#[must_use]
pub(super) fn writer(alert: &Alert) -> Option<String> {
    let process = alert.process.as_deref()?;
    let mut text = match &process.comm {
        Some(comm) => for_people(comm.as_bytes()),
        None => "process".to_owned(),
    };
    if let Some(pid) = process.pid {
        write!(text, "[{pid}]").expect("a String takes all");
    }
    if let Some(uid) = process.uid {
        write!(text, " uid {uid}").expect("a String takes all");
    }
    Some(text)
}
