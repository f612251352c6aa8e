//! The one table of which HTTP status an envelope travels with.
//!
//! HTTP libraries repeat requests by themselves, going by the status alone: 408, 409, 425, 429 and all of
//! 5xx are on the list of one or another. So none of these is given where something may have been done: what
//! is unknown or committed is 424, which nobody repeats. 2xx would be no better, since a client that looks at
//! the status alone would take it for done.

use http::StatusCode;
use proofport_core::code::Code;
use proofport_core::contract::{Action, Outcome};
use proofport_core::envelope::Envelope;

/// What the remote said, did or may have done keeps this from being a success, and repeating the request is
/// not the way on.
const NOT_TO_BE_REPEATED: StatusCode = StatusCode::FAILED_DEPENDENCY;

/// The status for this answer.
#[must_use]
pub fn status(envelope: &Envelope) -> StatusCode {
    let Some(code) = envelope.code() else { return StatusCode::OK };
    // Nothing was done, and the same call after a delay is right: what libraries do by themselves helps.
    let again = |status| if envelope.retryable() { status } else { NOT_TO_BE_REPEATED };
    match code {
        Code::InvalidInput | Code::InvalidTarget => StatusCode::UNPROCESSABLE_ENTITY,
        Code::PayloadLimit => StatusCode::PAYLOAD_TOO_LARGE,
        Code::UnsupportedAction | Code::NoSuchInvocation => StatusCode::NOT_FOUND,
        Code::FingerprintMismatch | Code::IdempotencyMismatch | Code::CallKeyReused => StatusCode::CONFLICT,
        Code::CredentialUnavailable | Code::UserDenied | Code::ApprovalExpired | Code::EgressDenied => {
            StatusCode::FORBIDDEN
        }
        Code::VaultLocked => StatusCode::SERVICE_UNAVAILABLE,
        // Both are taken on and go on by themselves or by a person's word.
        Code::ApprovalPending | Code::InProgress => StatusCode::ACCEPTED,
        Code::ConnectFailed | Code::PreparationFailed | Code::ConfirmedAbsent => {
            again(StatusCode::SERVICE_UNAVAILABLE)
        }
        Code::RateLimited => again(StatusCode::TOO_MANY_REQUESTS),
        Code::RemoteRejected if envelope.action() == Some(Action::RepairInput) => {
            StatusCode::UNPROCESSABLE_ENTITY
        }
        Code::PeerUnverified
        | Code::LoginFailed
        | Code::AuthFailed
        | Code::RemoteRejected
        | Code::RemoteFailed
        | Code::ResultUnreadable
        | Code::Partial
        | Code::OutcomeUnknown
        | Code::RemoteResultIncomplete
        | Code::CallerCancelled
        | Code::ResultUndelivered => NOT_TO_BE_REPEATED,
        Code::ResultUnavailable => StatusCode::GONE,
        Code::ConnectorFault => own_failure(envelope.outcome()),
        Code::Internal => own_failure(envelope.outcome()),
    }
}

/// The host or what runs in it failed. Where nothing is proved, something may have been done.
const fn own_failure(outcome: Option<Outcome>) -> StatusCode {
    match outcome {
        Some(Outcome::NotAttempted) => StatusCode::INTERNAL_SERVER_ERROR,
        Some(Outcome::Rejected | Outcome::Committed | Outcome::Unknown) | None => NOT_TO_BE_REPEATED,
    }
}
