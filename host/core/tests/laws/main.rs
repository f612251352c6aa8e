//! The laws of the core as tests. One program, so that it links once; one file per subject.

// Helpers outside of `#[test]` functions say what they expect by panicking, too.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod aggregation;
mod approvals;
mod attestations;
mod batches;
mod boundaries;
mod classify;
mod codes;
mod common;
mod copies;
mod durable;
mod envelope;
mod execs;
mod inquiries;
mod jobs;
mod keyed_answers;
mod late;
mod later_attempts;
mod properties;
mod retries;
mod secrets;
mod transitions;
