//! The real binary on real fanotify, real files and a real journal. Needs root.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(
    clippy::disallowed_methods,
    reason = "tests start the program and the tools it lives with"
)]

mod agent;
mod file_systems;
mod hostile;
mod journal;
mod load;
mod rules;
mod scan;
mod token;
mod watch;
