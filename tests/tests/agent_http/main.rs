//! The host as agents meet it: real sockets, real peers behind it, and every answer held against the OpenAPI
//! document that the host itself serves.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects by panicking"
)]

mod agreed;
mod contents;
mod disconnects;
mod doors;
mod fuzzed;
mod intents;
mod program;
mod served;
mod sockets;
mod statuses;
mod stopping;
mod wire;

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
