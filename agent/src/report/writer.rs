//! Writes findings to a stream, a line each, flushed so that whoever reads sees them at once.

use std::io::{self, Write};

use clap::ValueEnum;
use engine::Rule;

use super::record::Record;
use super::text;
use crate::alert::Alert;

/// The form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// One line for people.
    Text,
    /// One JSON object a line.
    Jsonl,
}

/// A stream of findings.
#[derive(Debug)]
pub struct Writer<W> {
    stream: W,
    format: Format,
}

impl<W: Write> Writer<W> {
    /// Writes to `stream` in `format`.
    pub fn new(stream: W, format: Format) -> Self {
        Self { stream, format }
    }

    /// Writes one finding.
    ///
    /// # Errors
    ///
    /// The stream's.
    pub fn write(&mut self, rule: &Rule, alert: &Alert) -> io::Result<()> {
        match self.format {
            Format::Text => writeln!(self.stream, "{}", text::line(rule, alert))?,
            Format::Jsonl => {
                serde_json::to_writer(&mut self.stream, &Record::new(rule, alert))?;
                self.stream.write_all(b"\n")?;
            }
        }
        self.stream.flush()
    }
}
