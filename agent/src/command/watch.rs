//! `lapwing watch`: the agent.
//!
//! Sets everything up in an order in which nothing can be missed: workers first, then marks, then `ready`.
//! Ends in the opposite order: the reader hands out what waits, the workers finish it, the alerter shows it.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, RwLock};
use std::thread::{self, JoinHandle};
use std::{io, process};

use anyhow::{Context, Result, anyhow, bail};
use crossbeam_channel::{Receiver, bounded};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sd_notify::NotifyState;

use crate::alert::Alert;
use crate::alerter::Alerter;
use crate::catchup::Catchup;
use crate::cli::Watch;
use crate::counters::Counters;
use crate::escape::for_people;
use crate::exit::Exit;
use crate::fanotify::Group;
use crate::inbox::{Inbox, inbox};
use crate::journal::Journal;
use crate::known::Known;
use crate::limits::{ALERTS_MAX, CATCHUPS_MAX, WORKERS_MAX};
use crate::notice::Notices;
use crate::queue::{Consumer, queue};
use crate::reader::Reader;
use crate::watchlist::{Root, Watchlist};
use crate::worker::{Shared, Worker};
use crate::{host_key, logging, mounts, privilege, rules};

/// What is watched when nothing is named.
const DEFAULT_PATHS: &[&str] = &["/home", "/root", "/srv", "/etc", "/opt", "/tmp"];

/// Watches until SIGTERM or SIGINT.
///
/// # Errors
///
/// If the agent cannot start, or cannot see any more.
pub fn run(options: &Watch) -> Result<Exit> {
    let to_journal = options.journal || systemd_journal_logger::connected_to_journal();
    if to_journal {
        logging::to_journal()?;
    } else {
        logging::to_stderr(options.common.quiet)?;
    }
    privilege::check()?;
    let rules = options.common.rules.as_deref();
    let engine = rules::engine(rules, host_key::load_or_make()?)?;
    let signals = signals().context("preparing for signals")?;
    raise_descriptor_limit();

    let group = Group::new()?;
    let (watchlist, missing) = mark_all(&group, &options.paths)?;
    let watchlist = Arc::new(RwLock::new(watchlist));
    let (alerts, alert_receiver) = bounded(ALERTS_MAX);
    let (inbox, received) = inbox()?;
    let (producer, consumer) = queue();
    let shared = Shared {
        engine: Arc::clone(&engine),
        min_confidence: options.common.min_confidence.into(),
        watchlist: Arc::clone(&watchlist),
        known: Arc::new(Mutex::new(Known::new())),
        counters: Arc::new(Counters::default()),
        alerts,
        inbox: inbox.clone(),
    };
    let counters = Arc::clone(&shared.counters);
    let workers = start_workers(&shared, &consumer, options.common.workers)?;
    // The workers hold the only senders of alerts: when they end, the alerter does.
    drop(shared);
    let (alerter, notices) = outputs(options, to_journal)?;
    let alerter = start_alerter(alerter, engine, alert_receiver, inbox.clone())?;
    let (catchups, requests) = bounded(CATCHUPS_MAX);
    let catchup_waits = Arc::new(AtomicBool::new(false));
    let waits = Arc::clone(&catchup_waits);
    let catchup = Catchup::new(Arc::clone(&watchlist), inbox.clone(), notices, waits);
    // Not joined: it may be in the middle of a walk, which nobody needs any more at the end.
    spawn("catchup", move || catchup.run(&requests))?;
    stop_on_signal(signals, inbox)?;

    let reader = Reader { group, watchlist, missing, received, producer, catchups, catchup_waits };
    let reader = spawn("reader", move || reader.run())?;
    say_ready()?;
    let outcome = join(reader, "reader")?;
    sd_notify::notify(&[NotifyState::Stopping]).context("telling systemd")?;
    for worker in workers {
        join(worker, "worker")?;
    }
    join(alerter, "alerter")??;
    log::info!("{}", counters.summary());
    outcome.context("the agent is blind")?;
    Ok(Exit::Clean)
}

fn outputs(options: &Watch, to_journal: bool) -> Result<(Alerter, Notices)> {
    if !to_journal {
        return Ok((Alerter::stdout(options.common.format), Notices::default()));
    }
    let connect = || Journal::connect().context("connecting to the journal");
    Ok((Alerter::Journal(connect()?), Notices::in_journal(connect()?)))
}

/// Marks the file systems of the paths. Returns what is watched and what does not exist yet.
fn mark_all(group: &Group, paths: &[PathBuf]) -> Result<(Watchlist, Vec<PathBuf>)> {
    let defaults: Vec<PathBuf> =
        DEFAULT_PATHS.iter().map(PathBuf::from).filter(|path| path.exists()).collect();
    let chosen = if paths.is_empty() { &defaults } else { paths };
    let mut watchlist = Watchlist::default();
    let mut missing = Vec::new();
    let mut refused = None;
    for path in chosen {
        let shown = for_people(path.as_os_str().as_bytes());
        let root = match Root::new(path) {
            Ok(root) => root,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                log::warn!("{shown} does not exist; it is watched from when it appears");
                missing.push(std::path::absolute(path)?);
                continue;
            }
            Err(error) => return Err(anyhow!(error).context(shown)),
        };
        if let Err(error) = group.mark(&root.path) {
            log::warn!("{error}");
            refused = Some(error);
            continue;
        }
        mark_below(group, &root.path, &mut watchlist)?;
        if !watchlist.add(root) {
            bail!("too many paths");
        }
    }
    match refused {
        Some(error) if watchlist.roots().is_empty() => Err(error.into()),
        _ if watchlist.roots().is_empty() && missing.is_empty() => bail!("nothing to watch"),
        _ => Ok((watchlist, missing)),
    }
}

/// Marks the file systems that are mounted below a watched path.
fn mark_below(group: &Group, root: &Path, watchlist: &mut Watchlist) -> Result<()> {
    for mount in mounts::below(root).context("reading /proc/self/mountinfo")? {
        let shown = for_people(mount.path.as_os_str().as_bytes());
        match mount.kind {
            mounts::Kind::MadeUp => continue,
            mounts::Kind::Remote => {
                log::warn!("{shown} is not watched: its file system is {}", mount.file_system);
                continue;
            }
            mounts::Kind::Local => {}
        }
        // Unmounted or hidden by another mount in the meantime: nobody can write there.
        let Ok(below) = Root::new(&mount.path) else { continue };
        if let Err(error) = group.mark(&below.path) {
            log::warn!("{error}");
        } else if !watchlist.add(below) {
            bail!("too many file systems below {}", for_people(root.as_os_str().as_bytes()));
        }
    }
    Ok(())
}

fn start_workers(
    shared: &Shared,
    consumer: &Consumer,
    count: Option<usize>,
) -> Result<Vec<JoinHandle<()>>> {
    let processors = || thread::available_parallelism().map_or(1, usize::from);
    let count = count.unwrap_or_else(processors).min(WORKERS_MAX);
    let start = |index: usize| {
        let mut worker = Worker::new(shared.clone())?;
        let consumer = consumer.clone();
        spawn(&format!("scan-{index}"), move || {
            while let Some(change) = consumer.take() {
                worker.process(change);
            }
        })
    };
    (0..count).map(start).collect()
}

fn start_alerter(
    alerter: Alerter,
    engine: Arc<engine::Engine>,
    alerts: Receiver<Alert>,
    inbox: Inbox,
) -> Result<JoinHandle<Result<()>>> {
    spawn("alerter", move || {
        let outcome = alerter.run(&engine, &alerts);
        // Without anybody to tell, watching has no purpose.
        inbox.stop();
        outcome
    })
}

/// As many descriptors as the process may have: an event can hold one of its process. The soft limit is
/// low for the sake of select(2), which nothing here uses.
fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        log::warn!("the limit of open files stays at {:?}: {error}", limit.current);
    }
}

/// The first SIGTERM or SIGINT asks for an orderly end; the second one ends the process.
fn signals() -> Result<UnixStream> {
    let (receiver, sender) = UnixStream::pair()?;
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
        signal_hook::low_level::pipe::register(signal, sender.try_clone()?)?;
    }
    Ok(receiver)
}

fn stop_on_signal(mut signals: UnixStream, inbox: Inbox) -> Result<()> {
    spawn("signals", move || {
        let mut byte = [0];
        while io::Read::read(&mut signals, &mut byte).is_ok_and(|len| len > 0) {
            inbox.stop();
            let mut second = [0];
            if io::Read::read(&mut signals, &mut second).is_ok_and(|len| len > 0) {
                #[expect(clippy::exit, reason = "asked twice to end at once")]
                process::exit(2);
            }
        }
    })?;
    Ok(())
}

fn say_ready() -> Result<()> {
    io::Write::write_all(&mut io::stderr(), b"ready\n").context("writing to standard error")?;
    sd_notify::notify(&[NotifyState::Ready]).context("telling systemd")
}

fn spawn<T: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>> {
    thread::Builder::new().name(name.to_owned()).spawn(body).context("starting a thread")
}

fn join<T>(thread: JoinHandle<T>, name: &str) -> Result<T> {
    thread.join().map_err(|_| anyhow!("the {name} thread failed by a bug in lapwing"))
}
