//! Which events an input causes. The host appends them, applies them, and asks what is due.

use crate::approval::{Question, Word};
use crate::attestation::{AttestedOutcome, AttestedReason, attested};
use crate::batch::ChildJudgement;
use crate::batch::attest::{self, with_what_is_left};
use crate::canonical::canonical;
use crate::classify::{Judgement, Reading, judge};
use crate::code::Code;
use crate::contract::{Outcome, Phase, Source};
use crate::digest::Digest;
use crate::event::KeyUse;
use crate::event::{
    AttemptEnd, Binding, ChildFacts, CredentialUse, Dispatch, Event, QueryFacts, ResultFacts, Settlement,
    Stop, StopDetail,
};
use crate::evidence::{Cause, Evidence, HttpEvidence, PeerIdentity, SetupAttempt};
use crate::inquiry::announced;
use crate::job::Following;
use crate::origin::Origin;
use crate::project::last_boundary;
use crate::state::{IllegalEvent, Standing, State};
use crate::time::UnixMillis;

/// What the host learnt.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// Everything that could be checked without a secret is in order.
    Validated(Box<Binding>),
    /// The vault permits the use.
    Authorized(CredentialUse),
    /// A person has to be asked about this request.
    Question(Question),
    /// A person decided, or had decided before.
    Decided(Word),
    /// It can't go on, and no effect was sent.
    Refused(Stop),
    /// Connection attempts ended; whether one succeeded is in them.
    Connected(Vec<SetupAttempt>),
    /// A query ended.
    Queried(Box<QueryFacts>),
    /// A verified connection stands, and the exact effect is known.
    Ready(Box<Readiness>),
    /// The effect's exchange ended in some way.
    Exchanged(Box<Evidence>),
    /// The effect's answer, or its lack, was judged.
    Judged(Box<Judged>),
    /// The effect's complete answer sends it on to an origin that the connection lists for that.
    Redirected {
        /// What was seen.
        evidence: Box<HttpEvidence>,
        /// Where to.
        to: Origin,
    },
    /// A read's last answer was judged.
    ReadJudged(Box<Judged>),
    /// A reconciliation's queries were judged.
    Reconciled(Box<Judged>),
    /// A person settled it.
    Attested {
        /// What it settles as.
        outcome: AttestedOutcome,
        /// Why.
        reason: AttestedReason,
    },
    /// A person settled one child of a batch.
    ChildAttested {
        /// Its position.
        index: u32,
        /// What it settles as.
        outcome: AttestedOutcome,
        /// Why.
        reason: AttestedReason,
    },
    /// The host repeats the effect, not before this time.
    Repeat(UnixMillis),
    /// The host asks by itself what became of the effect.
    Ask {
        /// How often it has before.
        asked: u32,
        /// Not before this; none: it asks no more.
        at: Option<UnixMillis>,
    },
    /// The job was looked at, or will be.
    Followed(Following),
    /// The caller lost interest.
    Cancelled,
    /// The caller's protocol confirmed a complete handoff.
    Delivered,
    /// The host came back, and nothing of this invocation is under way any more.
    Recovered,
}

/// A verified connection and the exact effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readiness {
    /// Fingerprint of the effect.
    pub request: Digest,
    /// Who the peer proved to be.
    pub peer: PeerIdentity,
    /// The key, where the contract is keyed.
    pub key: Option<KeyUse>,
    /// How long the right to dispatch lasts, in milliseconds.
    pub lease_millis: u64,
    /// Where the attempt before was redirected to, if this one follows it.
    pub follows: Option<Origin>,
}

/// A judgement and the result that goes with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// What is claimed.
    pub judgement: Judgement,
    /// What was seen.
    pub evidence: Evidence,
    /// What can be delivered.
    pub result: ResultFacts,
}

/// The events that this input causes, in order. All of them apply to the state that was given.
///
/// # Errors
/// When the input makes no sense where the invocation stands: a bug in the host, never in the
/// remote.
pub fn decide(state: &State, input: Input, now: UnixMillis) -> Result<Vec<Event>, IllegalEvent> {
    let events = propose(state, input, now);
    let mut check = state.clone();
    for event in &events {
        check.apply(event)?;
    }
    Ok(events)
}

/// The events that this input would cause, unchecked: for a caller that applies each to the state that
/// it owns, and stops at the first that can't happen.
#[must_use]
pub fn propose(state: &State, input: Input, now: UnixMillis) -> Vec<Event> {
    with_what_is_left(state, caused(state, input, now))
}

fn caused(state: &State, input: Input, now: UnixMillis) -> Vec<Event> {
    match input {
        Input::Validated(binding) => vec![Event::PreflightValidated(binding)],
        Input::Authorized(credential) => vec![Event::CredentialAuthorized(credential)],
        Input::Question(question) => vec![Event::ApprovalRequested(question)],
        Input::Decided(word) if word.approved => vec![Event::ApprovalDecided(word)],
        Input::Decided(word) => vec![Event::ApprovalDecided(word), Event::Stopped(denied())],
        Input::Refused(stop) => refuse(state, stop),
        Input::Connected(attempts) => attempts.into_iter().map(Event::ConnectionAttempted).collect(),
        Input::Queried(query) => vec![Event::QueryExchanged(*query)],
        Input::Ready(ready) => dispatch(state, *ready, now),
        Input::Exchanged(evidence) => exchanged(state, &evidence),
        Input::Judged(judged) => judged_effect(state, *judged),
        Input::Redirected { evidence, to } => redirected(state, *evidence, to, now),
        Input::ReadJudged(judged) => judged_read(*judged),
        Input::Reconciled(judged) => reconciled(state, *judged),
        Input::Attested { outcome, reason } => attested(outcome, reason),
        Input::ChildAttested { index, outcome, reason } => attest::attested(state, index, outcome, reason),
        Input::Repeat(at) => vec![Event::RetryScheduled { generation: state.next_generation(), at }],
        Input::Ask { asked, at } => vec![Event::ReconcileScheduled { asked, at }],
        Input::Followed(following) => vec![Event::JobFollowed(following)],
        // Losing interest in what is over already is no event.
        Input::Cancelled => match state.standing {
            Standing::Accepted
            | Standing::Validated
            | Standing::AwaitingApproval
            | Standing::Authorized
            | Standing::Leased
            | Standing::Dispatched
            | Standing::Answered
            | Standing::Ended => vec![Event::CancelRequested],
            Standing::Settled | Standing::Stored | Standing::Delivered | Standing::Stopped => Vec::new(),
        },
        Input::Delivered => match state.standing {
            Standing::Stored => vec![Event::ResultDelivered],
            // Once is enough: reading again is a read.
            Standing::Delivered
            | Standing::Accepted
            | Standing::Validated
            | Standing::AwaitingApproval
            | Standing::Authorized
            | Standing::Leased
            | Standing::Dispatched
            | Standing::Answered
            | Standing::Ended
            | Standing::Settled
            | Standing::Stopped => Vec::new(),
        },
        Input::Recovered => recovered(state),
    }
}

/// A refusal after an earlier dispatch ends an attempt that never left, and settles only what the
/// earlier ones proved (law 3).
fn refuse(state: &State, stop: Stop) -> Vec<Event> {
    if !state.dispatched() || state.active().is_some() {
        return vec![Event::Stopped(stop)];
    }
    let mut events = Vec::with_capacity(4);
    let generation = match (state.standing, state.lease) {
        (Standing::Leased, Some(lease)) => lease.generation,
        (_, _) => {
            let generation = state.next_generation();
            events.push(Event::LeaseTaken { generation, until: UnixMillis(0) });
            generation
        }
    };
    events.push(Event::AttemptEnded(AttemptEnd {
        generation,
        outcome: Outcome::NotAttempted,
        code: Some(stop.code),
        source: Source::TransportObserved,
        evidence: state.nothing_seen(Cause::LocalIo),
        above_ceiling: false,
        connector_fault: None,
        redirected: None,
        unmatched_children: 0,
        retry_after_seconds: None,
    }));
    events.extend(settled_by_attempts(state));
    events
}

/// The settlement that the attempts prove, where they prove one: they were refused.
fn settled_by_attempts(state: &State) -> Vec<Event> {
    let refused = |attempt: &&crate::state::Attempt| attempt.outcome() == Outcome::Rejected;
    let newest = state.attempts.iter().rev().find(refused).and_then(|attempt| attempt.end.as_ref());
    match newest.filter(|_| state.outcome() == Outcome::Rejected && state.settled.is_none()) {
        None => Vec::new(),
        Some(end) => vec![
            Event::OutcomeSettled(Settlement {
                outcome: end.outcome,
                code: end.code,
                source: end.source,
                repairable: false,
                retry_after_seconds: None,
                http_status: end.evidence.http_status(),
                attested_reason: None,
                unknown_children: 0,
            }),
            Event::ResultCommitted(ResultFacts::Nothing),
        ],
    }
}

fn dispatch(state: &State, ready: Readiness, now: UnixMillis) -> Vec<Event> {
    let mut events = Vec::with_capacity(2);
    // A lease that was taken before a pause is used only while it lasts; `apply` refuses a late one.
    let generation = match (state.standing, state.lease) {
        (Standing::Leased, Some(lease)) => lease.generation,
        (_, _) => {
            let generation = state.next_generation();
            let until = UnixMillis(now.0.saturating_add(ready.lease_millis.max(1)));
            events.push(Event::LeaseTaken { generation, until });
            generation
        }
    };
    events.push(Event::DispatchStarted(Dispatch {
        generation,
        request: ready.request,
        peer: ready.peer,
        key: ready.key,
        at: now,
        follows: ready.follows,
    }));
    events
}

fn exchanged(state: &State, evidence: &Evidence) -> Vec<Event> {
    let Some(attempt) = state.active() else { return Vec::new() };
    let generation = attempt.dispatch.generation;
    let mut events = Vec::with_capacity(4);
    if evidence.request_complete() {
        events.push(Event::RequestSent { generation });
    }
    if evidence.response_started() {
        events.push(Event::RemoteResponseStarted { generation });
    }
    if evidence.complete() {
        events.push(Event::RemoteResponseComplete { generation });
    } else {
        // Nobody reads what is not complete; the transport may have proved something by itself.
        let judgement = match &state.binding {
            Some(binding) => judge(evidence, &binding.contract, Reading::None, None),
            None => Judgement::unproved(evidence),
        };
        let result = ResultFacts::Nothing;
        events.extend(judged_effect(state, Judged { judgement, evidence: evidence.clone(), result }));
    }
    events
}

/// The attempt is over, refused by a complete answer that sent it on; the next one goes there.
fn redirected(state: &State, evidence: HttpEvidence, to: Origin, now: UnixMillis) -> Vec<Event> {
    let Some(attempt) = state.active() else { return Vec::new() };
    vec![
        Event::AttemptEnded(AttemptEnd {
            generation: attempt.dispatch.generation,
            outcome: Outcome::Rejected,
            code: Some(Code::RemoteRejected),
            source: Source::RemoteResponse,
            evidence: evidence.into(),
            above_ceiling: false,
            connector_fault: None,
            redirected: Some(to),
            unmatched_children: 0,
            retry_after_seconds: None,
        }),
        Event::RetryScheduled { generation: state.next_generation(), at: now },
    ]
}

fn judged_effect(state: &State, judged: Judged) -> Vec<Event> {
    let Some(attempt) = state.active() else { return Vec::new() };
    let Judged { judgement, evidence, result } = judged;
    let mut events = vec![Event::AttemptEnded(AttemptEnd {
        generation: attempt.dispatch.generation,
        outcome: judgement.outcome,
        code: judgement.code,
        source: judgement.source,
        evidence: evidence.clone(),
        above_ceiling: judgement.above_ceiling,
        connector_fault: judgement.connector_fault.clone(),
        redirected: None,
        unmatched_children: judgement.unmatched_children,
        retry_after_seconds: judgement.retry_after_seconds,
    })];
    events.extend(told_of_children(state, &judgement, attempt.dispatch.generation, judgement.source));
    if let Some(id) = &judgement.job {
        events.push(Event::JobAccepted { id: id.clone() });
    }
    let outcome = state.proved_with(judgement.outcome, evidence.replayed());
    // An earlier unknown stays unknown under a later refusal that is not the first one's answer (law 3).
    if outcome.is_settled() && outcome == judgement.outcome {
        events.extend(settled_with_words(state, &events, settlement(&judgement, Some(&evidence)), result));
    }
    events
}

/// A settlement and its result, held to what a person said of single children.
fn settled_with_words(
    state: &State,
    before: &[Event],
    settlement: Settlement,
    result: ResultFacts,
) -> Vec<Event> {
    let held = attest::with_words(state, before, settlement, result);
    let settled =
        held.map(|(settlement, result)| [Event::OutcomeSettled(settlement), Event::ResultCommitted(result)]);
    settled.into_iter().flatten().collect()
}

fn judged_read(judged: Judged) -> Vec<Event> {
    let Judged { judgement, evidence, result } = judged;
    if judgement.outcome.is_settled() {
        // A look at a job that goes on names it.
        let job = judgement.job.clone().map(|id| Event::JobAccepted { id });
        let settled = Event::OutcomeSettled(settlement(&judgement, Some(&evidence)));
        job.into_iter().chain([settled, Event::ResultCommitted(result)]).collect()
    } else {
        let code = judgement.code.unwrap_or(Code::OutcomeUnknown);
        vec![Event::Stopped(Stop {
            phase: Phase::RemoteExecution,
            code,
            invalid_fields: Vec::new(),
            detail: StopDetail::Query {
                cause: evidence.cause(),
                status: evidence.http().and_then(|http| http.status),
            },
        })]
    }
}

/// Law 7: what is learnt late settles the record if nothing has, and is evidence otherwise.
fn reconciled(state: &State, judged: Judged) -> Vec<Event> {
    let Judged { judgement, evidence: _, result } = judged;
    let source = Source::RemoteQuery;
    let newest = state.attempts.last().map_or(0, |attempt| attempt.dispatch.generation);
    let source_sequence = state.queries.len() as u64;
    let mut events = attest::beside(state, &judgement, source, source_sequence);
    let open = |child: &ChildJudgement| state.child(child.index).outcome == Outcome::Unknown;
    let children = judgement.children.iter().filter(|child| open(child)).cloned().collect();
    let told = Judgement { children, ..judgement.clone() };
    events.extend(told_of_children(state, &told, newest, source));
    if !judgement.outcome.is_settled() {
        return events;
    }
    if state.settled.is_none() {
        let settlement = Settlement { source, ..settlement(&judgement, None) };
        events.extend(settled_with_words(state, &events, settlement, result));
    } else if state.is_attested() {
        let (outcome, child) = (judgement.outcome, None);
        events.push(Event::EvidenceAttached { source, source_sequence, outcome, child });
    }
    events
}

/// What a judgement says of single children.
fn told_of_children(state: &State, judgement: &Judgement, generation: u32, source: Source) -> Vec<Event> {
    let id = |index: u32| state.binding.as_ref()?.children.get(usize::try_from(index).ok()?).cloned();
    let child = |child: &ChildJudgement| {
        Some(Event::ChildSettled(ChildFacts {
            index: child.index,
            id: id(child.index)?,
            generation,
            outcome: child.outcome,
            code: child.code,
            source,
            repairable: child.repairable,
            output: child.output.as_ref().map(|output| Digest::of_bytes(canonical(output).as_bytes())),
            attested_reason: None,
            left_unknown: None,
        }))
    };
    judgement.children.iter().filter_map(child).collect()
}

fn settlement(judgement: &Judgement, evidence: Option<&Evidence>) -> Settlement {
    Settlement {
        outcome: judgement.outcome,
        code: judgement.code,
        source: judgement.source,
        repairable: judgement.repairable,
        retry_after_seconds: judgement.retry_after_seconds,
        http_status: evidence.and_then(Evidence::http_status),
        attested_reason: None,
        unknown_children: 0,
    }
}

/// Nothing is sent merely because the host came back: a dispatch without an end is unknown, and what
/// never reached its dispatch stopped.
fn recovered(state: &State) -> Vec<Event> {
    match (state.active(), state.standing) {
        (Some(attempt), _) => vec![Event::AttemptEnded(AttemptEnd {
            generation: attempt.dispatch.generation,
            outcome: Outcome::Unknown,
            code: Some(Code::OutcomeUnknown),
            source: Source::TransportObserved,
            evidence: state.nothing_seen(Cause::HostStopped),
            above_ceiling: false,
            connector_fault: None,
            redirected: None,
            unmatched_children: 0,
            retry_after_seconds: None,
        })],
        (None, Standing::Settled) => vec![Event::ResultCommitted(ResultFacts::Nothing)],
        (None, Standing::Leased) if state.dispatched() => refuse(state, interrupted(state)),
        // What was announced over an unknown stays so: it was decided, and whoever carries it out looks at the
        // record and the time again. A redirect is followed at once or not at all.
        (None, Standing::Ended) if announced(state).is_some() => Vec::new(),
        // What a person approved outlives the host, too.
        (None, Standing::Authorized) if state.waits_to_begin() => Vec::new(),
        (None, Standing::Ended) if state.retry_at.is_some() => refuse(state, interrupted(state)),
        (None, Standing::Ended) => settled_by_attempts(state),
        (None, Standing::Accepted | Standing::Validated | Standing::Authorized | Standing::Leased) => {
            vec![Event::Stopped(interrupted(state))]
        }
        (
            None,
            Standing::AwaitingApproval
            | Standing::Dispatched
            | Standing::Answered
            | Standing::Stored
            | Standing::Delivered
            | Standing::Stopped,
        ) => Vec::new(),
    }
}

/// The host stopped before the dispatch. A question to a person outlives that; everything else that
/// was under way is over.
fn interrupted(state: &State) -> Stop {
    Stop {
        phase: last_boundary(state),
        code: Code::Internal,
        invalid_fields: Vec::new(),
        detail: StopDetail::Setup { cause: Cause::HostStopped },
    }
}

/// A person said no.
fn denied() -> Stop {
    Stop {
        phase: Phase::CredentialInjection,
        code: Code::UserDenied,
        invalid_fields: Vec::new(),
        detail: StopDetail::None,
    }
}
