//! Lapwing's detection engine: bytes in, findings out.
//!
//! [`Engine`] is compiled once from [`Rule`]s and shared; each worker has a [`Scratch`]. A [`Scan`] takes
//! one input in chunks of any size and pushes its [`Finding`]s into a sink.
//!
//! ```
//! use engine::{Engine, FingerprintKey, expand, parse_rules};
//!
//! let rules = parse_rules(
//!     "example.toml",
//!     r#"
//!     provider = "Example"
//!     [[rules]]
//!     id = "example-token"
//!     description = "Example API token"
//!     regex = '''\b(ext_[0-9a-f]{32})\b'''
//!     confidence = "high"
//!     "#,
//! )?;
//! let engine = Engine::new(rules, FingerprintKey::new(&[0; 32]))?;
//! let mut scratch = engine.scratch()?;
//! let input = expand("key = ext_%{hex:32}\n", 1, None)?;
//! let mut lines = Vec::new();
//! engine.scan(&mut scratch).chunk(&input, true, &mut |finding, _secret| lines.push(finding.line));
//! assert_eq!(lines, [1]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The engine opens no file, starts no thread, reads no clock and no environment, and knows nothing of git.
//! Every bound is in [`limits`].
#![deny(missing_docs)]

mod anchor;
mod catalogue;
mod checksum;
mod confirm;
mod engine;
mod entropy;
mod example;
mod finding;
mod fingerprint;
mod judge;
pub mod limits;
mod line;
mod redact;
mod rule;
mod scan;
mod scratch;
mod vectorscan;

pub use crate::catalogue::embedded_rules;
pub use crate::checksum::{Checksum, Verdict};
pub use crate::engine::{Anchor, Engine, EngineError};
pub use crate::entropy::shannon;
pub use crate::example::{TemplateError, expand};
pub use crate::finding::{Confidence, Finding, RuleIndex, Secret};
pub use crate::fingerprint::{Fingerprint, FingerprintKey};
pub use crate::judge::{Judgement, Step};
pub use crate::redact::Redacted;
pub use crate::rule::{Place, Rule, RuleError, parse_rules};
pub use crate::scan::{Decision, Observer, Scan, Sink};
pub use crate::scratch::Scratch;
