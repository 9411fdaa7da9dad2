//! The commands, one file each. Here threads are started and errors get their context.

pub mod rules;
pub mod scan;
pub mod watch;
