//! Events of every kind that could happen to a state, and some that can't.

use super::values::{
    LEASE_END, START, accepted, binding, child_id, complete, contract, credential, digest, dispatch, end,
    name, output, query, settlement, setup, stop,
};
use proofport_core::approval::{Question, Word};
use proofport_core::code::Code;
use proofport_core::contract::{Effect, Outcome, Phase, Repeat, Source};
use proofport_core::event::{ChildFacts, Dispatch, Event, EventKind, HostEvent, QueryPurpose};
use proofport_core::evidence::Cause;
use proofport_core::id::RequestId;
use proofport_core::job::Following;
use proofport_core::state::State;

/// Named events of this kind, worded for this state. A new kind does not compile until it has one.
pub(crate) fn of_kind(kind: EventKind, state: &State) -> Vec<(&'static str, Event)> {
    use Outcome::{Committed, NotAttempted, Rejected, Unknown};
    let terms = state
        .binding
        .as_ref()
        .map_or_else(|| contract(Effect::Write, Repeat::Idempotent), |binding| binding.contract.clone());
    let generation = state.lease.map_or(1, |lease| lease.generation);
    let stale = generation + 7;
    let plain = |event: Event| vec![("", event)];
    let settled = |outcome, source| Event::OutcomeSettled(settlement(outcome, source));
    match kind {
        EventKind::ActionAccepted => plain(accepted()),
        EventKind::PreflightValidated => plain(Event::PreflightValidated(Box::new(binding(terms)))),
        EventKind::ApprovalRequested => {
            plain(Event::ApprovalRequested(Question { until: LEASE_END, request: digest(9) }))
        }
        EventKind::ApprovalDecided => vec![
            ("yes", Event::ApprovalDecided(word(true, 9, None))),
            ("no", Event::ApprovalDecided(word(false, 9, None))),
            ("of another call", Event::ApprovalDecided(word(true, 9, Some(3)))),
            ("no, of another call", Event::ApprovalDecided(word(false, 9, Some(3)))),
            ("about something else", Event::ApprovalDecided(word(true, 8, None))),
        ],
        EventKind::CredentialAuthorized => plain(Event::CredentialAuthorized(credential())),
        EventKind::ConnectionAttempted => {
            plain(Event::ConnectionAttempted(setup(Some(Cause::ConnectionRefused))))
        }
        EventKind::QueryExchanged => {
            let purpose = match (terms.effect, state.dispatched()) {
                (Effect::Read, _) => QueryPurpose::Read,
                (Effect::Write, false) => QueryPurpose::Prepare,
                (Effect::Write, true) => QueryPurpose::Reconcile,
            };
            plain(Event::QueryExchanged(query(purpose, complete(200))))
        }
        EventKind::Stopped => vec![
            ("unattempted", Event::Stopped(stop(Phase::ConnectionSetup, Code::ConnectFailed))),
            ("unknown", Event::Stopped(stop(Phase::RemoteExecution, Code::OutcomeUnknown))),
            ("rejected", Event::Stopped(stop(Phase::RemoteExecution, Code::AuthFailed))),
        ],
        EventKind::CancelRequested => plain(Event::CancelRequested),
        EventKind::LeaseTaken => {
            let lease = |generation| Event::LeaseTaken { generation, until: LEASE_END };
            vec![("next", lease(state.next_generation())), ("stale", lease(stale))]
        }
        EventKind::DispatchStarted => {
            let fresh = dispatch(generation, &terms);
            vec![
                ("leased", Event::DispatchStarted(fresh.clone())),
                ("stale", Event::DispatchStarted(dispatch(stale, &terms))),
                ("late", Event::DispatchStarted(Dispatch { at: LEASE_END, ..fresh.clone() })),
                ("other bytes", Event::DispatchStarted(Dispatch { request: digest(99), ..fresh })),
            ]
        }
        EventKind::RequestSent => vec![
            ("active", Event::RequestSent { generation }),
            ("stale", Event::RequestSent { generation: stale }),
        ],
        EventKind::RemoteResponseStarted => vec![
            ("active", Event::RemoteResponseStarted { generation }),
            ("stale", Event::RemoteResponseStarted { generation: stale }),
        ],
        EventKind::RemoteResponseComplete => vec![
            ("active", Event::RemoteResponseComplete { generation }),
            ("stale", Event::RemoteResponseComplete { generation: stale }),
        ],
        EventKind::AttemptEnded => {
            let mut refused = end(generation, Rejected);
            refused.source = Source::TransportObserved;
            vec![
                ("unattempted", Event::AttemptEnded(end(generation, NotAttempted))),
                ("unknown", Event::AttemptEnded(end(generation, Unknown))),
                ("rejected", Event::AttemptEnded(end(generation, Rejected))),
                ("refused", Event::AttemptEnded(refused)),
                ("committed", Event::AttemptEnded(end(generation, Committed))),
                ("stale", Event::AttemptEnded(end(stale, Unknown))),
            ]
        }
        EventKind::ChildSettled => {
            let of = |source, outcome, code| {
                let (index, id) = (0, child_id("a"));
                let (repairable, output) = (false, None);
                Event::ChildSettled(ChildFacts {
                    index,
                    id,
                    generation,
                    outcome,
                    code,
                    source,
                    repairable,
                    output,
                    attested_reason: None,
                    left_unknown: None,
                })
            };
            let refused = Some(Code::RateLimited);
            vec![
                ("committed, answer", of(Source::RemoteResponse, Committed, None)),
                ("rejected, answer", of(Source::RemoteResponse, Rejected, refused)),
                ("unknown, answer", of(Source::RemoteResponse, Unknown, Some(Code::OutcomeUnknown))),
                ("committed, query", of(Source::RemoteQuery, Committed, None)),
                ("rejected, query", of(Source::RemoteQuery, Rejected, Some(Code::ConfirmedAbsent))),
                ("committed, person", of(Source::OperatorAttested, Committed, None)),
            ]
        }
        EventKind::JobAccepted => plain(Event::JobAccepted { id: "job-1".to_owned() }),
        EventKind::OutcomeSettled => vec![
            ("committed, answer", settled(Committed, Source::RemoteResponse)),
            ("rejected, answer", settled(Rejected, Source::RemoteResponse)),
            ("committed, query", settled(Committed, Source::RemoteQuery)),
            ("rejected, query", settled(Rejected, Source::RemoteQuery)),
            ("committed, person", settled(Committed, Source::OperatorAttested)),
            ("rejected, person", settled(Rejected, Source::OperatorAttested)),
            ("unknown, person", settled(Unknown, Source::OperatorAttested)),
        ],
        EventKind::ResultCommitted => plain(Event::ResultCommitted(output())),
        EventKind::ResultDelivered => plain(Event::ResultDelivered),
        EventKind::RetryScheduled => {
            plain(Event::RetryScheduled { generation: state.next_generation(), at: START })
        }
        EventKind::ReconcileScheduled => vec![
            ("next", Event::ReconcileScheduled { asked: state.asked + 1, at: Some(START) }),
            ("last", Event::ReconcileScheduled { asked: state.asked + 1, at: None }),
            ("skipped", Event::ReconcileScheduled { asked: state.asked + 2, at: Some(START) }),
        ],
        EventKind::JobFollowed => {
            let looked = |looks, at| {
                let by = (looks > 0).then(|| RequestId::from_random([3; 16]));
                Event::JobFollowed(Following { looks, by, at })
            };
            let looks = state.following.looks;
            vec![
                ("next", looked(looks + 1, Some(START))),
                ("over", looked(looks + 1, None)),
                ("skipped", looked(looks + 2, Some(START))),
            ]
        }
        EventKind::EvidenceAttached => {
            let attached = |source| Event::EvidenceAttached {
                source,
                source_sequence: 1,
                outcome: Committed,
                child: None,
            };
            vec![("answer", attached(Source::RemoteResponse)), ("query", attached(Source::RemoteQuery))]
        }
        EventKind::SessionDecided => {
            plain(Event::Host(HostEvent::SessionDecided { allowed: true, session: None }))
        }
        EventKind::VaultStateChanged => plain(Event::Host(HostEvent::VaultStateChanged { locked: true })),
        EventKind::UnlockFailed => plain(Event::Host(HostEvent::UnlockFailed)),
        EventKind::OperatorRefused => plain(Event::Host(HostEvent::OperatorRefused)),
        EventKind::SecretChanged => {
            plain(Event::Host(HostEvent::SecretChanged { name: name("shop-key"), version: Some(2) }))
        }
        EventKind::ConnectorDecided => {
            plain(Event::Host(HostEvent::ConnectorDecided { digest: digest(3), approved: true }))
        }
        EventKind::ConfigLoaded => plain(Event::Host(HostEvent::ConfigLoaded { digest: digest(4) })),
    }
}

/// Every named event that could be said to happen to this state.
pub(crate) fn all(state: &State) -> Vec<Event> {
    EventKind::ALL.iter().flat_map(|kind| of_kind(*kind, state)).map(|(_, event)| event).collect()
}

fn word(approved: bool, request: u8, by: Option<u8>) -> Word {
    let by = by.map(|by| RequestId::from_random([by; 16]));
    Word { approved, request: digest(request), grant: None, by }
}
