//! A scripted peer: a real TCP or TLS server that does what a script says and logs what it received
//! and what effects it applied. Its log is the truth that claims are compared with.
//!
//! It runs on threads of its own and never sleeps: a script that holds waits until it is released.

// This serves tests only, and tests say what they expect by panicking.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod ca;
mod script;
mod serve;
mod stream;

pub use ca::Ca;
pub use script::{Act, Script, Scripts};

use proofport_core::origin::Origin;
use rustls::ServerConfig;
use serve::Log;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

/// A running peer. Dropping it releases what is held and stops it from accepting.
pub struct Peer {
    address: SocketAddr,
    scheme: &'static str,
    log: Arc<Log>,
}

impl Peer {
    /// A plain HTTP peer on a free port of 127.0.0.1.
    #[must_use]
    pub fn http(scripts: impl Into<Scripts>) -> Self {
        Self::start("http", scripts.into(), None)
    }

    /// An HTTPS peer whose certificate this authority issued for 127.0.0.1 and localhost.
    #[must_use]
    pub fn https(scripts: impl Into<Scripts>, ca: &Ca) -> Self {
        Self::https_as(scripts, ca.server(&["127.0.0.1", "localhost"]))
    }

    /// An HTTPS peer with another certificate.
    #[must_use]
    pub fn https_as(scripts: impl Into<Scripts>, server: Arc<ServerConfig>) -> Self {
        Self::start("https", scripts.into(), Some(server))
    }

    fn start(scheme: &'static str, mut scripts: Scripts, tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let log = Arc::new(Log::default());
        let shared = Arc::clone(&log);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if shared.is_stopped() {
                    return;
                }
                let Ok(stream) = stream else { return };
                let (script, tls, log) = (scripts.next(), tls.clone(), Arc::clone(&shared));
                // In order of acceptance, before the next one is accepted.
                let index = log.accepted_one();
                thread::spawn(move || serve::serve(index, stream, tls, script, &log));
            }
        });
        Self { address, scheme, log }
    }

    /// The peer's origin, by address.
    #[must_use]
    pub fn origin(&self) -> Origin {
        self.origin_as("127.0.0.1")
    }

    /// The peer's origin under another name for its host.
    #[must_use]
    pub fn origin_as(&self, host: &str) -> Origin {
        Origin::parse(&format!("{}://{host}:{}", self.scheme, self.address.port())).unwrap()
    }

    /// The port that it listens on.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.address.port()
    }

    /// Every byte that was received, decrypted, one entry for each accepted connection, in order of
    /// acceptance.
    #[must_use]
    pub fn received(&self) -> Vec<Vec<u8>> {
        self.log.received()
    }

    /// How many connections were accepted.
    #[must_use]
    pub fn accepted(&self) -> usize {
        self.log.received().len()
    }

    /// How many requests came over a resumed TLS session.
    #[must_use]
    pub fn resumed(&self) -> usize {
        self.log.resumed()
    }

    /// How many effects were applied.
    #[must_use]
    pub fn effects(&self) -> usize {
        self.log.effects()
    }

    /// Lets every script that holds, now or later, go on.
    pub fn release(&self) {
        self.log.release();
    }

    /// Waits until this many effects were applied.
    ///
    /// # Panics
    /// When that takes more than 20 seconds.
    pub fn wait_effects(&self, effects: usize) {
        self.log.wait("effects", |state| state.effects >= effects);
    }

    /// Waits until this many connections have ended their script.
    ///
    /// # Panics
    /// When that takes more than 20 seconds.
    pub fn wait_ended(&self, connections: usize) {
        self.log.wait("ended connections", |state| state.ended >= connections);
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.log.stop();
        // Wakes the thread that accepts; if that fails, it is gone already.
        let _ = TcpStream::connect(self.address);
    }
}
