//! Effects whose fate nobody knows, as an operator finds them: since when, whose move it is, and what can
//! be done about each. Nothing is decided here that [`project`](crate::project::project) and
//! [`permitted`](crate::retry::permitted) don't say.

use crate::batch::{self, ChildId, WhyUnknown};
use crate::code::Code;
use crate::contract::{Outcome, Retry, RetryOwner};
use crate::event::Event;
use crate::id::{OperationName, RequestId};
use crate::inquiry::announced;
use crate::project::project;
use crate::retry::permitted;
use crate::state::State;
use crate::time::UnixMillis;
use serde::{Deserialize, Serialize};

/// An effect that was dispatched and that nothing has settled, or a batch with children of that kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownEffect {
    /// Its invocation.
    pub request_id: RequestId,
    /// What was asked for.
    pub operation: OperationName,
    /// When it was first dispatched.
    pub dispatched_at: UnixMillis,
    /// How long ago that was, in whole seconds.
    pub age_seconds: u64,
    /// What happened, as far as it is known.
    pub code: Option<Code>,
    /// What automation may do.
    pub retry: Retry,
    /// Whose move it is.
    pub retry_owner: RetryOwner,
    /// What can be done, the safest first.
    pub next: Vec<NextStep>,
    /// Of a batch, the children that are unknown. Where the whole is settled, it is listed for these alone.
    pub children: Vec<UnknownChild>,
}

/// What can be done about an unknown effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum NextStep {
    /// It is still being carried out, or the host repeats it or asks by itself: that may settle it.
    Wait,
    /// The operation declares how to ask the remote. No effect is sent.
    Reconcile {
        /// From when on an answer that shows nothing proves that nothing happened; none: it never does.
        absence_counts_from: Option<UnixMillis>,
    },
    /// The contract lets the same bytes go out again at any time.
    Repeat,
    /// The contract lets the same bytes go out again with the same key.
    RepeatWithKey {
        /// As long as the remote is sure to know the key.
        until: UnixMillis,
    },
    /// Somebody looks at the remote and says what became of it.
    Attest,
    /// Somebody looks at the remote and says of each child that is listed what became of it.
    AttestChildren,
}

/// A child of a batch whose fate nobody knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownChild {
    /// Its position.
    pub index: u32,
    /// Its identity.
    pub id: ChildId,
    /// Why nothing is known of it.
    pub why: WhyUnknown,
}

impl UnknownEffect {
    /// The effect of this invocation; none where it has none or its fate is known. A read that got no
    /// answer is not here: it was declared to change nothing, so that there is nothing to find out.
    ///
    /// `ended_at` is when its last attempt ended, none if that is under way.
    #[must_use]
    pub fn of(state: &State, ended_at: Option<UnixMillis>, now: UnixMillis) -> Option<Self> {
        let first = state.attempts.first()?;
        let children = unknown_children(state);
        let (retry, retry_owner) = match &state.settled {
            Some(_) if children.is_empty() => return None,
            // Whatever may be done about the whole, these are an operator's.
            Some(_) => (Retry::Reconcile, RetryOwner::Operator),
            None if state.outcome() != Outcome::Unknown => return None,
            None => {
                let claim = project(state, now);
                (claim.retry, claim.retry_owner)
            }
        };
        let next = match ended_at {
            Some(ended_at) if state.active().is_none() => {
                // A host that was to repeat it and has gone meanwhile is not waited for.
                let waits = announced(state).filter(|next| next.at() > now).map(|_| NextStep::Wait);
                waits.into_iter().chain(steps(state, ended_at, now)).collect()
            }
            Some(_) | None => vec![NextStep::Wait],
        };
        Some(Self {
            request_id: state.accepted.request_id,
            operation: state.accepted.operation.clone(),
            dispatched_at: first.dispatch.at,
            age_seconds: now.seconds_since(first.dispatch.at),
            code: project(state, now).code,
            retry,
            retry_owner,
            next,
            children,
        })
    }
}

fn steps(state: &State, ended_at: UnixMillis, now: UnixMillis) -> impl Iterator<Item = NextStep> {
    let declared = state.binding.as_ref().and_then(|binding| binding.contract.reconcile);
    let ask = declared.map(|terms| NextStep::Reconcile {
        absence_counts_from: terms
            .absence_settles_after_seconds
            .map(|seconds| ended_at.plus_seconds(u64::from(seconds))),
    });
    let again = match state.attempts.first().and_then(|first| first.dispatch.key.as_ref()) {
        Some(key) => NextStep::RepeatWithKey { until: key.expires },
        None => NextStep::Repeat,
    };
    let settled = state.settled.is_some();
    let permitted = match settled {
        true => !batch::again::again(state, now).unknown.is_empty(),
        false => permitted(state, now).is_ok(),
    };
    let attest = if settled { NextStep::AttestChildren } else { NextStep::Attest };
    ask.into_iter().chain(permitted.then_some(again)).chain([attest])
}

fn unknown_children(state: &State) -> Vec<UnknownChild> {
    let bound = state.binding.as_ref().map_or(&[][..], |binding| &binding.children);
    let of = |index: u32| {
        let id = bound.get(usize::try_from(index).ok()?)?.clone();
        Some(UnknownChild { index, id, why: state.why_unknown(index) })
    };
    state.unknown_children().filter_map(of).collect()
}

/// Whether these events, in order, leave their invocation with an ended attempt and no settlement since, or
/// with a settlement that leaves children unknown; none where they change nothing about that. It is what an index of such invocations is kept by.
#[must_use]
pub fn leaves_unsettled(events: &[Event]) -> Option<bool> {
    let bearing = |event: &Event| match event {
        Event::AttemptEnded(_) => Some(true),
        // Children of a settled batch may be unknown all the same.
        Event::OutcomeSettled(settlement) => Some(settlement.unknown_children > 0),
        Event::ChildSettled(child) => child.left_unknown.map(|left| left > 0),
        Event::ActionAccepted(_)
        | Event::PreflightValidated(_)
        | Event::ApprovalRequested(_)
        | Event::ApprovalDecided(_)
        | Event::CredentialAuthorized(_)
        | Event::ConnectionAttempted(_)
        | Event::QueryExchanged(_)
        | Event::Stopped(_)
        | Event::CancelRequested
        | Event::LeaseTaken { .. }
        | Event::DispatchStarted(_)
        | Event::RequestSent { .. }
        | Event::RemoteResponseStarted { .. }
        | Event::RemoteResponseComplete { .. }
        | Event::JobAccepted { .. }
        | Event::ResultCommitted(_)
        | Event::ResultDelivered
        | Event::RetryScheduled { .. }
        | Event::ReconcileScheduled { .. }
        | Event::JobFollowed(_)
        | Event::EvidenceAttached { .. }
        | Event::Host(_) => None,
    };
    events.iter().rev().find_map(bearing)
}
