//! From an origin to a verified connection that has carried no byte of the request: a kept one, or a
//! new one.

use super::open::{Bare, Life, Open};
use super::outgoing::{Outgoing, Unsendable};
use super::pool::{Pool, Slot};
use super::target::{HttpTarget, Proxy};
use super::tls;
use super::transport::Transport;
use super::tunnel::{self, TunnelFailure};
use crate::address::AddressPolicy;
use crate::dial::{Attempt, Resolver, SetupFailure, io_cause, is_worth_another_attempt};
use crate::figures::{ConnectionFigures, Counters};
use crate::guard::Guard;
use crate::trust::SystemRoots;
use proofport_core::contract::Stage;
use proofport_core::evidence::{Cause, Hop, HttpVersion, PeerIdentity, SetupAttempt};
use proofport_core::origin::{Origin, Scheme};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;
use tokio::net::TcpStream;

/// Opens HTTP connections and keeps them. One for the whole host.
pub struct HttpEgress {
    resolver: Resolver,
    roots: SystemRoots,
    pool: Arc<Pool>,
    counters: Arc<Counters>,
}

/// What came of setting a connection up.
pub struct Setup {
    /// Every attempt, in order.
    pub attempts: Vec<SetupAttempt>,
    /// The connection, or why the last attempt failed.
    pub result: Result<Ready, SetupFailure>,
}

/// A verified connection, and the right to have it.
pub struct Ready {
    pub(super) origin: Origin,
    pub(super) open: Open,
    pub(super) slot: Slot,
    proxy: Option<Proxy>,
}

/// A connection and the one request that it is for.
pub struct Loaded {
    pub(super) open: Open,
    pub(super) slot: Slot,
    pub(super) outgoing: Outgoing,
}

/// A request can't go out on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unloadable {
    /// It is for another origin.
    #[error("the request is for another origin than this connection")]
    WrongOrigin,
    /// It can't be spelled for it.
    #[error(transparent)]
    Unsendable(#[from] Unsendable),
}

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
        Self { resolver, roots: SystemRoots::new(), pool: Arc::default(), counters: Arc::default() }
    }

    /// How many connections there are and were.
    #[must_use]
    pub fn figures(&self) -> ConnectionFigures {
        self.counters.figures(self.pool.idle())
    }

    /// A kept connection that is alive, or a new one; attempts are numbered from `first_n`. No byte of a
    /// request leaves.
    pub async fn connect(&self, target: &HttpTarget, first_n: u32) -> Setup {
        let until = Instant::now() + target.deadlines.overall;
        let mut log = Log { first_n, hop: target.hop(), until, attempts: Vec::new() };
        let result = self.connect_logged(target, &mut log).await;
        let proxy = target.proxy.clone().filter(|_| log.hop == Hop::ForwardProxy);
        let ready = result.map(|(open, slot)| Ready { origin: target.origin.clone(), open, slot, proxy });
        Setup { attempts: log.attempts, result: ready }
    }

    async fn connect_logged(&self, target: &HttpTarget, log: &mut Log) -> Result<(Open, Slot), SetupFailure> {
        let Some(slot) = self
            .pool
            .slot(target.key(), target.pool, target.deadlines.pool.min(target.deadlines.overall))
            .await
        else {
            let attempt = log.attempt(Stage::Pool);
            let patience = target.deadlines.pool;
            let why = format!("every connection to the origin was in use for {patience:?}");
            let failure = attempt.failed(Cause::PoolExhausted, why);
            log.push(attempt, Some(failure.cause));
            return Err(failure);
        };
        while let Some(open) = slot.take().filter(|_| !target.fresh) {
            let attempt = Attempt::reused(Stage::Pool, log.hop);
            // Pins may be read anew from a changed configuration; kept connections have to fit, too.
            let fits = open.peer.certificate.is_none_or(|digest| target.pins.check(&digest).is_ok());
            match open.life() {
                Life::Alive if fits => {
                    self.counters.reused();
                    log.push(attempt, None);
                    return Ok((open, slot));
                }
                Life::Alive | Life::Ended | Life::Stray => log.push(attempt, Some(Cause::ConnectionStale)),
            }
        }
        self.open_new(target, log).await.map(|open| (open, slot))
    }

    async fn open_new(&self, target: &HttpTarget, log: &mut Log) -> Result<Open, SetupFailure> {
        let most = target.setup_attempts.max(1);
        if !target.resolves_here() {
            return self.try_in_turn(target, &[None], most, log.attempt(Stage::Dns), log).await;
        }
        let (mut attempt, addresses) = self.resolve(&target.origin, target, most, log).await?;
        let (allowed, refused): (Vec<_>, Vec<_>) =
            addresses.into_iter().partition(|address| target.addresses.check(*address).is_ok());
        let mut failure = None;
        for address in refused {
            if let Err(denied) = attempt.check(&target.addresses, address) {
                let next = log.attempt(Stage::AddressCheck);
                log.push(std::mem::replace(&mut attempt, next), Some(denied.cause));
                failure = Some(denied);
            }
        }
        let allowed: Vec<_> = allowed.into_iter().map(Some).collect();
        match failure {
            Some(failure) if allowed.is_empty() => Err(failure),
            Some(_) | None => self.try_in_turn(target, &allowed, most, attempt, log).await,
        }
    }

    /// Tries these addresses, or the proxy where there is none, until one can be used.
    async fn try_in_turn(
        &self,
        target: &HttpTarget,
        addresses: &[Option<IpAddr>],
        most: u32,
        mut attempt: Attempt,
        log: &mut Log,
    ) -> Result<Open, SetupFailure> {
        let mut failure = None;
        for address in addresses.iter().cycle().take(usize::try_from(most).unwrap_or(usize::MAX)) {
            match self.open(target, *address, &mut attempt).await {
                Ok(open) => {
                    log.push(attempt, None);
                    return Ok(open);
                }
                Err(failed) => {
                    let next = log.attempt(Stage::AddressCheck);
                    log.push(std::mem::replace(&mut attempt, next), Some(failed.cause));
                    let again = is_worth_another_attempt(failed.cause) && Instant::now() < log.until;
                    failure = Some(failed);
                    if !again {
                        break;
                    }
                }
            }
        }
        Err(failure.unwrap_or_else(|| attempt.failed(Cause::NameNotFound, "no address".to_owned())))
    }

    /// The addresses, and the attempt that goes on with them.
    async fn resolve(
        &self,
        origin: &Origin,
        target: &HttpTarget,
        most: u32,
        log: &mut Log,
    ) -> Result<(Attempt, Vec<IpAddr>), SetupFailure> {
        let mut tried = 1;
        loop {
            let mut attempt = log.attempt(Stage::Dns);
            match attempt.resolve(&self.resolver, origin, target.deadlines.dns).await {
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

    /// Checks this address, dials it or has it dialled, verifies the peer and makes HTTP ready.
    async fn open(
        &self,
        target: &HttpTarget,
        address: Option<IpAddr>,
        attempt: &mut Attempt,
    ) -> Result<Open, SetupFailure> {
        if let Some(address) = address {
            attempt.check(&target.addresses, address)?;
        }
        let (stream, dialled) = match (&target.proxy, address) {
            (None, Some(address)) => {
                let to = SocketAddr::new(address, target.origin.port());
                (attempt.dial(to, target.deadlines.tcp_connect).await?, address)
            }
            (Some(proxy), _) => self.dial_proxy(target, proxy, attempt).await?,
            // Without a proxy every attempt has an address.
            (None, None) => return Err(attempt.failed(Cause::NameNotFound, "no address".to_owned())),
        };
        let stream = match &target.proxy {
            Some(proxy) if target.hop() == Hop::Tunnel => {
                let to = address.map_or_else(
                    || format!("{}:{}", target.origin.host_text(), target.origin.port()),
                    |address| SocketAddr::new(address, target.origin.port()).to_string(),
                );
                dig(target, proxy, &to, stream, attempt).await?
            }
            Some(_) | None => stream,
        };
        let bare = match target.origin.scheme() {
            Scheme::Http => Bare {
                transport: Transport::Plain(stream),
                peer: PeerIdentity { name: dialled.to_string(), certificate: None },
                hop: target.hop(),
                version: HttpVersion::Http11,
            },
            Scheme::Https => tls::handshake(attempt, stream, target, &self.roots).await?,
        };
        attempt.enter(Stage::HttpHandshake);
        let cause = |_: &std::io::Error| (Stage::HttpHandshake, Cause::ProtocolError);
        let open = attempt.stage(Stage::HttpHandshake, target.deadlines.tls, Open::new(bare), cause).await?;
        Ok(open.counted(self.counters.opened()))
    }

    /// A connection to the proxy. Its addresses have a policy of their own.
    async fn dial_proxy(
        &self,
        target: &HttpTarget,
        proxy: &Proxy,
        attempt: &mut Attempt,
    ) -> Result<(TcpStream, IpAddr), SetupFailure> {
        let since = Instant::now();
        let addresses = attempt.resolve(&self.resolver, &proxy.origin, target.deadlines.dns).await?;
        let allowed = |policy: &AddressPolicy| addresses.iter().copied().find(|a| policy.check(*a).is_ok());
        attempt.enter(Stage::AddressCheck);
        let Some(address) = allowed(&proxy.addresses) else {
            let why = "the proxy's address is special and not listed for it".to_owned();
            return Err(attempt.failed(Cause::AddressDenied, why));
        };
        attempt.passed(since);
        let to = SocketAddr::new(address, proxy.origin.port());
        Ok((attempt.dial(to, target.deadlines.tcp_connect).await?, address))
    }
}

/// Has the proxy open a tunnel.
async fn dig(
    target: &HttpTarget,
    proxy: &Proxy,
    to: &str,
    stream: TcpStream,
    attempt: &mut Attempt,
) -> Result<TcpStream, SetupFailure> {
    attempt.enter(Stage::ProxyTunnel);
    let since = Instant::now();
    let authorization = proxy.authorization.as_ref().map(|(value, _)| value);
    let patience = attempt.left(target.deadlines.tunnel);
    let opened = tokio::time::timeout(patience, tunnel::open(stream, to, authorization)).await;
    match opened {
        Ok(Ok(stream)) => {
            attempt.passed(since);
            Ok(stream)
        }
        Ok(Err(failure)) => {
            let (cause, status) = told_by(&failure);
            attempt.answered_by_proxy(status);
            Err(attempt.failed(cause, failure.to_string()))
        }
        Err(_) => {
            let why = format!("no answer of the proxy within {patience:?}");
            Err(attempt.failed(Cause::DeadlinePassed, why))
        }
    }
}

/// What a proxy's refusal is, in closed words, and its status if it had one.
fn told_by(failure: &TunnelFailure) -> (Cause, Option<u16>) {
    match failure {
        TunnelFailure::Io(kind) => (io_cause(*kind), None),
        TunnelFailure::Closed => (Cause::ConnectionClosed, None),
        TunnelFailure::Truncated => (Cause::Truncated, None),
        TunnelFailure::HeadTooLarge
        | TunnelFailure::Malformed
        | TunnelFailure::TooManyInterim
        | TunnelFailure::StrayBytes => (Cause::ProtocolError, None),
        TunnelFailure::AuthenticationRequired => (Cause::ProxyAuthentication, Some(407)),
        TunnelFailure::Refused { status, .. } => (Cause::ProxyRefused, Some(status.as_u16())),
    }
}

impl Ready {
    /// Who the peer proved to be.
    #[must_use]
    pub const fn peer(&self) -> &PeerIdentity {
        &self.open.peer
    }

    /// Binds a request to this connection.
    ///
    /// # Errors
    /// When the request was prepared for another origin: a credential never crosses origins.
    /// Or when it can't be spelled for this connection.
    pub fn load(self, mut outgoing: Outgoing) -> Result<Loaded, Unloadable> {
        if outgoing.target.origin != self.origin {
            return Err(Unloadable::WrongOrigin);
        }
        let authorization = self.proxy.as_ref().and_then(|proxy| proxy.authorization.as_ref());
        outgoing.fit(self.open.version(), self.open.hop, authorization.map(|(value, _)| value))?;
        Ok(Loaded { open: self.open, slot: self.slot, outgoing })
    }
}

impl Loaded {
    /// What recognises the secret of this request.
    #[must_use]
    pub fn guard(&self) -> Arc<Guard> {
        self.outgoing.guard()
    }

    /// Looks at the connection's socket once more: the last thing to do before the dispatch is made
    /// durable. None: it can be used. Otherwise the attempt that it turned out to be.
    #[must_use]
    pub fn found_dead(&self, n: u32) -> Option<SetupAttempt> {
        match self.open.life() {
            Life::Alive => None,
            Life::Ended | Life::Stray => {
                let attempt = match self.open.uses {
                    0 => Attempt::new(Stage::HttpHandshake, self.open.hop, Instant::now()),
                    _ => Attempt::reused(Stage::Pool, self.open.hop),
                };
                Some(attempt.end(n, Some(Cause::ConnectionStale)))
            }
        }
    }
}

/// The record of attempts.
struct Log {
    first_n: u32,
    hop: Hop,
    until: Instant,
    attempts: Vec<SetupAttempt>,
}

impl Log {
    fn attempt(&self, stage: Stage) -> Attempt {
        Attempt::new(stage, self.hop, self.until)
    }

    fn push(&mut self, attempt: Attempt, cause: Option<Cause>) {
        let n = u32::try_from(self.attempts.len()).unwrap_or(u32::MAX);
        self.attempts.push(attempt.end(self.first_n.saturating_add(n), cause));
    }
}
