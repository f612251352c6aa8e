//! The client against a host by script, which counts what it is sent.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what it expects by panicking")]

mod answers;
mod contents;
mod doubts;
mod host;
mod schema;
mod silences;
mod steps;
