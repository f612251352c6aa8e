//! SSH against OpenSSH's own server. It must be installed: a machine without it fails these.

// Helpers outside of `#[test]` functions say what they expect by panicking, too.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod commands;
mod identity;
mod login;
mod server;
mod streams;
mod world;
