//! What a scan reports: a [`Finding`], and the [`Secret`] that it stands for.
//!
//! A finding holds no part of the secret beyond its redacted form, so that it can be stored, sent and
//! printed. The secret itself is only lent to the sink during the call, and its `Debug` shows nothing.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::fingerprint::Fingerprint;
use crate::redact::Redacted;

/// How sure the engine is that a finding is a real secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// The shape is that of a secret, and of many other things.
    Low,
    /// A provider's name stands next to a value of the right shape.
    Medium,
    /// The value carries the provider's own mark.
    High,
    /// A checksum or the value's structure proves it.
    Certain,
}

impl Confidence {
    /// The word used on the command line, in JSON and in rule files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Certain => "certain",
        }
    }
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Where a rule stands in its engine: the argument of [`Engine::rule`](crate::Engine::rule).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleIndex(pub(crate) u32);

impl RuleIndex {
    pub(crate) fn get(self) -> usize {
        self.0 as usize
    }
}

/// One secret in one input. All positions are those of the secret itself, not of what surrounds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule that found it.
    pub rule: RuleIndex,
    /// How sure the engine is.
    pub confidence: Confidence,
    /// Bytes before the secret in the input.
    pub offset: u64,
    /// Length of the secret in bytes, at least 1.
    pub length: u64,
    /// Line of the secret's first byte, from 1; lines end with `\n`.
    pub line: u64,
    /// Line of the secret's last byte, from 1.
    pub end_line: u64,
    /// Bytes from the start of the line to the secret, from 1.
    pub column: u64,
    /// What may be shown of it.
    pub redacted: Redacted,
    /// The same for the same secret under the same key, and useless without the key.
    pub fingerprint: Fingerprint,
}

/// The bytes of a secret, lent to the sink. Never stored by the engine, never shown by `Debug`.
#[derive(Clone, Copy)]
pub struct Secret<'a>(pub(crate) &'a [u8]);

impl<'a> Secret<'a> {
    /// The bytes themselves. Whoever calls this answers for where they go.
    #[must_use]
    pub fn expose(self) -> &'a [u8] {
        self.0
    }
}

impl fmt::Debug for Secret<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidence_is_ordered_from_low_to_certain() {
        assert!(Confidence::Low < Confidence::Medium);
        assert!(Confidence::Medium < Confidence::High);
        assert!(Confidence::High < Confidence::Certain);
    }

    #[test]
    fn debug_of_a_secret_shows_nothing_of_it() {
        let text = format!("{:?}", Secret(b"hunter2hunter2"));
        assert_eq!(text, "Secret(…)");
    }
}
