//! `lapwing scan`: one scan of files and folders.
//!
//! Needs no privilege and writes no state. Findings of one file are shown together and as they are found;
//! the order of files is that in which workers get to them.

use std::fs;
use std::io::{self, Stdout};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result, bail};
use engine::{Confidence, Engine, Finding, Secret};
use rustix::fs::Stat;

use crate::alert::{Alert, Revealed};
use crate::change::Source;
use crate::cli::Scan;
use crate::counters::Counters;
use crate::escape::for_people;
use crate::exit::Exit;
use crate::file_scanner::{FileScanner, Scanned};
use crate::limits::{DECISIONS_MAX, FINDINGS_TOGETHER_MAX, WORKERS_MAX};
use crate::listing::open_regular;
use crate::report::{Writer, explanation};
use crate::tree::{Visitor, Walk, path_buf};
use crate::{host_key, logging, rules};

/// Scans what the options name.
///
/// # Errors
///
/// If a path does not exist, the rules are wrong, or standard output is gone.
pub fn run(options: &Scan) -> Result<Exit> {
    logging::to_stderr(options.common.quiet)?;
    let paths = Paths::sort(&options.paths)?;
    let rules = options.common.rules.as_deref();
    let engine = rules::engine(rules, host_key::load_or_borrow()?)?;
    let output = Output {
        engine: Arc::clone(&engine),
        state: Mutex::new(State {
            writer: Writer::new(io::stdout(), options.common.format),
            failure: None,
            best: None,
        }),
        counters: Counters::default(),
    };
    let walk = Walk::new(paths.folders, paths.files);
    let mut visitors = Vec::new();
    for _ in 0..workers(options) {
        let min_confidence = options.common.min_confidence.into();
        let mut scanner = FileScanner::new(Arc::clone(&engine), min_confidence)?;
        if options.explain {
            scanner.keep_decisions();
        }
        visitors.push(ScanVisitor {
            scanner,
            output: &output,
            walk: &walk,
            show_secrets: options.show_secrets,
            found: Vec::new(),
        });
    }
    if paths.stdin
        && let Some(visitor) = visitors.first_mut()
    {
        visitor.stdin()?;
    }
    walk.run(&mut visitors);
    output.finish(options.fail_on.into())
}

fn workers(options: &Scan) -> usize {
    let processors = || thread::available_parallelism().map_or(1, usize::from);
    options.common.workers.unwrap_or_else(processors).min(WORKERS_MAX)
}

/// The paths given, by what they are.
#[derive(Debug, Default)]
struct Paths {
    folders: Vec<PathBuf>,
    files: Vec<PathBuf>,
    stdin: bool,
}

impl Paths {
    fn sort(given: &[PathBuf]) -> Result<Self> {
        let mut paths = Self::default();
        for path in given {
            if path.as_os_str() == "-" {
                paths.stdin = true;
                continue;
            }
            let shown = || for_people(path.as_os_str().as_bytes());
            let metadata = fs::metadata(path).with_context(shown)?;
            if metadata.is_dir() {
                paths.folders.push(path.clone());
            } else if metadata.is_file() {
                paths.files.push(path.clone());
            } else {
                bail!("{}: neither a file nor a folder", shown());
            }
        }
        Ok(paths)
    }
}

/// What all workers write to.
struct Output {
    engine: Arc<Engine>,
    state: Mutex<State>,
    counters: Counters,
}

struct State {
    writer: Writer<Stdout>,
    failure: Option<io::Error>,
    /// The highest confidence reported.
    best: Option<Confidence>,
}

impl Output {
    fn show(&self, alerts: &mut Vec<Alert>, walk: &Walk) {
        if alerts.is_empty() {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        Counters::add(&self.counters.findings, alerts.len() as u64);
        for alert in alerts.drain(..) {
            state.best = state.best.max(Some(alert.finding.confidence));
            let rule = self.engine.rule(alert.finding.rule);
            if let Err(error) = state.writer.write(rule, &alert) {
                state.failure.get_or_insert(error);
                walk.stop();
                return;
            }
        }
    }

    fn finish(self, fail_on: Confidence) -> Result<Exit> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = state.failure {
            return Err(error).context("writing to standard output");
        }
        log::info!("{}", self.counters.summary());
        if Counters::get(&self.counters.unreadable) > 0 {
            return Ok(Exit::Incomplete);
        }
        let failed = state.best.is_some_and(|best| best >= fail_on);
        Ok(if failed { Exit::Findings } else { Exit::Clean })
    }
}

/// One worker.
struct ScanVisitor<'a> {
    scanner: FileScanner,
    output: &'a Output,
    walk: &'a Walk,
    show_secrets: bool,
    found: Vec<Alert>,
}

impl ScanVisitor<'_> {
    fn stdin(&mut self) -> Result<()> {
        let path = b"-";
        let found = &mut self.found;
        let (show, output, walk) = (self.show_secrets, self.output, self.walk);
        let mut sink = |finding: &Finding, secret: Secret<'_>| {
            found.push(alert(path, finding, secret, show));
            if found.len() == FINDINGS_TOGETHER_MAX {
                output.show(found, walk);
            }
        };
        let scanned = self.scanner.scan_stream(io::stdin().lock(), &mut sink);
        let scanned = scanned.context("reading standard input")?;
        self.done(path, &scanned);
        Ok(())
    }

    fn done(&mut self, path: &[u8], scanned: &Scanned) {
        self.explain(path);
        self.output.show(&mut self.found, self.walk);
        let counters = &self.output.counters;
        Counters::add(&counters.scanned, 1);
        Counters::add(&counters.bytes, scanned.bytes);
        Counters::add(&counters.shrank, u64::from(scanned.shrank));
    }
}

impl ScanVisitor<'_> {
    /// Says what was decided about the file's matches.
    fn explain(&mut self, path: &[u8]) {
        let decisions = self.scanner.take_decisions();
        let path = for_people(path);
        for decision in &decisions {
            let id = &self.output.engine.rule(decision.rule).id;
            log::info!("{path}:{}", explanation(id, decision));
        }
        if decisions.len() == DECISIONS_MAX {
            log::warn!("{path}: there is more to explain than the {DECISIONS_MAX} lines above");
        }
    }
}

impl Visitor for ScanVisitor<'_> {
    // Links are followed, and it must be readable.
    fn given(&mut self, path: &Path) {
        let bytes = path.as_os_str().as_bytes();
        let open = fs::canonicalize(path).and_then(|canonical| {
            let parent = canonical.parent().unwrap_or(Path::new("/"));
            let name = canonical.file_name().unwrap_or_default();
            let directory = crate::listing::open_directory(parent)?;
            let name = std::ffi::CString::new(name.as_bytes())?;
            open_regular(directory.as_fd(), &name)
        });
        match open {
            Ok(Some((file, stat))) => self.file(bytes, file.as_fd(), &stat),
            Ok(None) => self.failed(bytes, &io::Error::other("not a regular file any more")),
            Err(error) => self.failed(bytes, &error),
        }
    }

    fn file(&mut self, path: &[u8], file: BorrowedFd<'_>, stat: &Stat) {
        let found = &mut self.found;
        let (show, output, walk) = (self.show_secrets, self.output, self.walk);
        let scanned = self.scanner.scan_file(file, stat, &mut |finding, secret| {
            found.push(alert(path, finding, secret, show));
            if found.len() == FINDINGS_TOGETHER_MAX {
                output.show(found, walk);
            }
        });
        match scanned {
            Ok(scanned) => self.done(path, &scanned),
            Err(error) => {
                self.output.show(&mut self.found, self.walk);
                self.failed(path, &error);
            }
        }
    }

    fn failed(&mut self, path: &[u8], error: &io::Error) {
        Counters::add(&self.output.counters.unreadable, 1);
        log::warn!("{}: {error}", for_people(path));
    }

    fn left_out(&mut self, path: &[u8]) {
        log::info!("{} is made up by the kernel and left out", for_people(path));
    }
}

fn alert(path: &[u8], finding: &Finding, secret: Secret<'_>, show_secrets: bool) -> Alert {
    Alert {
        finding: finding.clone(),
        path: path_buf(path),
        process: None,
        source: Source::Scan,
        secret: show_secrets.then(|| Revealed(secret.expose().to_vec())),
    }
}
