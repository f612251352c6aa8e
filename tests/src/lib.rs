//! What the tests share.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects by panicking"
)]

pub mod bench;
pub mod cable;
pub mod canary;
pub mod cutter;
pub mod evidence;
pub mod guests;
pub mod killpoint;
pub mod localstripe;
pub mod mcp;
pub mod moto;
pub mod nginx;
pub mod peer;
pub mod plain_http;
pub mod program;
pub mod python;
pub mod read_then_die;
pub mod rig;
pub mod serving;
pub mod squid;
pub mod ssh_peer;
pub mod sshd;
pub mod way;
