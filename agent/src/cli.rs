//! The command line: what a person can type, and its help. It touches nothing of the system.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use engine::Confidence;

use crate::limits::WORKERS_MAX;
use crate::report::Format;

/// Catches secrets the moment they are written to disk.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true, after_help = EXIT_STATUS)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_STATUS: &str = "\
Exit status of scan: 0 nothing found, 1 findings at or above --fail-on, 2 usage or fatal error,
3 finished, but part of the input could not be read (findings are still printed).";

/// A command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Watch folders and report secrets as they are written (needs root)
    Watch(Watch),
    /// Scan files and folders once
    Scan(Scan),
    /// List, show, check and try detection rules
    Rules(Rules),
}

/// Options that all commands share.
#[derive(Debug, Args)]
pub struct Common {
    /// Form of the findings on standard output
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Least confidence of what is reported
    #[arg(long, value_enum, value_name = "LEVEL", default_value_t = Level::Medium)]
    pub min_confidence: Level,
    /// Use the rules in this file, or in the *.toml files of this folder, instead of the built-in ones
    #[arg(long, value_name = "FILE|DIR")]
    pub rules: Option<PathBuf>,
    /// Number of workers; one for each processor by default
    #[arg(short = 'j', long = "workers", value_name = "N", value_parser = workers)]
    pub workers: Option<usize>,
    /// Say nothing on standard error but errors
    #[arg(short, long)]
    pub quiet: bool,
}

/// `lapwing watch`
#[derive(Debug, Args)]
#[command(after_help = "\
Findings go to standard output, everything else to standard error, where the line `ready` says that
every path is watched. A path that does not exist yet is watched from when it appears. SIGTERM and
SIGINT end the agent after all that is queued is scanned.")]
pub struct Watch {
    /// Files and folders [default: those of /home, /root, /srv, /etc, /opt and /tmp that exist]
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Report to the journal instead of standard output, as is the default under systemd
    #[arg(long)]
    pub journal: bool,
    /// The options that all commands share.
    #[command(flatten)]
    pub common: Common,
}

/// `lapwing scan`
#[derive(Debug, Args)]
pub struct Scan {
    /// Files and folders; `-` reads standard input
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// Least confidence of a finding that makes the exit status 1
    #[arg(long, value_enum, value_name = "LEVEL", default_value_t = Level::Medium)]
    pub fail_on: Level,
    /// Show secrets in clear
    #[arg(long)]
    pub show_secrets: bool,
    /// Say on standard error, for everything that looked like a secret, what was decided and why
    #[arg(long)]
    pub explain: bool,
    /// The options that all commands share.
    #[command(flatten)]
    pub common: Common,
}

/// `lapwing rules`
#[derive(Debug, Args)]
pub struct Rules {
    /// What to do.
    #[command(subcommand)]
    pub action: RulesAction,
    /// The rules in this file, or in the *.toml files of this folder, instead of the built-in ones
    #[arg(long, value_name = "FILE|DIR", global = true)]
    pub rules: Option<PathBuf>,
}

/// What can be done with rules.
#[derive(Debug, Subcommand)]
pub enum RulesAction {
    /// List all rules, a line each
    List,
    /// Show all of one rule, and the literals by which it is found
    Show {
        /// The rule's id
        id: String,
    },
    /// Prove that each rule finds its examples and none of its counter-examples
    Check,
    /// Read a text from standard input and say what each rule makes of it
    Test {
        /// Only this rule
        id: Option<String>,
    },
}

/// A confidence as it is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Level {
    /// The shape fits, as it does many other things
    Low,
    /// A provider's name stands next to a value of the right shape
    Medium,
    /// The value carries the provider's own mark
    High,
    /// A checksum or the value's structure proves it
    Certain,
}

impl From<Level> for Confidence {
    fn from(level: Level) -> Self {
        match level {
            Level::Low => Self::Low,
            Level::Medium => Self::Medium,
            Level::High => Self::High,
            Level::Certain => Self::Certain,
        }
    }
}

fn workers(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if (1..=WORKERS_MAX).contains(&count) => Ok(count),
        _ => Err(format!("a number from 1 to {WORKERS_MAX}")),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
