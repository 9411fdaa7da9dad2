//! The agent: everything of Lapwing that touches Linux, threads, settings and people.
//!
//! `agent → engine` is its only dependency inside the project. Bytes flow one way: [`reader`] drains
//! [`fanotify`] into the [`coalescer`], changes go through the [`queue`] to [`worker`]s, findings to the
//! [`alerter`]. Between these parts there is only plain data. `scan` is a [`tree`] walk into the same
//! [`file_scanner`]. A library so that tests and benches reach each part; its only user is the program.

pub mod cli;
pub mod command;
pub mod exit;
pub mod limits;

pub mod alert;
pub mod alerter;
pub mod catchup;
pub mod change;
pub mod coalescer;
pub mod counters;
pub mod escape;
pub mod fanotify;
pub mod file_scanner;
pub mod file_system;
pub mod host_key;
pub mod inbox;
pub mod journal;
pub mod known;
pub mod listing;
pub mod locator;
pub mod logging;
pub mod long_path;
pub mod mounts;
pub mod notice;
pub mod panics;
pub mod privilege;
pub mod process;
pub mod queue;
pub mod reader;
pub mod report;
pub mod rules;
pub mod tree;
pub mod watchlist;
pub mod worker;
