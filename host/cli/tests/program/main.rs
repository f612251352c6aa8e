//! The real program, run as a process in homes of its own.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects by panicking"
)]

mod audit;
mod calls;
mod connectors;
mod homes;
mod secrets;
mod service;
mod support;
mod unknowns;
mod usage;
