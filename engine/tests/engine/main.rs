//! The engine seen from outside.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod anchors;
mod chunks;
mod overlap;
mod recall;
mod support;
