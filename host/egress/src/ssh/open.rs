//! The stages from a checked address to an open channel: dial or have dialled, verify the host, log in,
//! open the channel and set its environment.

use super::auth::{self, LoginFailure};
use super::cause;
use super::credential::{InvalidSshCredential, SshCredential};
use super::handler::{Report, Watcher};
use super::host_keys::HostKeys;
use super::target::SshTarget;
use super::wire::{Cut, Wire};
use crate::address::AddressPolicy;
use crate::dial::{Attempt, SetupFailure};
use crate::figures::Counted;
use proofport_core::contract::Stage;
use proofport_core::evidence::{Cause, PeerIdentity};
use proofport_core::ssh::{Environment, SshHost};
use proofport_core::time::UnixMillis;
use russh::client::{self, Handle, Msg};
use russh::{Channel, ChannelMsg, SshId};
use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};

/// How this host names itself (RFC 4253 section 4.2).
const CLIENT_ID: &str = "SSH-2.0-Proofport";

/// The window that a server has for output, and how many of its messages wait to be taken.
const WINDOW: u32 = 1024 * 1024;
const WAITING: usize = 32;

/// A verified connection, logged in.
pub(super) struct Connected {
    pub(super) handle: Handle<Watcher>,
    pub(super) report: Report,
    pub(super) wire: Wire,
    pub(super) peer: PeerIdentity,
    /// What cuts it when this is dropped.
    _cut: Cut,
    /// What it goes through.
    pub(super) jump: Option<Arc<Connected>>,
    /// For as long as it is open, once it could be used.
    pub(super) _counted: Option<Counted>,
}

/// One host on the way, the target included.
pub(super) struct Hopping<'a> {
    pub(super) host: &'a SshHost,
    pub(super) keys: &'a HostKeys,
    pub(super) addresses: &'a AddressPolicy,
    pub(super) resolves_here: bool,
    pub(super) credential: &'a SshCredential,
    /// What leads there; none: a TCP connection from here.
    pub(super) through: Option<Arc<Connected>>,
    /// For a session channel: its environment.
    pub(super) session: Option<&'a Environment>,
}
/// Checks this address, dials it or has it dialled, verifies the host, logs in, and opens the channel if
/// one is wanted.
pub(super) async fn open(
    target: &SshTarget,
    hop: &Hopping<'_>,
    address: Option<IpAddr>,
    now: UnixMillis,
    attempt: &mut Attempt,
) -> Result<(Connected, Option<Channel<Msg>>), SetupFailure> {
    if let Some(address) = address {
        attempt.check(hop.addresses, address)?;
    }
    let mut connected = match (&hop.through, address) {
        (None, Some(address)) => {
            let to = SocketAddr::new(address, hop.host.port());
            let stream = attempt.dial(to, target.deadlines.tcp_connect).await?;
            greet(target, hop, stream, now, attempt).await?
        }
        (Some(jump), _) => {
            let to = address.map_or_else(|| hop.host.host_text(), |address| address.to_string());
            let stream = dig(target, jump, to, hop.host.port(), attempt).await?.into_stream();
            greet(target, hop, stream, now, attempt).await?
        }
        // Without a jump host every attempt has an address.
        (None, None) => return Err(attempt.failed(Cause::NameNotFound, "no address".to_owned())),
    };
    log_in(target, hop, &mut connected, now, attempt).await?;
    let channel = match hop.session {
        None => None,
        Some(environment) => Some(open_channel(target, &connected, environment, attempt).await?),
    };
    Ok((connected, channel))
}

/// Has the jump host open the way.
async fn dig(
    target: &SshTarget,
    jump: &Connected,
    host: String,
    port: u16,
    attempt: &mut Attempt,
) -> Result<Channel<Msg>, SetupFailure> {
    attempt.enter(Stage::ProxyTunnel);
    let since = Instant::now();
    let patience = attempt.left(target.deadlines.tcp_connect);
    let opening = jump.handle.channel_open_direct_tcpip(host, u32::from(port), "127.0.0.1", 0);
    match tokio::time::timeout(patience, opening).await {
        Ok(Ok(channel)) => {
            attempt.passed(since);
            Ok(channel)
        }
        Ok(Err(russh::Error::ChannelOpenFailure(why))) => {
            Err(attempt.failed(Cause::ProxyRefused, format!("the jump host did not open the way: {why:?}")))
        }
        Ok(Err(error)) => Err(jump.lost(&error, attempt)),
        Err(_) => Err(passed_by(attempt, patience)),
    }
}

/// Version and key exchange, and the host's key (RFC 4253).
async fn greet<S>(
    target: &SshTarget,
    hop: &Hopping<'_>,
    stream: S,
    now: UnixMillis,
    attempt: &mut Attempt,
) -> Result<Connected, SetupFailure>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    attempt.enter(Stage::Transport);
    let since = Instant::now();
    let (stream, wire, cut) = Wire::around(stream);
    let report = Report::default();
    let watcher = Watcher { host: hop.host.clone(), keys: hop.keys.clone(), now, report: report.clone() };
    let patience = attempt.left(target.deadlines.transport);
    let greeted =
        tokio::time::timeout(patience, client::connect_stream(config(target, hop), stream, watcher)).await;
    let shown = report.lock().host.take();
    let at = shown.as_ref().map_or_else(Instant::now, |(_, at)| *at);
    if shown.is_some() {
        attempt.passed_in(at.duration_since(since));
        attempt.enter(Stage::HostVerified);
    }
    match (greeted, shown) {
        (Ok(Ok(handle)), Some((Ok(digest), _))) => {
            attempt.passed(at);
            let peer = PeerIdentity { name: hop.host.host_text(), certificate: Some(digest) };
            let jump = hop.through.clone();
            Ok(Connected { handle, report, wire, peer, _cut: cut, jump, _counted: None })
        }
        (_, Some((Err(refusal), _))) => Err(attempt.failed(refusal.cause(), refusal.to_string())),
        (Ok(Err(russh::Error::WrongServerSig | russh::Error::Signature(_))), _) => {
            attempt.enter(Stage::HostVerified);
            let why = "the host did not prove that it has the key that it showed";
            Err(attempt.failed(Cause::HostKeyUnknown, why.to_owned()))
        }
        (Ok(Err(error)), None | Some((Ok(_), _))) => {
            let cause = cause::of_setup(&error, &report.lock(), wire.seen());
            Err(attempt.failed(cause, cause::words(&error)))
        }
        (Err(_), None | Some((Ok(_), _))) => Err(passed_by(attempt, patience)),
        // russh asks before it says that the keys are exchanged.
        (Ok(Ok(_)), None) => Err(attempt.failed(Cause::HostKeyUnknown, "the host showed no key".to_owned())),
    }
}

fn config(target: &SshTarget, hop: &Hopping<'_>) -> Arc<client::Config> {
    let keepalive = target.keepalive.max(Duration::from_millis(10));
    let unanswered = target.keepalive_max.max(1);
    Arc::new(client::Config {
        client_id: SshId::Standard(Cow::Borrowed(CLIENT_ID)),
        window_size: WINDOW,
        channel_buffer_size: WAITING,
        preferred: hop.keys.preferred(),
        keepalive_interval: Some(keepalive),
        keepalive_max: usize::try_from(unanswered).unwrap_or(usize::MAX),
        // Where not even a question gets out, since the stream takes nothing any more.
        inactivity_timeout: Some(keepalive * (unanswered.saturating_add(2))),
        ..client::Config::default()
    })
}

async fn log_in(
    target: &SshTarget,
    hop: &Hopping<'_>,
    connected: &mut Connected,
    now: UnixMillis,
    attempt: &mut Attempt,
) -> Result<(), SetupFailure> {
    attempt.enter(Stage::UserAuth);
    let since = Instant::now();
    let patience = attempt.left(target.deadlines.user_auth);
    let login = auth::login(&mut connected.handle, hop.host.user(), hop.credential);
    let failure = match tokio::time::timeout(patience, login).await {
        Ok(Ok(())) => {
            attempt.passed(since);
            return Ok(());
        }
        Ok(Err(failure)) => failure,
        Err(_) => return Err(passed_by(attempt, patience)),
    };
    let refused = |why: &str| {
        let (cause, why) = match hop.credential.check_time(now) {
            Err(fault @ InvalidSshCredential::NotYetValid) => {
                (Cause::CredentialNotYetValid, format!("{why}; by this host's clock, {fault}"))
            }
            Err(fault) => (Cause::CredentialExpired, format!("{why}; by this host's clock, {fault}")),
            Ok(()) => (Cause::LoginRefused, why.to_owned()),
        };
        attempt.failed(cause, why)
    };
    Err(match failure {
        LoginFailure::Refused { answered: false, .. } if !connected.is_alive() => {
            connected.lost(&russh::Error::Disconnect, attempt)
        }
        LoginFailure::Refused { partial: true, .. } => {
            refused("the server took the credential and wants another one, too")
        }
        LoginFailure::Refused { .. } => refused("the server refused the credential"),
        LoginFailure::Prompts => refused("the server asked for more than one secret can answer"),
        LoginFailure::Unsigned => refused("the private key can't sign"),
        LoginFailure::Lost(error) => connected.lost(&error, attempt),
    })
}

async fn open_channel(
    target: &SshTarget,
    connected: &Connected,
    environment: &Environment,
    attempt: &mut Attempt,
) -> Result<Channel<Msg>, SetupFailure> {
    attempt.enter(Stage::ChannelOpen);
    let since = Instant::now();
    let patience = attempt.left(target.deadlines.channel);
    let opened = tokio::time::timeout(patience, connected.handle.channel_open_session()).await;
    let mut channel = match opened {
        Ok(Ok(channel)) => channel,
        Ok(Err(russh::Error::ChannelOpenFailure(why))) => {
            return Err(
                attempt.failed(Cause::ChannelRefused, format!("the server opened no channel: {why:?}"))
            );
        }
        Ok(Err(error)) => return Err(connected.lost(&error, attempt)),
        Err(_) => return Err(passed_by(attempt, patience)),
    };
    attempt.passed(since);
    if environment.variables().is_empty() {
        return Ok(channel);
    }
    attempt.enter(Stage::Env);
    let since = Instant::now();
    let patience = attempt.left(target.deadlines.channel);
    match tokio::time::timeout(patience, set_all(&mut channel, environment)).await {
        Ok(Ok(true)) => {
            attempt.passed(since);
            Ok(channel)
        }
        Ok(Ok(false)) => {
            let why = "the server does not take an environment variable (AcceptEnv, perhaps)";
            Err(attempt.failed(Cause::EnvironmentRefused, why.to_owned()))
        }
        Ok(Err(error)) => Err(connected.lost(&error, attempt)),
        Err(_) => Err(passed_by(attempt, patience)),
    }
}

/// Sets the variables one by one, so that each answer is known to be about which. False: one was refused.
async fn set_all(channel: &mut Channel<Msg>, environment: &Environment) -> Result<bool, russh::Error> {
    for (name, value) in environment.variables() {
        channel.set_env(true, name.as_str(), value.as_str()).await?;
        loop {
            match channel.wait().await {
                Some(ChannelMsg::Success) => break,
                Some(ChannelMsg::Failure) => return Ok(false),
                Some(ChannelMsg::WindowAdjusted { .. }) => {}
                // Nothing else may come before a command runs.
                Some(_) | None => return Err(russh::Error::Disconnect),
            }
        }
    }
    Ok(true)
}

fn passed_by(attempt: &Attempt, patience: Duration) -> SetupFailure {
    attempt.failed(Cause::DeadlinePassed, format!("no answer within {patience:?}"))
}

impl Connected {
    /// Whether it still goes on, as far as anybody knows.
    pub(super) fn is_alive(&self) -> bool {
        self.wire.is_alive() && !self.handle.is_closed()
    }

    fn lost(&self, error: &russh::Error, attempt: &Attempt) -> SetupFailure {
        let cause = cause::of_setup(error, &self.report.lock(), self.wire.seen());
        attempt.failed(cause, cause::words(error))
    }
}
