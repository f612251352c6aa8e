//! What may be claimed of an invocation: a pure function of its record, the contract bound in it,
//! and the time.

use crate::code::{ActionRule, Code, OutcomeRule, PhaseRule, RetryRule};
use crate::contract::{Action, Effect, Outcome, Phase, Repeat, Retry, RetryOwner, Source};
use crate::event::{AttemptEnd, ResultFacts};
use crate::evidence::{Cause, Evidence};
use crate::inquiry::{Move, announced};
use crate::ssh::SshRow;
use crate::state::{Attempt, Standing, State};
use crate::time::UnixMillis;

/// What may be claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projection {
    /// Committed and successful, with everything that was promised.
    pub ok: bool,
    /// Where it stands.
    pub phase: Phase,
    /// What the records prove about the remote.
    pub outcome: Outcome,
    /// What happened; none when ok.
    pub code: Option<Code>,
    /// What automation may do.
    pub retry: Retry,
    /// What an agent should do; none when ok.
    pub action: Option<Action>,
    /// Whose move it is.
    pub retry_owner: RetryOwner,
    /// True exactly when the caller owns a backoff.
    pub retryable: bool,
    /// A usable delay that the remote asked for.
    pub retry_after_seconds: Option<u32>,
    /// The status of a complete final response of the verified origin.
    pub http_status: Option<u16>,
    /// The exit status of the remote command that speaks for it.
    pub exit_status: Option<u32>,
    /// How the outcome is known.
    pub source: Option<Source>,
}

/// What may be claimed now.
#[must_use]
pub fn project(state: &State, now: UnixMillis) -> Projection {
    let outcome = state.outcome();
    let code = code(state);
    let Some(code) = code else {
        return Projection {
            ok: true,
            phase: Phase::RemoteExecution,
            outcome,
            code: None,
            retry: Retry::Never,
            action: None,
            retry_owner: RetryOwner::Nobody,
            retryable: false,
            retry_after_seconds: None,
            http_status: http_status(state),
            exit_status: exit_status(state),
            source: source(state),
        };
    };
    let row = code.row();
    let phase = match row.phase {
        PhaseRule::Is(phase) => phase,
        PhaseRule::LastBoundary => last_boundary(state),
    };
    let retry = retry(row.retry, state, outcome, now);
    let repairable = state.settled.as_ref().is_some_and(|settled| settled.repairable);
    let action = action(row.action, repairable, retry, outcome);
    // A read can be tried again whatever became of it: it was declared to change nothing.
    let read = state.effect() == Some(Effect::Read);
    let action = match retry {
        Retry::Backoff if read => Action::RetryAfterDelay,
        Retry::Never if read && outcome == Outcome::Unknown => Action::StopAndReport,
        Retry::Backoff
        | Retry::Never
        | Retry::AfterCorrection
        | Retry::SameIdempotencyKey
        | Retry::Reconcile
        | Retry::FetchResult => action,
    };
    let due = match announced(state) {
        Some(Move::Repeat { at } | Move::Ask { at }) => Some(at),
        // A job that goes on is no trouble of the call that submitted it, and what waits for a person, or
        // for its first byte, is no trouble yet.
        Some(Move::Look { .. } | Move::Lapse { .. } | Move::Begin) | None => None,
    };
    let retry_owner = match due {
        Some(_) => RetryOwner::Host,
        None => owner(retry, read, outcome, action),
    };
    let asked = state.settled.as_ref().and_then(|settled| settled.retry_after_seconds);
    Projection {
        ok: false,
        phase,
        // The row's fixed outcome and the record's must agree; where they could differ, the record
        // rules, because it is what is proved.
        outcome: match row.outcome {
            OutcomeRule::Is(_) | OutcomeRule::AsProved | OutcomeRule::Nothing => outcome,
        },
        code: Some(code),
        retry,
        action: Some(action),
        retry_owner,
        retryable: retry == Retry::Backoff && retry_owner == RetryOwner::Caller,
        retry_after_seconds: due.map(|at| seconds_until(at, now)).or(asked),
        http_status: http_status(state),
        exit_status: exit_status(state),
        source: source(state),
    }
}

/// Whole seconds, and never fewer than it takes.
pub(crate) fn seconds_until(at: UnixMillis, now: UnixMillis) -> u32 {
    u32::try_from(at.0.saturating_sub(now.0).div_ceil(1000)).unwrap_or(u32::MAX)
}

/// The code; none: success.
pub(crate) fn code(state: &State) -> Option<Code> {
    match state.standing {
        Standing::Stopped => state.stopped.as_ref().map(|stop| stop.code),
        Standing::AwaitingApproval => Some(Code::ApprovalPending),
        Standing::Accepted
        | Standing::Validated
        | Standing::Authorized
        | Standing::Leased
        | Standing::Dispatched
        | Standing::Answered => {
            Some(if state.cancel_requested { Code::CallerCancelled } else { Code::InProgress })
        }
        Standing::Ended => match (telling(state).and_then(|attempt| attempt.end.as_ref()), state.outcome()) {
            (Some(AttemptEnd { code: Some(code), .. }), _) => Some(*code),
            // It succeeded, and what it brought was never stored.
            (_, Outcome::Committed) => Some(Code::ResultUnavailable),
            (_, Outcome::NotAttempted | Outcome::Rejected | Outcome::Unknown) => Some(Code::OutcomeUnknown),
        },
        Standing::Settled | Standing::Stored | Standing::Delivered => {
            let settled = state.settled.as_ref().and_then(|settled| settled.code);
            match (&state.result, settled) {
                // Success is claimed only with everything that was promised, stored.
                (
                    Some(ResultFacts::Nothing | ResultFacts::Withheld | ResultFacts::OverLimit) | None,
                    None,
                ) => Some(Code::ResultUnavailable),
                (Some(_) | None, code) => code,
            }
        }
    }
}

/// The attempt that speaks for the invocation: the newest whose outcome is the invocation's. A later
/// attempt's refusal doesn't speak for an earlier unknown.
fn telling(state: &State) -> Option<&Attempt> {
    let outcome = state.outcome();
    state.attempts.iter().rev().find(|attempt| attempt.outcome() == outcome)
}

/// The phase of the last boundary that the record proves.
#[must_use]
pub fn last_boundary(state: &State) -> Phase {
    match state.standing {
        Standing::Accepted => Phase::Validation,
        Standing::Validated | Standing::AwaitingApproval => Phase::CredentialInjection,
        Standing::Authorized if !state.queries.is_empty() => Phase::RemoteExecution,
        Standing::Authorized => Phase::ConnectionSetup,
        Standing::Leased if !state.dispatched() => Phase::ConnectionSetup,
        Standing::Leased | Standing::Dispatched | Standing::Answered | Standing::Ended => {
            Phase::RemoteExecution
        }
        Standing::Settled | Standing::Stored | Standing::Delivered => Phase::ResultDelivery,
        Standing::Stopped => state.stopped.as_ref().map_or(Phase::Validation, |stop| stop.phase),
    }
}

pub(crate) fn retry(rule: RetryRule, state: &State, outcome: Outcome, now: UnixMillis) -> Retry {
    let contract = state.binding.as_ref().map(|binding| &binding.contract);
    let read = state.effect() == Some(Effect::Read);
    let repeatable = read || contract.is_some_and(|contract| contract.repeat.is_repeatable());
    let reconcilable = contract.is_some_and(|contract| contract.reconcile.is_some());
    let backoff_if = |condition: bool| if condition { Retry::Backoff } else { Retry::Never };
    match rule {
        RetryRule::Is(retry) => retry,
        // Nothing of the effect was sent; whether it helps to come back is what the query said.
        RetryRule::BackoffOrNever => backoff_if(query_may_recover(state)),
        RetryRule::RateLimit => {
            let settled = state.settled.as_ref();
            let delay = settled.is_some_and(|settled| settled.retry_after_seconds.is_some());
            // What the transport refused was never looked at, whatever is repeated.
            let unseen = settled.is_some_and(|settled| settled.source == Source::TransportObserved);
            backoff_if(repeatable || delay || unseen)
        }
        RetryRule::ReconcileOrNever => {
            if reconcilable && !read {
                Retry::Reconcile
            } else {
                Retry::Never
            }
        }
        RetryRule::Unknown => unknown_retry(state, read, now),
        RetryRule::ByOutcome => match outcome {
            Outcome::Unknown => unknown_retry(state, read, now),
            Outcome::NotAttempted | Outcome::Rejected | Outcome::Committed => Retry::Never,
        },
    }
}

/// What may be done about an unknown, from the contract and the stored expiry only.
fn unknown_retry(state: &State, read: bool, now: UnixMillis) -> Retry {
    let repeat = state.binding.as_ref().map(|binding| &binding.contract.repeat);
    match repeat {
        _ if read && was_not_taken(state) => Retry::Never,
        _ if read => Retry::Backoff,
        // The host asks, and repeats nothing meanwhile.
        _ if matches!(announced(state), Some(Move::Ask { .. })) => Retry::Reconcile,
        // The host repeated it as often as it may, or found that it may not.
        _ if gave_up(state) => Retry::Reconcile,
        Some(Repeat::Idempotent) => Retry::Backoff,
        Some(Repeat::Keyed(_)) => {
            // The first use counts: a later attempt never renews the remote's memory.
            let expires = state
                .attempts
                .iter()
                .find_map(|attempt| attempt.dispatch.key.as_ref().map(|key| key.expires));
            if expires.is_some_and(|expires| now < expires) {
                Retry::SameIdempotencyKey
            } else {
                Retry::Reconcile
            }
        }
        Some(Repeat::None | Repeat::Conditional) | None => Retry::Reconcile,
    }
}

/// Whether the host, which repeats by itself, has left it to a person.
fn gave_up(state: &State) -> bool {
    let repeats = state.binding.as_ref().is_some_and(|binding| binding.retries.is_some());
    repeats && state.standing == Standing::Ended && state.retry_at.is_none()
}

/// Whether the newest answer was more than this host takes, which it will be again.
fn was_not_taken(state: &State) -> bool {
    let cause = state.queries.last().and_then(|query| query.evidence.cause());
    matches!(cause, Some(Cause::TooLarge | Cause::ContentNotStored))
}

/// A query that could not be answered may be answered later; one that was refused will be again.
fn query_may_recover(state: &State) -> bool {
    state.queries.last().is_none_or(|query| match &query.evidence {
        Evidence::Http(http) => match http.status {
            Some(status) if http.completion.is_some() => {
                matches!(status, 408 | 421 | 425 | 429 | 500..=599)
            }
            Some(_) | None => true,
        },
        // A server that takes no command will take none later.
        Evidence::Ssh(ssh) => !SshRow::of(ssh).refused_on_the_way(),
    })
}

pub(crate) const fn action(rule: ActionRule, repairable: bool, retry: Retry, outcome: Outcome) -> Action {
    match rule {
        ActionRule::Is(action) => action,
        ActionRule::ByVerdict if repairable => Action::RepairInput,
        ActionRule::ByVerdict => Action::StopAndReport,
        ActionRule::ByRetry => match retry {
            Retry::Backoff => Action::RetryAfterDelay,
            Retry::Reconcile | Retry::FetchResult | Retry::SameIdempotencyKey => Action::InspectOutcome,
            Retry::Never | Retry::AfterCorrection => Action::StopAndReport,
        },
        ActionRule::ByOutcome => match outcome {
            Outcome::Unknown => Action::InspectOutcome,
            Outcome::NotAttempted | Outcome::Rejected | Outcome::Committed => Action::StopAndReport,
        },
    }
}

/// Whose move it is. Calling again meets an unsettled invocation instead of sending anything, so an
/// unknown write is never the caller's.
fn owner(retry: Retry, read: bool, outcome: Outcome, action: Action) -> RetryOwner {
    match retry {
        Retry::Never => RetryOwner::Nobody,
        Retry::FetchResult => RetryOwner::Caller,
        Retry::AfterCorrection => match action {
            Action::RepairInput => RetryOwner::Caller,
            Action::RetryAfterDelay
            | Action::RequestApproval
            | Action::StopAndReport
            | Action::InspectOutcome => RetryOwner::Operator,
        },
        Retry::Backoff if read => RetryOwner::Caller,
        Retry::Backoff => match outcome {
            Outcome::NotAttempted | Outcome::Rejected => RetryOwner::Caller,
            Outcome::Committed | Outcome::Unknown => RetryOwner::Operator,
        },
        Retry::SameIdempotencyKey | Retry::Reconcile => RetryOwner::Operator,
    }
}

fn http_status(state: &State) -> Option<u16> {
    match &state.settled {
        Some(settled) => settled.http_status,
        None => told(state).and_then(Evidence::http_status),
    }
}

/// By the attempt that speaks, so that none is shown where a query or a person settled it.
fn exit_status(state: &State) -> Option<u32> {
    told(state).and_then(Evidence::exit_status)
}

/// What was seen of the exchange that speaks for the invocation.
fn told(state: &State) -> Option<&Evidence> {
    if state.dispatched() {
        telling(state).and_then(|attempt| attempt.end.as_ref()).map(|end| &end.evidence)
    } else {
        state.queries.last().map(|query| &query.evidence)
    }
}

fn source(state: &State) -> Option<Source> {
    match &state.settled {
        Some(settled) => Some(settled.source),
        None => telling(state).and_then(|attempt| attempt.end.as_ref()).map(|end| end.source),
    }
}
