//! Calls through a whole host against a scripted peer: what is claimed against what happened.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects by panicking"
)]

mod attest;
mod commits;
mod field;
mod hostile;
mod intents;
mod reconcile;
mod stripe;
