//! A scripted peer: a real TCP or TLS server that does what a script says and logs what it received
//! and what effects it applied. Its log is the truth that claims are compared with.
//!
//! It runs on threads of its own and never sleeps: a script that holds waits until it is released.

// This serves tests only, and tests say what they expect by panicking.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod ca;
pub mod h2;
mod http1;
mod log;
mod script;
mod scripts;
mod serve;
mod stream;
mod wire;

pub use ca::{Alpn, Ca, Identity, ServerOptions};
pub use log::Session;
pub use script::{Act, Script};
pub use scripts::{ScriptList, Scripts};

use log::Log;
use proofport_core::origin::Origin;
use rustls::ServerConfig;
use serve::Speaks;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// What a certificate is for, where a test does not say.
const NAMES: &[&str] = &["127.0.0.1", "localhost"];

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
        Self::start("http", Speaks::Http1(scripts.into()), None)
    }

    /// An HTTPS peer whose certificate this authority issued for 127.0.0.1 and localhost.
    #[must_use]
    pub fn https(scripts: impl Into<Scripts>, ca: &Ca) -> Self {
        Self::https_as(scripts, ca.server(NAMES))
    }

    /// An HTTPS peer with another certificate.
    #[must_use]
    pub fn https_as(scripts: impl Into<Scripts>, server: Arc<ServerConfig>) -> Self {
        Self::start("https", Speaks::Http1(scripts.into()), Some(server))
    }

    /// A peer that speaks HTTP/2 over plain TCP, with clients that know it (RFC 9113 section 3.3).
    #[must_use]
    pub fn http2(scripts: impl Into<h2::Scripts>) -> Self {
        Self::start("http", Speaks::Http2(scripts.into()), None)
    }

    /// A peer that speaks HTTP/2 over TLS and offers nothing else, like [`https`](Self::https).
    #[must_use]
    pub fn https2(scripts: impl Into<h2::Scripts>, ca: &Ca) -> Self {
        Self::https2_as(scripts, ca.server_offering(NAMES, Alpn::Http2))
    }

    /// A peer that speaks HTTP/2 over TLS, whatever this server agrees to.
    #[must_use]
    pub fn https2_as(scripts: impl Into<h2::Scripts>, server: Arc<ServerConfig>) -> Self {
        Self::start("https", Speaks::Http2(scripts.into()), Some(server))
    }

    /// An HTTPS peer that speaks what ALPN chooses from this server's offer: HTTP/2 where that is `h2`,
    /// otherwise HTTP/1.1. Each protocol has its scripts, for its first, second, … connection.
    #[must_use]
    pub fn https_either(
        http1: impl Into<Scripts>,
        http2: impl Into<h2::Scripts>,
        server: Arc<ServerConfig>,
    ) -> Self {
        let scripts = Arc::new(Mutex::new((http1.into(), http2.into())));
        Self::start("https", Speaks::Either(scripts), Some(server))
    }

    fn start(scheme: &'static str, mut speaks: Speaks, tls: Option<Arc<ServerConfig>>) -> Self {
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
                let (part, tls, log) = (speaks.next(), tls.clone(), Arc::clone(&shared));
                // In order of acceptance, before the next one is accepted.
                let index = log.accepted_one();
                thread::spawn(move || serve::serve(index, stream, tls, part, &log));
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
        self.log.each(|connection| connection.received.clone())
    }

    /// What each accepted connection's TLS handshake settled. None: it was not completed, or there is no
    /// TLS.
    #[must_use]
    pub fn sessions(&self) -> Vec<Option<Session>> {
        self.log.each(|connection| connection.session.clone())
    }

    /// Every frame of HTTP/2 that was read, for each accepted connection.
    #[must_use]
    pub fn frames(&self) -> Vec<Vec<h2::Frame>> {
        self.log.each(|connection| connection.frames.clone())
    }

    /// Every request of HTTP/2, as far as it was read, for each accepted connection.
    #[must_use]
    pub fn requests(&self) -> Vec<Vec<h2::Request>> {
        self.log.each(|connection| connection.requests.clone())
    }

    /// How many connections were accepted.
    #[must_use]
    pub fn accepted(&self) -> usize {
        self.log.lock().connections.len()
    }

    /// How many requests came over a resumed TLS session.
    #[must_use]
    pub fn resumed(&self) -> usize {
        self.log.lock().resumed
    }

    /// How many effects were applied.
    #[must_use]
    pub fn effects(&self) -> usize {
        self.log.lock().effects
    }

    /// Lets every script that holds, now or later, go on.
    pub fn release(&self) {
        self.log.release();
    }

    /// Lets one script that waits for a step, now or later, go on, once.
    pub fn step(&self) {
        self.log.make_step();
    }

    /// Waits until this many effects were applied.
    ///
    /// # Panics
    /// When that takes more than 20 seconds.
    pub fn wait_effects(&self, effects: usize) {
        self.log.wait("effects", |state| state.effects >= effects);
    }

    /// Waits until scripts gave this many signals.
    ///
    /// # Panics
    /// When that takes more than 20 seconds.
    pub fn wait_signals(&self, signals: usize) {
        self.log.wait("signals", |state| state.signals >= signals);
    }

    /// Waits until scripts read this many requests whole, on all connections together.
    ///
    /// # Panics
    /// When that takes more than 20 seconds.
    pub fn wait_requests(&self, requests: usize) {
        self.log.wait("requests", |state| state.requests >= requests);
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
