//! The same bytes again: by the host within its budget, or because an operator says so, and never otherwise.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects by panicking"
)]

mod answers;
mod budget;
mod hands;
mod jobs;
mod operator;
mod questions;
mod returning;

use proofport_broker::Clock;
use proofport_core::time::UnixMillis;
use proofport_tests::peer::{Act, Peer, Script, Scripts};
use proofport_tests::rig::{Rig, Wanted};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";

/// An effect whose answer is lost.
fn lost() -> Script {
    Script(vec![Act::ReadRequest, Act::Effect, Act::Close])
}

/// An effect that is answered like this.
fn answered(answer: &str) -> Script {
    Script(vec![Act::ReadRequest, Act::Effect, Act::Send(answer.into()), Act::Close])
}

/// An effect that the remote takes on as a job.
fn taken_on() -> Script {
    let answer = "HTTP/1.1 202 Accepted\r\ncontent-length: 2\r\n\r\n{}";
    Script(vec![Act::ReadRequest, Act::Effect, Act::Send(answer.into()), Act::Close])
}

/// A query that is answered with one word.
fn says(word: &str) -> Script {
    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{word}", word.len());
    Script(vec![Act::ReadRequest, Act::Send(answer.into()), Act::Close])
}

fn status(line: &str) -> String {
    format!("HTTP/1.1 {line}\r\ncontent-length: 2\r\n\r\n{{}}")
}

/// A clock that goes on by itself only where somebody waits for it: at once, to the time that is waited for.
struct Leaping(AtomicU64);

impl Leaping {
    const START: u64 = 1_700_000_000_000;

    /// Seconds since its start.
    fn seconds(&self) -> u64 {
        (self.0.load(Ordering::SeqCst) - Self::START) / 1000
    }

    fn set(&self, seconds: u64) {
        self.0.store(Self::START + seconds * 1000, Ordering::SeqCst);
    }
}

impl Clock for Leaping {
    fn now(&self) -> UnixMillis {
        UnixMillis(self.0.load(Ordering::SeqCst))
    }

    fn until(&self, at: UnixMillis) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            self.0.fetch_max(at.0, Ordering::SeqCst);
        })
    }
}

/// A peer with these scripts, one a connection, and a home whose connection has these retries.
async fn site(each: Vec<Script>, retries: &str) -> (Peer, Rig, Arc<Leaping>) {
    site_of("promises", Scripts { each: each.into(), default: None }, retries).await
}

/// The same for another guest.
async fn site_of(guest: &'static str, scripts: Scripts, retries: &str) -> (Peer, Rig, Arc<Leaping>) {
    let peer = Peer::http(scripts);
    let mut wanted = Wanted::new(guest, peer.origin(), if guest == "promises" { "key" } else { "" });
    wanted.more = retries.to_owned();
    let mut rig = Rig::new(&wanted.limits("setup_attempts = 1\nidle_seconds = 0")).await;
    let clock = Arc::new(Leaping(AtomicU64::new(Leaping::START)));
    rig.clock = Arc::<Leaping>::clone(&clock);
    (peer, rig, clock)
}

/// Every request that the peer received was this one.
fn assert_same_bytes(peer: &Peer, what: &str) {
    let received = peer.received();
    for request in &received[1..] {
        assert_eq!(String::from_utf8_lossy(request), String::from_utf8_lossy(&received[0]), "{what}");
    }
}
