//! What may be done after an answer: the one place where that is decided.

use crate::code::Code;
use crate::contract::{Action, Outcome, Retry, RetryOwner};
use crate::envelope::Envelope;
use crate::id::RequestId;
use std::time::Duration;

#[cfg(test)]
mod tests;

/// What may be done after an answer without asking anybody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing is left to do: it succeeded.
    Done,
    /// The very same call may be made again: nothing happened, or it changes nothing.
    CallAgain {
        /// Not sooner than this; none: after a while that grows with each time.
        after: Option<Duration>,
    },
    /// The host may send what it stored once more under the same idempotency key.
    SendStoredAgain {
        /// Which.
        id: RequestId,
        /// Not sooner than this; none: after a while that grows with each time.
        after: Option<Duration>,
    },
    /// It goes on without the caller, by itself or by a person's word: wait for it, and call nothing.
    Wait {
        /// For which.
        id: RequestId,
    },
    /// The result is stored: fetch it, and send nothing.
    Fetch {
        /// Which.
        id: RequestId,
    },
    /// Nothing may be repeated. What the answer's `action` says is for whoever reads it.
    Stop,
}

/// What may be done after this answer. Everything that is not permitted by it in so many words is
/// [`Next::Stop`], and an answer that says two things permits neither.
#[must_use]
pub fn next_step(envelope: &Envelope) -> Next {
    let Some(code) = envelope.code else {
        return if envelope.ok { Next::Done } else { Next::Stop };
    };
    if envelope.ok {
        return Next::Stop;
    }
    match code {
        // Taken on, and a person or the host is at work. Without an id nothing was taken on: an operator has
        // to admit this agent first.
        Code::ApprovalPending | Code::InProgress => wait(envelope),
        // Whoever cancelled wants nothing more of it, and who sees the host fail has to call a person.
        Code::CallerCancelled | Code::Internal => Next::Stop,
        Code::OutcomeUnknown | Code::RemoteResultIncomplete => unknown(envelope),
        Code::ResultUndelivered => stored(envelope),
        Code::ConnectFailed | Code::PreparationFailed | Code::RateLimited | Code::ConfirmedAbsent => {
            nothing_happened(envelope)
        }
        // It happened, one way or the other. The host may have announced to ask about it.
        Code::RemoteFailed | Code::ResultUnreadable | Code::Partial => match envelope.retry_owner {
            RetryOwner::Host => wait(envelope),
            RetryOwner::Caller | RetryOwner::Operator | RetryOwner::Nobody => Next::Stop,
        },
        Code::InvalidInput
        | Code::PayloadLimit
        | Code::InvalidTarget
        | Code::UnsupportedAction
        | Code::FingerprintMismatch
        | Code::IdempotencyMismatch
        | Code::CallKeyReused
        | Code::NoSuchInvocation
        | Code::ConnectorFault
        | Code::VaultLocked
        | Code::CredentialUnavailable
        | Code::UserDenied
        | Code::ApprovalExpired
        | Code::EgressDenied
        | Code::PeerUnverified
        | Code::LoginFailed
        | Code::AuthFailed
        | Code::RemoteRejected
        | Code::ResultUnavailable => Next::Stop,
    }
}

/// It may have happened. The host may be at it; a read may be tried again; what is keyed may be sent again
/// by the host, which has the key.
fn unknown(envelope: &Envelope) -> Next {
    match envelope.outcome {
        Some(Outcome::Unknown) => {}
        Some(Outcome::NotAttempted | Outcome::Rejected | Outcome::Committed) | None => return Next::Stop,
    }
    let Some(id) = envelope.request_id.clone() else { return Next::Stop };
    let after = after(envelope);
    match (envelope.retry, envelope.retry_owner) {
        // The host has announced to repeat it or to ask.
        (Retry::Backoff | Retry::SameIdempotencyKey | Retry::Reconcile, RetryOwner::Host) => {
            Next::Wait { id }
        }
        (Retry::Backoff, RetryOwner::Caller) if permitted(envelope) => Next::CallAgain { after },
        (Retry::SameIdempotencyKey, RetryOwner::Caller | RetryOwner::Operator) => {
            Next::SendStoredAgain { id, after }
        }
        (
            Retry::Never
            | Retry::AfterCorrection
            | Retry::Backoff
            | Retry::SameIdempotencyKey
            | Retry::Reconcile
            | Retry::FetchResult,
            RetryOwner::Host | RetryOwner::Caller | RetryOwner::Operator | RetryOwner::Nobody,
        ) => Next::Stop,
    }
}

/// The host or a person is at it.
fn wait(envelope: &Envelope) -> Next {
    match &envelope.request_id {
        Some(id) => Next::Wait { id: id.clone() },
        None => Next::Stop,
    }
}

/// Nothing happened, by proof.
fn nothing_happened(envelope: &Envelope) -> Next {
    match (envelope.outcome, envelope.retry, envelope.retry_owner) {
        (Some(Outcome::NotAttempted | Outcome::Rejected), Retry::Backoff, RetryOwner::Caller)
            if permitted(envelope) =>
        {
            Next::CallAgain { after: after(envelope) }
        }
        (Some(Outcome::NotAttempted | Outcome::Rejected), Retry::Backoff, RetryOwner::Host) => wait(envelope),
        (
            Some(Outcome::NotAttempted | Outcome::Rejected | Outcome::Committed | Outcome::Unknown) | None,
            Retry::Never
            | Retry::AfterCorrection
            | Retry::Backoff
            | Retry::SameIdempotencyKey
            | Retry::Reconcile
            | Retry::FetchResult,
            RetryOwner::Host | RetryOwner::Caller | RetryOwner::Operator | RetryOwner::Nobody,
        ) => Next::Stop,
    }
}

/// It is settled, and the result waits.
fn stored(envelope: &Envelope) -> Next {
    match (envelope.retry, &envelope.request_id) {
        (Retry::FetchResult, Some(id)) => Next::Fetch { id: id.clone() },
        (
            Retry::Never
            | Retry::AfterCorrection
            | Retry::Backoff
            | Retry::SameIdempotencyKey
            | Retry::Reconcile
            | Retry::FetchResult,
            Some(_) | None,
        ) => Next::Stop,
    }
}

/// Whether every member that speaks about calling again says that the caller may.
fn permitted(envelope: &Envelope) -> bool {
    envelope.retryable && envelope.action == Some(Action::RetryAfterDelay)
}

fn after(envelope: &Envelope) -> Option<Duration> {
    envelope.retry_after_seconds.map(|seconds| Duration::from_secs(seconds.into()))
}
