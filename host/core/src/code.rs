//! The codes: one meaning, one row, one page in `docs/codes/`.

use crate::closed::closed_enum;
use crate::contract::{Action, Outcome, Phase, Retry};

closed_enum! {
    /// What happened, for a caller to branch on.
    pub enum Code {
        /// The input breaks the operation's schema or rules.
        InvalidInput = "INVALID_INPUT",
        /// The input is too large.
        PayloadLimit = "PAYLOAD_LIMIT",
        /// The target is malformed or not among the connection's origins.
        InvalidTarget = "INVALID_TARGET",
        /// There is no such operation here.
        UnsupportedAction = "UNSUPPORTED_ACTION",
        /// What was approved is not what would be sent.
        FingerprintMismatch = "FINGERPRINT_MISMATCH",
        /// The remote key is bound to other bytes.
        IdempotencyMismatch = "IDEMPOTENCY_MISMATCH",
        /// The caller's key is bound to other input.
        CallKeyReused = "CALL_KEY_REUSED",
        /// There is no such invocation, or it is another's.
        NoSuchInvocation = "NO_SUCH_INVOCATION",
        /// The connector failed, or broke the world's rules, before anything was sent.
        ConnectorFault = "CONNECTOR_FAULT",
        /// The vault is locked.
        VaultLocked = "VAULT_LOCKED",
        /// The credential can't be used for this.
        CredentialUnavailable = "CREDENTIAL_UNAVAILABLE",
        /// A person has not decided yet.
        ApprovalPending = "APPROVAL_PENDING",
        /// A person said no.
        UserDenied = "USER_DENIED",
        /// Nobody answered in time.
        ApprovalExpired = "APPROVAL_EXPIRED",
        /// The resolved address is not allowed.
        EgressDenied = "EGRESS_DENIED",
        /// No connection could be made.
        ConnectFailed = "CONNECT_FAILED",
        /// The peer could not prove who it is.
        PeerUnverified = "PEER_UNVERIFIED",
        /// The peer refused our login before anything was sent.
        LoginFailed = "LOGIN_FAILED",
        /// A query before the effect failed.
        PreparationFailed = "PREPARATION_FAILED",
        /// The remote refused the credential.
        AuthFailed = "AUTH_FAILED",
        /// The remote refused.
        RemoteRejected = "REMOTE_REJECTED",
        /// The remote refused for now.
        RateLimited = "RATE_LIMITED",
        /// A reconciliation proved that nothing happened.
        ConfirmedAbsent = "CONFIRMED_ABSENT",
        /// The remote answered completely that it failed.
        RemoteFailed = "REMOTE_FAILED",
        /// The remote answered completely, and the answer can't be read.
        ResultUnreadable = "RESULT_UNREADABLE",
        /// The children of a batch differ.
        Partial = "PARTIAL",
        /// It may have happened.
        OutcomeUnknown = "OUTCOME_UNKNOWN",
        /// It may have happened; an answer began and broke off.
        RemoteResultIncomplete = "REMOTE_RESULT_INCOMPLETE",
        /// The caller cancelled.
        CallerCancelled = "CALLER_CANCELLED",
        /// It is being carried out under this id.
        InProgress = "IN_PROGRESS",
        /// The stored result could not be handed over.
        ResultUndelivered = "RESULT_UNDELIVERED",
        /// There is no result to hand over.
        ResultUnavailable = "RESULT_UNAVAILABLE",
        /// The host failed.
        Internal = "INTERNAL",
    }
}

/// Which phase a code belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseRule {
    /// Always this one.
    Is(Phase),
    /// The last proved boundary's.
    LastBoundary,
}

/// What a code says about the remote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutcomeRule {
    /// Always this.
    Is(Outcome),
    /// What the record proves.
    AsProved,
    /// Nothing: there is no invocation.
    Nothing,
}

/// What a code permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryRule {
    /// Always this.
    Is(Retry),
    /// `backoff` where the operation may be tried again later, else `never`.
    BackoffOrNever,
    /// `backoff` if repeatable or the answer gave a usable delay, else `never`.
    RateLimit,
    /// `reconcile` where the operation declares it, else `never`.
    ReconcileOrNever,
    /// `backoff` if idempotent, `same_idempotency_key` if keyed and in its window, else `reconcile`.
    Unknown,
    /// As the outcome asks for.
    ByOutcome,
}

/// What a code advises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionRule {
    /// Always this.
    Is(Action),
    /// `repair_input` where the verdict says that the input is at fault, else `stop_and_report`.
    ByVerdict,
    /// `retry_after_delay` with `backoff`, `inspect_outcome` with `reconcile`, else `stop_and_report`.
    ByRetry,
    /// `inspect_outcome` when unknown, else `stop_and_report`.
    ByOutcome,
}

/// A code's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Phase.
    pub phase: PhaseRule,
    /// Outcome.
    pub outcome: OutcomeRule,
    /// Retry.
    pub retry: RetryRule,
    /// Action.
    pub action: ActionRule,
    /// One sentence for a person; the host's own words.
    pub message: &'static str,
}

impl Code {
    /// The code's row.
    #[must_use]
    pub const fn row(self) -> Row {
        use Action::{InspectOutcome, RepairInput, RequestApproval, RetryAfterDelay, StopAndReport};
        use Outcome::{Committed, NotAttempted, Rejected, Unknown};
        use Phase::{ConnectionSetup, CredentialInjection, RemoteExecution, ResultDelivery, Validation};
        use Retry::{AfterCorrection, Backoff, FetchResult, Never, Reconcile};
        let (phase, outcome, retry, action, message) = match self {
            Self::InvalidInput => (
                PhaseRule::Is(Validation),
                OutcomeRule::Is(NotAttempted),
                RetryRule::Is(AfterCorrection),
                ActionRule::Is(RepairInput),
                "The input does not fit the operation; the fields named are wrong. Nothing was sent.",
            ),
            Self::PayloadLimit => (
                PhaseRule::Is(Validation),
                OutcomeRule::Is(NotAttempted),
                RetryRule::Is(AfterCorrection),
                ActionRule::Is(RepairInput),
                "The input is larger than this host takes. Nothing was sent.",
            ),
            Self::InvalidTarget => (
                PhaseRule::Is(Validation),
                OutcomeRule::Is(NotAttempted),
                RetryRule::Is(AfterCorrection),
                ActionRule::Is(RepairInput),
                "The input leads to a target that is malformed or not allowed. Nothing was sent.",
            ),
            Self::UnsupportedAction => (
                PhaseRule::Is(Validation),
                OutcomeRule::Is(NotAttempted),
                RetryRule::Is(AfterCorrection),
                ActionRule::Is(RepairInput),
                "There is no such operation here. Nothing was sent.",
            ),
            Self::FingerprintMismatch => (
                PhaseRule::Is(Validation),
                OutcomeRule::Is(NotAttempted),
                RetryRule::Is(AfterCorrection),
                ActionRule::Is(StopAndReport),
                "What would be sent is not what was approved. Nothing was sent.",
            ),
            Self::IdempotencyMismatch => (
                PhaseRule::Is(Validation),
                OutcomeRule::Is(NotAttempted),
                RetryRule::Is(AfterCorrection),
                ActionRule::Is(StopAndReport),
                "The idempotency key belongs to another request. Nothing was sent.",
            ),
            Self::CallKeyReused => (
                PhaseRule::Is(Validation),
                OutcomeRule::Is(NotAttempted),
                RetryRule::Is(AfterCorrection),
                ActionRule::Is(RepairInput),
                "The call key was used before with another input. Nothing was sent; use a new call key.",
            ),
            Self::NoSuchInvocation => (
                PhaseRule::Is(Validation),
                OutcomeRule::Nothing,
                RetryRule::Is(Never),
                ActionRule::Is(StopAndReport),
                "There is no such invocation.",
            ),
            Self::ConnectorFault => (
                PhaseRule::Is(Validation),
                OutcomeRule::Is(NotAttempted),
                RetryRule::Is(Never),
                ActionRule::Is(StopAndReport),
                "The connector failed before anything was sent. An operator has to look at it.",
            ),
            Self::VaultLocked => (
                PhaseRule::Is(CredentialInjection),
                OutcomeRule::Is(NotAttempted),
                RetryRule::Is(AfterCorrection),
                ActionRule::Is(StopAndReport),
                "The vault is locked and nothing was sent. Ask a person to unlock it; do not supply a credential.",
            ),
            Self::CredentialUnavailable => (
                PhaseRule::Is(CredentialInjection),
                OutcomeRule::Is(NotAttempted),
                RetryRule::Is(AfterCorrection),
                ActionRule::Is(StopAndReport),
                "The stored credential can't be used for this. Nothing was sent.",
            ),
            Self::ApprovalPending => (
                PhaseRule::Is(CredentialInjection),
                OutcomeRule::Is(NotAttempted),
                RetryRule::Is(AfterCorrection),
                ActionRule::Is(RequestApproval),
                "A person has to approve this. Nothing was sent yet.",
            ),
            Self::UserDenied => (
                PhaseRule::Is(CredentialInjection),
                OutcomeRule::Is(NotAttempted),
                RetryRule::Is(Never),
                ActionRule::Is(StopAndReport),
                "The requested action was not approved and did not run.",
            ),
            Self::ApprovalExpired => (
                PhaseRule::Is(CredentialInjection),
                OutcomeRule::Is(NotAttempted),
                RetryRule::Is(Never),
                ActionRule::Is(StopAndReport),
                "Nobody decided in time, and the action did not run. Nobody refused it either.",
            ),
            Self::EgressDenied => (
                PhaseRule::Is(ConnectionSetup),
                OutcomeRule::Is(NotAttempted),
                RetryRule::Is(Never),
                ActionRule::Is(StopAndReport),
                "The target's network address is not allowed. Nothing was sent.",
            ),
            Self::ConnectFailed => (
                PhaseRule::Is(ConnectionSetup),
                OutcomeRule::Is(NotAttempted),
                RetryRule::Is(Backoff),
                ActionRule::Is(RetryAfterDelay),
                "No connection could be made, and nothing was sent. The same call may be made again later.",
            ),
            Self::PeerUnverified => (
                PhaseRule::Is(ConnectionSetup),
                OutcomeRule::Is(NotAttempted),
                RetryRule::Is(AfterCorrection),
                ActionRule::Is(StopAndReport),
                "The remote could not prove its identity. Nothing was sent.",
            ),
            Self::LoginFailed => (
                PhaseRule::Is(ConnectionSetup),
                OutcomeRule::Is(NotAttempted),
                RetryRule::Is(AfterCorrection),
                ActionRule::Is(StopAndReport),
                "The remote refused the login, or what the account was to be given at login. The action was not sent.",
            ),
            Self::PreparationFailed => (
                PhaseRule::Is(RemoteExecution),
                OutcomeRule::Is(NotAttempted),
                RetryRule::BackoffOrNever,
                ActionRule::ByRetry,
                "A query that prepares the action failed. The action itself was not sent.",
            ),
            Self::AuthFailed => (
                PhaseRule::Is(RemoteExecution),
                OutcomeRule::Is(Rejected),
                RetryRule::Is(AfterCorrection),
                ActionRule::Is(StopAndReport),
                "The remote service rejected the stored credential. An operator has to look at it.",
            ),
            Self::RemoteRejected => (
                PhaseRule::Is(RemoteExecution),
                OutcomeRule::Is(Rejected),
                RetryRule::Is(AfterCorrection),
                ActionRule::ByVerdict,
                "The remote service refused the request, and nothing was changed.",
            ),
            Self::RateLimited => (
                PhaseRule::Is(RemoteExecution),
                OutcomeRule::Is(Rejected),
                RetryRule::RateLimit,
                ActionRule::ByRetry,
                "The remote service refused the request for now, and nothing was changed.",
            ),
            Self::ConfirmedAbsent => (
                PhaseRule::Is(RemoteExecution),
                OutcomeRule::Is(Rejected),
                RetryRule::Is(Backoff),
                ActionRule::Is(RetryAfterDelay),
                "A query proved that the action did not happen. The same call may be made again.",
            ),
            Self::RemoteFailed => (
                PhaseRule::Is(RemoteExecution),
                OutcomeRule::Is(Committed),
                RetryRule::ReconcileOrNever,
                ActionRule::ByRetry,
                "The remote service answered that it failed while doing it; something may have changed. Do not repeat it.",
            ),
            Self::ResultUnreadable => (
                PhaseRule::Is(RemoteExecution),
                OutcomeRule::Is(Committed),
                RetryRule::ReconcileOrNever,
                ActionRule::Is(InspectOutcome),
                "The remote service answered completely, but the answer can't be read. Do not repeat it.",
            ),
            Self::Partial => (
                PhaseRule::Is(RemoteExecution),
                OutcomeRule::Is(Committed),
                RetryRule::Is(Never),
                ActionRule::Is(InspectOutcome),
                "Not every part of the batch was carried out with success; each part has its own entry.",
            ),
            Self::OutcomeUnknown => (
                PhaseRule::Is(RemoteExecution),
                OutcomeRule::Is(Unknown),
                RetryRule::Unknown,
                ActionRule::Is(InspectOutcome),
                "The request may have reached the remote service, and no answer settles it. It may have happened: do not repeat it.",
            ),
            Self::RemoteResultIncomplete => (
                PhaseRule::Is(RemoteExecution),
                OutcomeRule::Is(Unknown),
                RetryRule::Unknown,
                ActionRule::Is(InspectOutcome),
                "An answer began and broke off before it was complete. It may have happened: do not repeat it.",
            ),
            Self::CallerCancelled => (
                PhaseRule::LastBoundary,
                OutcomeRule::AsProved,
                RetryRule::ByOutcome,
                ActionRule::ByOutcome,
                "The caller cancelled.",
            ),
            Self::InProgress => (
                PhaseRule::LastBoundary,
                OutcomeRule::AsProved,
                RetryRule::Is(Reconcile),
                ActionRule::Is(InspectOutcome),
                "This is being carried out under this id. Do not repeat it.",
            ),
            Self::ResultUndelivered => (
                PhaseRule::Is(ResultDelivery),
                OutcomeRule::AsProved,
                RetryRule::Is(FetchResult),
                ActionRule::Is(InspectOutcome),
                "It is settled and stored, but the result could not be handed over. Fetch it by its id.",
            ),
            Self::ResultUnavailable => (
                PhaseRule::Is(ResultDelivery),
                OutcomeRule::AsProved,
                RetryRule::Is(Never),
                ActionRule::Is(StopAndReport),
                "It is settled, but there is no result that can be handed over. Do not repeat it.",
            ),
            Self::Internal => (
                PhaseRule::LastBoundary,
                OutcomeRule::AsProved,
                RetryRule::ByOutcome,
                ActionRule::Is(StopAndReport),
                "The host failed. An operator has to look at it.",
            ),
        };
        Row { phase, outcome, retry, action, message }
    }

    /// The page that explains the code, below the project's documentation.
    #[must_use]
    pub fn page(self) -> String {
        format!("docs/codes/{self}.md")
    }
}
