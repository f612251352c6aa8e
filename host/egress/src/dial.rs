//! The part of connection setup that every protocol shares: resolution, the address check and the
//! TCP connection. One attempt is one [`Attempt`], which becomes one [`SetupAttempt`].

use crate::address::AddressPolicy;
use crate::{lookup, tls_error};
use proofport_core::contract::Stage;
use proofport_core::evidence::{Cause, Hop, SetupAttempt, StageTiming};
use proofport_core::origin::{Host, Origin};
use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;

/// The most addresses of one name that are looked at.
const MOST_ADDRESSES: usize = 16;

/// How names become addresses.
#[derive(Clone, Debug, Default)]
pub enum Resolver {
    /// The system's resolver.
    #[default]
    System,
    /// These names and no others.
    Fixed(BTreeMap<String, Vec<IpAddr>>),
}

/// How long each stage of setup may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetupDeadlines {
    /// Name resolution.
    pub dns: Duration,
    /// The TCP connection.
    pub tcp_connect: Duration,
    /// The TLS handshake, and making HTTP ready.
    pub tls: Duration,
    /// Waiting for a connection to the origin that may be opened or used.
    pub pool: Duration,
    /// The tunnel through a proxy.
    pub tunnel: Duration,
    /// All stages of all attempts together.
    pub overall: Duration,
}

/// Why no connection came about. Nothing was dispatched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("connection setup failed at {stage}: {cause}")]
pub struct SetupFailure {
    /// The stage that failed.
    pub stage: Stage,
    /// Why.
    pub cause: Cause,
    /// The local error's text, for operators only: words of ours, of the system or, about our own
    /// configuration, of the TLS library; none of the peer's or a proxy's, so that no secret is in it.
    pub detail: String,
}

/// One attempt under way: what it has passed, and when.
pub(crate) struct Attempt {
    stage: Stage,
    address: Option<IpAddr>,
    timings: Vec<StageTiming>,
    hop: Hop,
    reused: bool,
    proxy_status: Option<u16>,
    until: Instant,
}

impl Attempt {
    /// An attempt that may take until then.
    pub(crate) fn new(stage: Stage, hop: Hop, until: Instant) -> Self {
        Self {
            until,
            stage,
            address: None,
            timings: Vec::with_capacity(6),
            hop,
            reused: false,
            proxy_status: None,
        }
    }

    /// An attempt on a kept connection.
    pub(crate) fn reused(stage: Stage, hop: Hop) -> Self {
        Self { reused: true, ..Self::new(stage, hop, Instant::now()) }
    }

    /// What is left for a stage: its own deadline, or the rest of all.
    pub(crate) fn left(&self, deadline: Duration) -> Duration {
        deadline.min(self.until.saturating_duration_since(Instant::now()))
    }

    /// Notes the status with which a proxy answered.
    pub(crate) fn answered_by_proxy(&mut self, status: Option<u16>) {
        self.proxy_status = status;
    }

    /// Enters a stage that takes no time of its own.
    pub(crate) fn enter(&mut self, stage: Stage) {
        self.stage = stage;
    }

    /// Notes that the stage which was entered took this long.
    pub(crate) fn passed(&mut self, since: Instant) {
        self.passed_in(since.elapsed());
    }

    /// Notes that the stage which was entered took this long, where its end was known later.
    pub(crate) fn passed_in(&mut self, time: Duration) {
        self.timings.push(StageTiming { stage: self.stage, micros: micros(time) });
    }

    /// Carries out a stage within its deadline.
    pub(crate) async fn stage<T>(
        &mut self,
        stage: Stage,
        deadline: Duration,
        work: impl Future<Output = io::Result<T>>,
        cause: impl FnOnce(&io::Error) -> (Stage, Cause),
    ) -> Result<T, SetupFailure> {
        self.enter(stage);
        let since = Instant::now();
        let deadline = self.left(deadline);
        match tokio::time::timeout(deadline, work).await {
            Ok(Ok(done)) => {
                self.passed(since);
                Ok(done)
            }
            Ok(Err(error)) => {
                let (stage, cause) = cause(&error);
                self.enter(stage);
                Err(self.failed(cause, tls_error::text(&error)))
            }
            Err(_) => Err(self.failed(Cause::DeadlinePassed, format!("no answer within {deadline:?}"))),
        }
    }

    /// A failure at the stage that was entered last.
    pub(crate) fn failed(&self, cause: Cause, detail: String) -> SetupFailure {
        SetupFailure { stage: self.stage, cause, detail }
    }

    /// The record of this attempt.
    pub(crate) fn end(self, n: u32, cause: Option<Cause>) -> SetupAttempt {
        SetupAttempt {
            n,
            stage: self.stage,
            cause,
            address: self.address.map(|address| address.to_string()),
            timings: self.timings,
            reused: self.reused,
            hop: self.hop,
            proxy_status: self.proxy_status,
        }
    }

    /// Resolves the origin's host; a literal address is its own answer.
    pub(crate) async fn resolve(
        &mut self,
        resolver: &Resolver,
        origin: &Origin,
        deadline: Duration,
    ) -> Result<Vec<IpAddr>, SetupFailure> {
        self.resolve_host(resolver, origin.host(), origin.port(), deadline).await
    }

    /// Resolves a host; a literal address is its own answer.
    pub(crate) async fn resolve_host(
        &mut self,
        resolver: &Resolver,
        host: &Host,
        port: u16,
        deadline: Duration,
    ) -> Result<Vec<IpAddr>, SetupFailure> {
        let name = match host {
            Host::Address(address) => return Ok(vec![*address]),
            Host::Name(name) => name,
        };
        let lookup = async {
            let mut found = Vec::new();
            match resolver {
                Resolver::System => {
                    found.extend(lookup::addresses(name, port).await?);
                }
                Resolver::Fixed(names) => found.extend(names.get(name).into_iter().flatten()),
            }
            let mut addresses = Vec::new();
            for address in found {
                if !addresses.contains(&address) && addresses.len() < MOST_ADDRESSES {
                    addresses.push(address);
                }
            }
            if addresses.is_empty() { Err(io::Error::from(io::ErrorKind::NotFound)) } else { Ok(addresses) }
        };
        self.stage(Stage::Dns, deadline, lookup, |error| (Stage::Dns, resolver_cause(error))).await
    }

    /// Checks the address; the one that passes is the one to dial.
    pub(crate) fn check(&mut self, policy: &AddressPolicy, address: IpAddr) -> Result<(), SetupFailure> {
        self.enter(Stage::AddressCheck);
        self.address = Some(address);
        let since = Instant::now();
        policy.check(address).map_err(|denied| self.failed(Cause::AddressDenied, denied.to_string()))?;
        self.passed(since);
        Ok(())
    }

    /// Dials a checked address.
    pub(crate) async fn dial(
        &mut self,
        address: SocketAddr,
        deadline: Duration,
    ) -> Result<TcpStream, SetupFailure> {
        let connect = async {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Ok(stream)
        };
        let cause = |error: &io::Error| (Stage::TcpConnect, io_cause(error.kind()));
        self.stage(Stage::TcpConnect, deadline, connect, cause).await
    }
}

/// Whether the same attempt may go better in a moment or at another address.
pub(crate) const fn is_worth_another_attempt(cause: Cause) -> bool {
    match cause {
        Cause::ResolverFailed
        | Cause::ConnectionRefused
        | Cause::Unreachable
        | Cause::ConnectionReset
        | Cause::ConnectionClosed
        | Cause::DeadlinePassed
        | Cause::TlsFailed
        | Cause::ConnectionStale
        | Cause::ProxyRefused
        | Cause::KeepaliveTimeout
        | Cause::Disconnected
        | Cause::LocalIo => true,
        Cause::NameNotFound
        | Cause::AddressDenied
        | Cause::CertificateInvalid
        | Cause::ProtocolError
        | Cause::AmbiguousFraming
        | Cause::Truncated
        | Cause::UnexpectedUpgrade
        | Cause::TooLarge
        | Cause::Cancelled
        | Cause::HostStopped
        | Cause::StreamRefused
        | Cause::StreamReset
        | Cause::GoAway
        | Cause::ProxyAuthentication
        | Cause::PinMismatch
        | Cause::PoolExhausted
        | Cause::ContentNotStored
        | Cause::HostKeyUnknown
        | Cause::HostKeyRevoked
        | Cause::HostCertificateInvalid
        | Cause::LoginRefused
        | Cause::CredentialExpired
        | Cause::CredentialNotYetValid
        | Cause::ChannelRefused
        | Cause::EnvironmentRefused => false,
    }
}

/// The standard library gives the resolver's answer as text only. Both causes mean the same to a
/// caller, so that a text in another language costs an operator one word and nobody a claim.
fn resolver_cause(error: &io::Error) -> Cause {
    const ABSENT: [&str; 4] = [
        "Name or service not known",
        "No address associated",
        "nodename nor servname",
        "Name does not resolve",
    ];
    let text = error.to_string();
    if error.kind() == io::ErrorKind::NotFound || ABSENT.iter().any(|absent| text.contains(absent)) {
        Cause::NameNotFound
    } else {
        Cause::ResolverFailed
    }
}

/// The closed cause of an input or output error.
pub(crate) fn io_cause(kind: io::ErrorKind) -> Cause {
    use io::ErrorKind as Kind;
    const CAUSES: [(Kind, Cause); 13] = [
        (Kind::ConnectionRefused, Cause::ConnectionRefused),
        (Kind::ConnectionReset, Cause::ConnectionReset),
        (Kind::ConnectionAborted, Cause::ConnectionReset),
        (Kind::BrokenPipe, Cause::ConnectionClosed),
        (Kind::NotConnected, Cause::ConnectionClosed),
        (Kind::UnexpectedEof, Cause::ConnectionClosed),
        (Kind::WriteZero, Cause::ConnectionClosed),
        (Kind::HostUnreachable, Cause::Unreachable),
        (Kind::NetworkUnreachable, Cause::Unreachable),
        (Kind::NetworkDown, Cause::Unreachable),
        (Kind::AddrNotAvailable, Cause::Unreachable),
        // The kernel gave the peer up.
        (Kind::TimedOut, Cause::Unreachable),
        // How tokio-rustls wraps an error of TLS itself.
        (Kind::InvalidData, Cause::TlsFailed),
    ];
    CAUSES.iter().find(|(known, _)| *known == kind).map_or(Cause::LocalIo, |(_, cause)| *cause)
}

pub(crate) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_come_from_the_kind_of_error() {
        let text = |text: &str| resolver_cause(&io::Error::other(text));
        assert_eq!(
            text("failed to lookup address information: Name or service not known"),
            Cause::NameNotFound
        );
        assert_eq!(
            text("failed to lookup address information: No address associated with hostname"),
            Cause::NameNotFound
        );
        assert_eq!(
            text("failed to lookup address information: Temporary failure in name resolution"),
            Cause::ResolverFailed
        );
        assert_eq!(io_cause(io::ErrorKind::ConnectionRefused), Cause::ConnectionRefused);
        assert_eq!(io_cause(io::ErrorKind::TimedOut), Cause::Unreachable);
        assert_eq!(io_cause(io::ErrorKind::OutOfMemory), Cause::LocalIo);
    }
}
