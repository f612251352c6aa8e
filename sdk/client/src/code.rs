//! The codes: one meaning each, and one page in `docs/codes/`.

use crate::closed::closed_enum;

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
