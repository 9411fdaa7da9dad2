//! The fields of a finding, in the order in which JSON shows them. Absent fields are left out.

use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt;

use engine::{Confidence, Rule};
use serde::Serialize;

use crate::alert::Alert;
use crate::escape::percent;

/// One finding as JSON has it. Nothing here holds more of the secret than its redacted form, except
/// `secret` under `--show-secrets`.
#[derive(Debug, Serialize)]
pub struct Record<'a> {
    /// The rule's id.
    pub rule: &'a str,
    /// The rule's description.
    pub description: &'a str,
    /// How sure.
    pub confidence: Confidence,
    /// The file; percent-escaped if it is not UTF-8.
    pub path: Cow<'a, str>,
    /// From 1.
    pub line: u64,
    /// From 1.
    pub end_line: u64,
    /// In bytes, from 1.
    pub column: u64,
    /// In bytes, from 0.
    pub offset: u64,
    /// In bytes.
    pub length: u64,
    /// What may be shown.
    pub redacted: &'a str,
    /// In clear, lossily decoded; only under `--show-secrets`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<Cow<'a, str>>,
    /// 64 hexadecimal digits.
    pub fingerprint: String,
    /// The last writer's process id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<i32>,
    /// The last writer's command name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comm: Option<Cow<'a, str>>,
    /// The last writer's executable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exe: Option<Cow<'a, str>>,
    /// The last writer's real user id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    /// How the agent came to look.
    pub source: &'static str,
    /// `percent` if `path` is escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_encoding: Option<&'static str>,
}

impl<'a> Record<'a> {
    /// The fields of an alert that `rule` raised.
    #[must_use]
    pub fn new(rule: &'a Rule, alert: &'a Alert) -> Self {
        let finding = &alert.finding;
        let process = alert.process.as_deref();
        let path = percent(alert.path.as_os_str().as_bytes());
        Self {
            rule: &rule.id,
            description: &rule.description,
            confidence: finding.confidence,
            path_encoding: matches!(path, Cow::Owned(_)).then_some("percent"),
            path,
            line: finding.line,
            end_line: finding.end_line,
            column: finding.column,
            offset: finding.offset,
            length: finding.length,
            redacted: finding.redacted.as_str(),
            secret: alert.secret.as_ref().map(|secret| String::from_utf8_lossy(&secret.0)),
            fingerprint: finding.fingerprint.to_string(),
            pid: process.and_then(|process| process.pid),
            comm: process
                .and_then(|process| process.comm.as_deref())
                .map(|c| percent(c.as_bytes())),
            exe: process
                .and_then(|process| process.exe.as_deref())
                .map(|exe| percent(exe.as_os_str().as_bytes())),
            uid: process.and_then(|process| process.uid),
            source: alert.source.as_str(),
        }
    }
}
