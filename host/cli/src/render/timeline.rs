//! The events of an invocation, one a line.

use super::inspect::{stored, used};
use super::lines::{Lines, QUIET};
use super::time::{micros, rfc3339};
use super::visible;
use proofport_core::approval::{Grant, Word};
use proofport_core::contract::Source;
use proofport_core::digest::Digest;
use proofport_core::event::{AttemptEnd, Event, HostEvent, QueryFacts, Settlement, StopDetail};
use proofport_core::evidence::{Evidence, PeerIdentity, SetupAttempt};
use proofport_core::exchange::SshExit;
use proofport_core::id::RequestId;
use proofport_core::job::Following;
use proofport_gateway::Recorded;
use serde::Serialize;

/// The machine form.
#[derive(Serialize)]
pub(crate) struct Timeline<'a> {
    request_id: RequestId,
    events: Vec<Entry<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    continued_by: &'a [RequestId],
}

#[derive(Serialize)]
struct Entry<'a> {
    seq: u64,
    time: String,
    #[serde(flatten)]
    event: &'a Event,
}

impl<'a> Timeline<'a> {
    /// These events of this invocation, and the ones that sent children of it again.
    pub(crate) fn of(request_id: RequestId, recorded: &'a [Recorded], continued_by: &'a [RequestId]) -> Self {
        let entry = |r: &'a Recorded| Entry { seq: r.seq, time: rfc3339(r.at), event: &r.event };
        Self { request_id, events: recorded.iter().map(entry).collect(), continued_by }
    }
}

/// The events for a terminal.
pub(crate) fn text(recorded: &[Recorded], continued_by: &[RequestId]) -> String {
    let mut lines = Lines::default();
    for Recorded { seq, at, event } in recorded {
        let (at, kind) = (rfc3339(*at), event.kind());
        let details = details(event);
        let line = format!("{QUIET}{seq:>6}  {at}{QUIET:#}  {kind:<24} {details}");
        lines.plain(line.trim_end());
    }
    for linked in continued_by {
        lines.plain(format_args!("{QUIET}children of it were sent again as{QUIET:#} {linked}"));
    }
    lines.done()
}

/// What an event says beside its kind.
pub(super) fn details(event: &Event) -> String {
    match event {
        Event::ActionAccepted(accepted) => {
            let parent = accepted.continues.as_ref().map(|continues| continues.parent);
            let parent = parent.map(|parent| format!(", children of {parent}")).unwrap_or_default();
            format!("{} by {}{parent}", accepted.operation, visible::text(&accepted.principal))
        }
        Event::PreflightValidated(binding) => {
            let contract = &binding.contract;
            let (effect, repeat) = (contract.effect, contract.repeat.kind());
            format!("connector {}, {effect}, repeat {repeat}", short(&binding.connector))
        }
        Event::ApprovalRequested(question) => {
            format!("request {}, until {}", short(&question.request), rfc3339(question.until))
        }
        Event::ApprovalDecided(said) => decided(said),
        Event::CredentialAuthorized(credential) => used(credential),
        Event::ConnectionAttempted(attempt) => connected(attempt),
        Event::QueryExchanged(query) => queried(query),
        Event::Stopped(stop) => format!("{} in {}: {}", stop.code, stop.phase, decision(&stop.detail)),
        Event::CancelRequested | Event::ResultDelivered => String::new(),
        Event::LeaseTaken { generation, until } => format!("attempt {generation}, until {}", rfc3339(*until)),
        Event::DispatchStarted(dispatch) => {
            let (request, to) = (short(&dispatch.request), peer(&dispatch.peer));
            let key = if dispatch.key.is_some() { ", with an idempotency key" } else { "" };
            format!("attempt {}, request {request}, to {to}{key}", dispatch.generation)
        }
        Event::RequestSent { generation }
        | Event::RemoteResponseStarted { generation }
        | Event::RemoteResponseComplete { generation } => format!("attempt {generation}"),
        Event::AttemptEnded(end) => ended(end),
        Event::ChildSettled(child) => {
            let code = child.code.map(|code| format!(" {code}")).unwrap_or_default();
            let id = visible::text(child.id.as_str());
            let reason = child.attested_reason.as_deref().map(visible::text);
            let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            format!("child {} ({id}): {}{code}, {}{reason}", child.index, child.outcome, child.source)
        }
        Event::JobAccepted { id } => visible::text(id),
        Event::OutcomeSettled(settlement) => settled(settlement),
        Event::ResultCommitted(result) => stored(result),
        Event::RetryScheduled { generation, at } => {
            format!("attempt {generation}, not before {}", rfc3339(*at))
        }
        Event::ReconcileScheduled { asked, at: Some(at) } => {
            format!("question {}, not before {}", asked.saturating_add(1), rfc3339(*at))
        }
        Event::ReconcileScheduled { asked, at: None } => format!("asked {asked} times, and no more"),
        Event::JobFollowed(following) => followed(following),
        Event::EvidenceAttached { source, source_sequence, outcome, child } => {
            let of = child.map(|child| format!("child {child}: ")).unwrap_or_default();
            match source {
                Source::RemoteQuery => format!("{of}{outcome}, {source} {source_sequence}"),
                Source::TransportObserved | Source::RemoteResponse | Source::OperatorAttested => {
                    format!("{of}{outcome}, {source}, {source_sequence} there")
                }
            }
        }
        Event::Host(host) => of_host(host),
    }
}

fn of_host(event: &HostEvent) -> String {
    match event {
        HostEvent::SessionDecided { allowed, session } => {
            let id = session.as_ref().map(|session| format!("{} ", session.id)).unwrap_or_default();
            format!("{id}{}", word(*allowed, "allowed", "ended"))
        }
        HostEvent::VaultStateChanged { locked } => word(*locked, "locked", "unlocked"),
        HostEvent::UnlockFailed | HostEvent::OperatorRefused => String::new(),
        HostEvent::SecretChanged { name, version } => match version {
            Some(version) => format!("{name} version {version}"),
            None => format!("{name} removed"),
        },
        HostEvent::ConnectorDecided { digest, approved } => {
            format!("{} {}", short(digest), word(*approved, "approved", "revoked"))
        }
        HostEvent::ConfigLoaded { digest } => short(digest),
    }
}

fn connected(attempt: &SetupAttempt) -> String {
    let SetupAttempt { n, stage, cause, address, timings, reused, hop: _, proxy_status } = attempt;
    let address = address.as_deref().map(visible::text).unwrap_or_default();
    let spent = micros(timings.iter().map(|timing| timing.micros).sum());
    let status = proxy_status.map(|status| format!(" (proxy: {status})")).unwrap_or_default();
    match cause {
        None if *reused => format!("{n}: kept from before"),
        None => format!("{n}: usable {address} after {spent}"),
        Some(cause) => format!("{n}: {cause}{status} at {stage} {address}"),
    }
}

fn queried(query: &QueryFacts) -> String {
    let purpose = match query.purpose {
        proofport_core::event::QueryPurpose::Read => "read",
        proofport_core::event::QueryPurpose::Prepare => "before the effect",
        proofport_core::event::QueryPurpose::Reconcile => "for the effect's fate",
    };
    format!("{purpose}: {}", seen(&query.evidence))
}

fn ended(end: &AttemptEnd) -> String {
    let code = end.code.map(|code| format!(" {code}")).unwrap_or_default();
    let firsts = if end.evidence.replayed() { ", the first request's answer" } else { "" };
    let seen = seen(&end.evidence);
    format!("attempt {}: {}{code}, {}; {seen}{firsts}", end.generation, end.outcome, end.source)
}

fn followed(following: &Following) -> String {
    let looked = match (following.looks, following.by) {
        (0, None) => "not looked at yet".to_owned(),
        (0, Some(by)) => format!("looked at by {by}"),
        (looks, Some(by)) => format!("look {looks} of the host's own; the newest is {by}"),
        (looks, None) => format!("look {looks} of the host's own"),
    };
    match following.at {
        Some(at) => format!("{looked}, the next not before {}", rfc3339(at)),
        None => format!("{looked}, and no more by the host"),
    }
}

fn settled(settlement: &Settlement) -> String {
    let code = settlement.code.map(|code| format!(" {code}")).unwrap_or_default();
    let reason = settlement.attested_reason.as_deref().map(visible::text);
    let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("{}{code}, {}{reason}", settlement.outcome, settlement.source)
}

fn seen(evidence: &Evidence) -> String {
    let status = match evidence {
        Evidence::Http(http) => http.status.map(|status| format!("HTTP {status}")),
        Evidence::Ssh(ssh) => ssh.exit.as_ref().map(exit),
    };
    let status = status.unwrap_or_else(|| "no answer".to_owned());
    let end = match (evidence.complete(), evidence.cause()) {
        (true, _) => String::new(),
        (false, Some(cause)) => format!(", incomplete: {cause}"),
        (false, None) => ", incomplete".to_owned(),
    };
    format!("{status}{end}")
}

/// How a remote command ended.
pub(super) fn exit(exit: &SshExit) -> String {
    match exit {
        SshExit::Status(status) => format!("exit status {status}"),
        SshExit::Signal(name) => format!("ended by SIG{}", visible::text(name)),
        SshExit::Marker => "finished, by its completion marker".to_owned(),
    }
}

fn word(condition: bool, yes: &str, no: &str) -> String {
    if condition { yes.to_owned() } else { no.to_owned() }
}

/// Enough of a digest to find it again.
pub(super) fn short(digest: &Digest) -> String {
    format!("sha256:{}…", digest.hex().chars().take(12).collect::<String>())
}

/// Who the peer proved to be.
pub(super) fn peer(peer: &PeerIdentity) -> String {
    let name = visible::text(&peer.name);
    match &peer.certificate {
        Some(digest) => format!("{name} (certificate or host key {})", short(digest)),
        None => format!("{name} (not authenticated)"),
    }
}

/// The decision that stopped an invocation, in words.
pub(super) fn decision(detail: &StopDetail) -> String {
    match detail {
        StopDetail::None => "the code says it all".to_owned(),
        StopDetail::UnknownConnection => "proofport.toml declares no such connection".to_owned(),
        StopDetail::UnknownOperation => "the connector has no such operation".to_owned(),
        StopDetail::SessionEnded => "the session that called was ended".to_owned(),
        StopDetail::ConnectorNotApproved => {
            "its connector is not approved, or the module is missing".to_owned()
        }
        StopDetail::OverLimit { limit } => format!("more than {limit} bytes"),
        StopDetail::Connector { fault } => format!("the connector broke a rule: {}", visible::text(fault)),
        StopDetail::Credential { slot, secret, refusal } => {
            let slot = slot.as_ref().map(|slot| format!(" slot {slot}")).unwrap_or_default();
            let secret = secret.as_ref().map(|secret| format!(" secret {secret}")).unwrap_or_default();
            format!("the credential can't be used:{slot}{secret} {refusal}")
        }
        StopDetail::Setup { cause } => format!("no connection: {cause}"),
        StopDetail::Query { cause, status } => match (cause, status) {
            (Some(cause), _) => format!("a query broke: {cause}"),
            (None, Some(status)) => format!("a query was answered with HTTP {status}"),
            (None, None) => "a query got no answer that may be read".to_owned(),
        },
    }
}

/// An operator's word, and how far it reaches.
pub(super) fn decided(said: &Word) -> String {
    let request = short(&said.request);
    match (said.approved, said.by, said.grant) {
        (false, _, _) => format!("denied, request {request}"),
        (true, Some(by), _) => format!("approved by the word on {by}, request {request}"),
        (true, None, None) => format!("approved once, request {request}"),
        (true, None, Some(Grant { until: None })) => {
            format!("approved, request {request}, and its like in the same session")
        }
        (true, None, Some(Grant { until: Some(until) })) => {
            format!("approved, request {request}, and its like in the same session until {}", rfc3339(until))
        }
    }
}
