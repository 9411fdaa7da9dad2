//! An alert: a finding together with where it is and who put it there, as plain data on its way out.

use std::path::PathBuf;
use std::sync::Arc;

use engine::Finding;

use crate::change::Source;
use crate::process::Process;

/// What is reported.
#[derive(Clone, Debug)]
pub struct Alert {
    /// The finding.
    pub finding: Finding,
    /// The file, raw bytes.
    pub path: PathBuf,
    /// Who wrote the file last, if that is known.
    pub process: Option<Arc<Process>>,
    /// How the agent came to scan it.
    pub source: Source,
    /// The secret in clear, only ever under `--show-secrets`.
    pub secret: Option<Revealed>,
}

/// A secret that a person asked to see. Its `Debug` shows nothing.
#[derive(Clone)]
pub struct Revealed(pub Vec<u8>);

impl std::fmt::Debug for Revealed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Revealed(…)")
    }
}
