//! The program `lapwing`: parses the command line, runs a command, turns the outcome into a status.

use std::io::{self, Write};
use std::process::ExitCode;

use agent::cli::{Cli, Command};
use agent::command::{rules, scan, watch};
use agent::escape::for_people;
use agent::exit::Exit;
use agent::panics;
use clap::Parser;

fn main() -> ExitCode {
    panics::install();
    let outcome = match Cli::parse().command {
        Command::Watch(options) => watch::run(&options),
        Command::Scan(options) => scan::run(&options),
        Command::Rules(options) => rules::run(&options),
    };
    match outcome {
        Ok(exit) => exit.into(),
        Err(error) if is_broken_pipe(&error) => Exit::Failure.into(),
        Err(error) => {
            // Line by line, since a message may have several; what it quotes may hold anything.
            for line in format!("lapwing: {error:#}").lines() {
                // With standard error gone there is nobody left to tell.
                let _ = writeln!(io::stderr(), "{}", for_people(line.as_bytes()));
            }
            Exit::Failure.into()
        }
    }
}

/// Whether the reader of our output has gone away, which needs no message.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}
