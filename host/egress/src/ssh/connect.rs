//! From a host's name to an open channel that has carried nothing of the command.

use super::open::{Connected, Hopping, open};
use super::outgoing::SshOutgoing;
use super::target::SshTarget;
use crate::dial::{Attempt, Resolver, SetupFailure, is_worth_another_attempt};
use crate::figures::{ConnectionFigures, Counters};
use crate::guard::Guard;
use proofport_core::contract::Stage;
use proofport_core::evidence::{Cause, Hop, PeerIdentity, SetupAttempt};
use proofport_core::time::UnixMillis;
use russh::client::Msg;
use russh::{Channel, ChannelMsg, ChannelReadHalf, ChannelWriteHalf};
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

/// Opens SSH connections. One for the whole host.
#[derive(Default)]
pub struct SshEgress {
    resolver: Resolver,
    counters: Arc<Counters>,
}

/// What came of setting a connection up.
pub struct SshSetup {
    /// Every attempt, in order: those at the jump host first.
    pub attempts: Vec<SetupAttempt>,
    /// The channel with its exec, or why the last attempt failed.
    pub result: Result<SshLoaded, SetupFailure>,
}

/// An open channel with its environment set, and the one exec that it is for.
pub struct SshLoaded {
    pub(super) connected: Connected,
    pub(super) read: ChannelReadHalf,
    pub(super) write: ChannelWriteHalf<Msg>,
    pub(super) outgoing: SshOutgoing,
}

impl SshEgress {
    /// Egress with the system's resolver.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Egress with another resolver.
    #[must_use]
    pub fn with_resolver(resolver: Resolver) -> Self {
        Self { resolver, counters: Arc::default() }
    }

    /// How many connections there are and were, those to jump hosts among them.
    #[must_use]
    pub fn figures(&self) -> ConnectionFigures {
        self.counters.figures(0)
    }

    /// A new connection with an open channel for this exec; attempts are numbered from `first_n`, and
    /// certificates are judged by the time `now`. Nothing of the command leaves.
    pub async fn connect(
        &self,
        target: &SshTarget,
        outgoing: SshOutgoing,
        now: UnixMillis,
        first_n: u32,
    ) -> SshSetup {
        let until = Instant::now() + target.deadlines.overall;
        let mut log = Log { first_n, hop: Hop::Direct, until, attempts: Vec::new() };
        let result = self.connect_logged(target, outgoing, now, &mut log).await;
        SshSetup { attempts: log.attempts, result }
    }

    async fn connect_logged(
        &self,
        target: &SshTarget,
        outgoing: SshOutgoing,
        now: UnixMillis,
        log: &mut Log,
    ) -> Result<SshLoaded, SetupFailure> {
        let through = match &target.jump {
            None => None,
            Some(jump) => {
                let hop = Hopping {
                    host: &jump.host,
                    keys: &jump.host_keys,
                    addresses: &jump.addresses,
                    resolves_here: true,
                    credential: &jump.credential,
                    through: None,
                    session: None,
                };
                let (connected, _) = self.reach(target, &hop, now, log).await.map_err(|failure| {
                    SetupFailure { detail: format!("jump host: {}", failure.detail), ..failure }
                })?;
                log.hop = Hop::Tunnel;
                Some(Arc::new(connected))
            }
        };
        let hop = Hopping {
            host: &target.host,
            keys: &target.host_keys,
            addresses: &target.addresses,
            resolves_here: target.jump.as_ref().is_none_or(|jump| !jump.resolves),
            credential: &outgoing.credential,
            through,
            session: Some(&outgoing.environment),
        };
        match self.reach(target, &hop, now, log).await? {
            (connected, Some(channel)) => {
                let (read, write) = channel.split();
                Ok(SshLoaded { connected, read, write, outgoing })
            }
            // A session was asked for, so that there is one.
            (_, None) => {
                let attempt = log.attempt(Stage::ChannelOpen);
                Err(attempt.failed(Cause::LocalIo, "no channel".to_owned()))
            }
        }
    }

    /// Connects to one host, within the attempts that the target allows.
    async fn reach(
        &self,
        target: &SshTarget,
        hop: &Hopping<'_>,
        now: UnixMillis,
        log: &mut Log,
    ) -> Result<(Connected, Option<Channel<Msg>>), SetupFailure> {
        let most = target.setup_attempts.max(1);
        let (mut attempt, addresses) = self.addresses(target, hop, most, log).await?;
        let mut failure = None;
        let turns = addresses.iter().cycle().take(usize::try_from(most).unwrap_or(usize::MAX));
        for address in turns {
            match open(target, hop, *address, now, &mut attempt).await {
                Ok((mut connected, channel)) => {
                    connected._counted = Some(self.counters.opened());
                    log.push(attempt, None);
                    return Ok((connected, channel));
                }
                Err(failed) => {
                    let next = log.attempt(Stage::AddressCheck);
                    log.push(std::mem::replace(&mut attempt, next), Some(failed.cause));
                    let way_is_open = hop.through.as_ref().is_none_or(|jump| jump.wire.is_alive());
                    let again = may_be_tried_again(&failed) && way_is_open && Instant::now() < log.until;
                    failure = Some(failed);
                    if !again {
                        break;
                    }
                }
            }
        }
        Err(failure.unwrap_or_else(|| attempt.failed(Cause::NameNotFound, "no address".to_owned())))
    }

    /// The addresses that may be dialled, or none where the jump host resolves the name; and the attempt
    /// that goes on with them.
    async fn addresses(
        &self,
        target: &SshTarget,
        hop: &Hopping<'_>,
        most: u32,
        log: &mut Log,
    ) -> Result<(Attempt, Vec<Option<IpAddr>>), SetupFailure> {
        if !hop.resolves_here {
            return Ok((log.attempt(Stage::ProxyTunnel), vec![None]));
        }
        let (host, port, deadline) = (hop.host.host(), hop.host.port(), target.deadlines.dns);
        let mut tried = 1;
        let (mut attempt, found) = loop {
            let mut attempt = log.attempt(Stage::Dns);
            match attempt.resolve_host(&self.resolver, host, port, deadline).await {
                Ok(addresses) => break (attempt, addresses),
                Err(failure) => {
                    log.push(attempt, Some(failure.cause));
                    if tried >= most || !is_worth_another_attempt(failure.cause) {
                        return Err(failure);
                    }
                    tried += 1;
                }
            }
        };
        let (allowed, refused): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|address| hop.addresses.check(*address).is_ok());
        let mut failure = None;
        for address in refused {
            if let Err(denied) = attempt.check(hop.addresses, address) {
                let next = log.attempt(Stage::AddressCheck);
                log.push(std::mem::replace(&mut attempt, next), Some(denied.cause));
                failure = Some(denied);
            }
        }
        match failure {
            Some(failure) if allowed.is_empty() => Err(failure),
            Some(_) | None => Ok((attempt, allowed.into_iter().map(Some).collect())),
        }
    }
}

/// Whether another attempt may go better. A host that is not the one that is meant is not asked again,
/// and neither is one that has seen the credential.
fn may_be_tried_again(failure: &SetupFailure) -> bool {
    let decided = matches!(failure.stage, Stage::HostVerified | Stage::UserAuth);
    !decided && is_worth_another_attempt(failure.cause)
}

impl SshLoaded {
    /// Who the peer proved to be: its name, and the SHA-256 of its host key.
    #[must_use]
    pub const fn peer(&self) -> &PeerIdentity {
        &self.connected.peer
    }

    /// What recognises the secret of this exec.
    #[must_use]
    pub fn guard(&self) -> Arc<Guard> {
        self.outgoing.credential.guard()
    }

    /// Looks at the connection once more: the last thing to do before the dispatch is made durable. None:
    /// it can be used. Otherwise the attempt that it turned out to be.
    #[must_use]
    pub fn found_dead(&mut self, n: u32) -> Option<SetupAttempt> {
        if self.connected.is_alive() && self.is_quiet() {
            return None;
        }
        let hop = if self.connected.jump.is_some() { Hop::Tunnel } else { Hop::Direct };
        let attempt = Attempt::new(Stage::ChannelOpen, hop, Instant::now());
        Some(attempt.end(n, Some(Cause::ConnectionStale)))
    }

    /// Whether the server has said nothing on the channel but that there is room for input. Anything else
    /// came before the command, and is no answer to it.
    fn is_quiet(&mut self) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        loop {
            match pin!(self.read.wait()).poll(&mut context) {
                Poll::Pending => return true,
                Poll::Ready(Some(ChannelMsg::WindowAdjusted { .. })) => {}
                Poll::Ready(Some(_) | None) => return false,
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
