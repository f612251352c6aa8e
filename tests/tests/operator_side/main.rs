//! Who may call, and who may decide that: over real sockets, with real processes on both sides of them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects by panicking"
)]

mod agent;
mod credential;
mod locking;
mod one_uid;
mod policy;
mod program;
mod sessions;
mod world;
