//! The pages about the codes, for whoever follows a problem's `type`.

use super::answer::Refused;
use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::response::{IntoResponse as _, Response};
use http::header::CONTENT_TYPE;
use proofport_core::code::Code;

/// Where the page about this code is.
pub(super) fn location(code: Code) -> String {
    format!("/codes/{code}")
}

/// `GET /codes/{code}`.
pub(super) async fn page(code: Result<Path<String>, PathRejection>) -> Response {
    match code.ok().and_then(|Path(code)| Code::parse(&code)) {
        Some(code) => ([(CONTENT_TYPE, "text/markdown; charset=utf-8")], text(code)).into_response(),
        None => Refused::NoSuchPath.into_response(),
    }
}

const fn text(code: Code) -> &'static str {
    match code {
        Code::InvalidInput => include_str!("../../../../docs/codes/INVALID_INPUT.md"),
        Code::PayloadLimit => include_str!("../../../../docs/codes/PAYLOAD_LIMIT.md"),
        Code::InvalidTarget => include_str!("../../../../docs/codes/INVALID_TARGET.md"),
        Code::UnsupportedAction => include_str!("../../../../docs/codes/UNSUPPORTED_ACTION.md"),
        Code::FingerprintMismatch => include_str!("../../../../docs/codes/FINGERPRINT_MISMATCH.md"),
        Code::IdempotencyMismatch => include_str!("../../../../docs/codes/IDEMPOTENCY_MISMATCH.md"),
        Code::CallKeyReused => include_str!("../../../../docs/codes/CALL_KEY_REUSED.md"),
        Code::NoSuchInvocation => include_str!("../../../../docs/codes/NO_SUCH_INVOCATION.md"),
        Code::ConnectorFault => include_str!("../../../../docs/codes/CONNECTOR_FAULT.md"),
        Code::VaultLocked => include_str!("../../../../docs/codes/VAULT_LOCKED.md"),
        Code::CredentialUnavailable => include_str!("../../../../docs/codes/CREDENTIAL_UNAVAILABLE.md"),
        Code::ApprovalPending => include_str!("../../../../docs/codes/APPROVAL_PENDING.md"),
        Code::UserDenied => include_str!("../../../../docs/codes/USER_DENIED.md"),
        Code::ApprovalExpired => include_str!("../../../../docs/codes/APPROVAL_EXPIRED.md"),
        Code::EgressDenied => include_str!("../../../../docs/codes/EGRESS_DENIED.md"),
        Code::ConnectFailed => include_str!("../../../../docs/codes/CONNECT_FAILED.md"),
        Code::PeerUnverified => include_str!("../../../../docs/codes/PEER_UNVERIFIED.md"),
        Code::LoginFailed => include_str!("../../../../docs/codes/LOGIN_FAILED.md"),
        Code::PreparationFailed => include_str!("../../../../docs/codes/PREPARATION_FAILED.md"),
        Code::AuthFailed => include_str!("../../../../docs/codes/AUTH_FAILED.md"),
        Code::RemoteRejected => include_str!("../../../../docs/codes/REMOTE_REJECTED.md"),
        Code::RateLimited => include_str!("../../../../docs/codes/RATE_LIMITED.md"),
        Code::ConfirmedAbsent => include_str!("../../../../docs/codes/CONFIRMED_ABSENT.md"),
        Code::RemoteFailed => include_str!("../../../../docs/codes/REMOTE_FAILED.md"),
        Code::ResultUnreadable => include_str!("../../../../docs/codes/RESULT_UNREADABLE.md"),
        Code::Partial => include_str!("../../../../docs/codes/PARTIAL.md"),
        Code::OutcomeUnknown => include_str!("../../../../docs/codes/OUTCOME_UNKNOWN.md"),
        Code::RemoteResultIncomplete => include_str!("../../../../docs/codes/REMOTE_RESULT_INCOMPLETE.md"),
        Code::CallerCancelled => include_str!("../../../../docs/codes/CALLER_CANCELLED.md"),
        Code::InProgress => include_str!("../../../../docs/codes/IN_PROGRESS.md"),
        Code::ResultUndelivered => include_str!("../../../../docs/codes/RESULT_UNDELIVERED.md"),
        Code::ResultUnavailable => include_str!("../../../../docs/codes/RESULT_UNAVAILABLE.md"),
        Code::Internal => include_str!("../../../../docs/codes/INTERNAL.md"),
    }
}
