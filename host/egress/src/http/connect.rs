//! From an origin to a verified connection that has carried no byte of a request yet.

use super::outgoing::Outgoing;
use super::tls;
use super::transport::Transport;
use super::wire::{Counted, Wire};
use crate::address::AddressPolicy;
use crate::dial::{Attempt, Resolver, SetupDeadlines, SetupFailure, is_worth_another_attempt};
use crate::trust::{SystemRoots, Trust};
use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use proofport_core::contract::Stage;
use proofport_core::evidence::{Cause, PeerIdentity, SetupAttempt};
use proofport_core::origin::{Origin, Scheme};
use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

/// The largest response head, in bytes. hyper's buffers are bounded by it too: it may already have
/// more than that when it looks at the head.
const LARGEST_HEAD: usize = 64 * 1024;

/// Opens HTTP connections. One for the whole host: it holds the system's roots.
pub struct HttpEgress {
    resolver: Resolver,
    roots: SystemRoots,
}

/// Where a connection goes and under which rules.
#[derive(Clone)]
pub struct HttpTarget {
    /// Scheme, host and port.
    pub origin: Origin,
    /// Which certificates are believed.
    pub trust: Trust,
    /// Which addresses may be dialled.
    pub addresses: AddressPolicy,
    /// How long each stage may take.
    pub deadlines: SetupDeadlines,
    /// The most lookups, and the most connections, that are tried; at least one of each is. The
    /// resolved addresses take turns, so a name with an unreachable address needs two.
    pub setup_attempts: u32,
}

/// What came of setting a connection up.
pub struct Setup {
    /// Every attempt, in order.
    pub attempts: Vec<SetupAttempt>,
    /// The connection, or why the last attempt failed.
    pub result: Result<Ready, SetupFailure>,
}

pub(super) type Io = TokioIo<Counted<Transport>>;

/// A verified connection that has carried nothing yet.
pub struct Ready {
    pub(super) origin: Origin,
    pub(super) peer: PeerIdentity,
    pub(super) sender: http1::SendRequest<Full<Bytes>>,
    pub(super) connection: http1::Connection<Io, Full<Bytes>>,
    pub(super) wire: Wire,
}

/// A connection and the one request that it is for.
pub struct Loaded {
    pub(super) ready: Ready,
    pub(super) outgoing: Outgoing,
}

/// The request is for another origin than the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the request is for another origin than this connection")]
pub struct WrongOrigin;

impl Default for HttpEgress {
    fn default() -> Self {
        Self::new()
    }
}

impl HttpEgress {
    /// Egress with the system's resolver and roots. The roots are read when the first TLS connection
    /// needs them.
    #[must_use]
    pub fn new() -> Self {
        Self::with_resolver(Resolver::System)
    }

    /// Egress with another resolver.
    #[must_use]
    pub fn with_resolver(resolver: Resolver) -> Self {
        Self { resolver, roots: SystemRoots::new() }
    }

    /// Sets a connection up; its attempts are numbered from `first_n`. No byte of a request leaves.
    pub async fn connect(&self, target: &HttpTarget, first_n: u32) -> Setup {
        let mut log = Log { first_n, attempts: Vec::new() };
        let result = self.connect_logged(target, &mut log).await;
        Setup { attempts: log.attempts, result }
    }

    async fn connect_logged(&self, target: &HttpTarget, log: &mut Log) -> Result<Ready, SetupFailure> {
        let most = target.setup_attempts.max(1);
        let (mut attempt, addresses) = self.resolve(target, most, log).await?;
        let (allowed, refused): (Vec<_>, Vec<_>) =
            addresses.into_iter().partition(|address| target.addresses.check(*address).is_ok());
        let mut failure = None;
        for address in refused {
            if let Err(denied) = attempt.check(&target.addresses, address) {
                let next = Attempt::new(Stage::AddressCheck);
                log.push(std::mem::replace(&mut attempt, next), Some(denied.cause));
                failure = Some(denied);
            }
        }
        for address in allowed.iter().cycle().take(usize::try_from(most).unwrap_or(usize::MAX)) {
            match self.open(target, *address, &mut attempt).await {
                Ok(ready) => {
                    log.push(attempt, None);
                    return Ok(ready);
                }
                Err(failed) => {
                    let next = Attempt::new(Stage::AddressCheck);
                    log.push(std::mem::replace(&mut attempt, next), Some(failed.cause));
                    let again = is_worth_another_attempt(failed.cause);
                    failure = Some(failed);
                    if !again {
                        break;
                    }
                }
            }
        }
        // There is a failure here: no address means that each was denied or that there was none.
        Err(failure.unwrap_or_else(|| attempt.failed(Cause::NameNotFound, "no address".to_owned())))
    }

    /// The addresses, and the attempt that goes on with them.
    async fn resolve(
        &self,
        target: &HttpTarget,
        most: u32,
        log: &mut Log,
    ) -> Result<(Attempt, Vec<IpAddr>), SetupFailure> {
        let mut tried = 1;
        loop {
            let mut attempt = Attempt::new(Stage::Dns);
            match attempt.resolve(&self.resolver, &target.origin, target.deadlines.dns).await {
                Ok(addresses) => return Ok((attempt, addresses)),
                Err(failure) => {
                    log.push(attempt, Some(failure.cause));
                    if tried >= most || !is_worth_another_attempt(failure.cause) {
                        return Err(failure);
                    }
                    tried += 1;
                }
            }
        }
    }

    /// Checks this address, dials it, verifies the peer and makes HTTP ready.
    async fn open(
        &self,
        target: &HttpTarget,
        address: IpAddr,
        attempt: &mut Attempt,
    ) -> Result<Ready, SetupFailure> {
        attempt.check(&target.addresses, address)?;
        let dialled = SocketAddr::new(address, target.origin.port());
        let stream = attempt.dial(dialled, target.deadlines.tcp_connect).await?;
        let (transport, peer) = match target.origin.scheme() {
            Scheme::Http => {
                let peer = PeerIdentity { name: address.to_string(), certificate: None };
                (Transport::Plain(stream), peer)
            }
            Scheme::Https => {
                let deadline = target.deadlines.tls;
                tls::handshake(attempt, stream, &target.origin, &target.trust, &self.roots, deadline).await?
            }
        };
        attempt.enter(Stage::HttpHandshake);
        let since = Instant::now();
        let wire = Wire::new(peer.certificate.is_some());
        let io = TokioIo::new(Counted::new(transport, wire.clone()));
        let (sender, connection) = http1::Builder::new()
            .max_header_size(LARGEST_HEAD)
            .max_buf_size(LARGEST_HEAD)
            .handshake(io)
            .await
            .map_err(|error| attempt.failed(Cause::ProtocolError, error.to_string()))?;
        attempt.passed(since);
        Ok(Ready { origin: target.origin.clone(), peer, sender, connection, wire })
    }
}

impl Ready {
    /// Who the peer proved to be.
    #[must_use]
    pub const fn peer(&self) -> &PeerIdentity {
        &self.peer
    }

    /// Binds a request to this connection.
    ///
    /// # Errors
    /// When the request was prepared for another origin: a credential never crosses origins.
    pub fn load(self, outgoing: Outgoing) -> Result<Loaded, WrongOrigin> {
        if outgoing.origin == self.origin { Ok(Loaded { ready: self, outgoing }) } else { Err(WrongOrigin) }
    }
}

/// The record of attempts.
struct Log {
    first_n: u32,
    attempts: Vec<SetupAttempt>,
}

impl Log {
    fn push(&mut self, attempt: Attempt, cause: Option<Cause>) {
        let n = u32::try_from(self.attempts.len()).unwrap_or(u32::MAX);
        self.attempts.push(attempt.end(self.first_n.saturating_add(n), cause));
    }
}
