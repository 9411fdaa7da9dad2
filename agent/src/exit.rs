//! What the process's exit status says: a contract with scripts.

use std::process::ExitCode;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Nothing found; for `watch`, an orderly end.
    Clean,
    /// Findings at or above `--fail-on`.
    Findings,
    /// Usage, settings or a fatal error.
    Failure,
    /// Finished, but part of the input could not be read.
    Incomplete,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Clean => 0,
            Exit::Findings => 1,
            Exit::Failure => 2,
            Exit::Incomplete => 3,
        })
    }
}
