//! Commands through a whole host on a real OpenSSH server: what is claimed against what ran.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects by panicking"
)]

mod cancel;
mod deploy;
mod ends;
mod environment;
mod identity;
mod jump;
mod killed;
mod login;
mod lost;
mod namespace;
mod outputs;
mod peer;
mod program;
mod streams;
mod world;
