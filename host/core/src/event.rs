//! The journal's facts. Append-only; the sequence number that the journal gives each is the order.

mod bound;
mod stop;

pub use bound::{Accepted, Binding, Continues, CredentialUse};
pub use stop::{CredentialRefusal, Stop, StopDetail};

use crate::approval::{Question, Word};
use crate::batch::ChildId;
use crate::closed::closed_enum;
use crate::code::Code;
use crate::content::ContentFacts;
use crate::contract::{Outcome, Source};
use crate::digest::Digest;
use crate::evidence::{Evidence, PeerIdentity, SetupAttempt};
use crate::id::{IdempotencyKey, Name};
use crate::job::Following;
use crate::origin::Origin;
use crate::session::SessionFacts;
use crate::time::UnixMillis;
use serde::{Deserialize, Serialize};

closed_enum! {
    /// The kinds of events, as they stand in the journal, the audit log and metrics.
    pub enum EventKind {
        /// See [`Event::ActionAccepted`].
        ActionAccepted = "ACTION_ACCEPTED",
        /// See [`Event::PreflightValidated`].
        PreflightValidated = "PREFLIGHT_VALIDATED",
        /// See [`Event::ApprovalRequested`].
        ApprovalRequested = "APPROVAL_REQUESTED",
        /// See [`Event::ApprovalDecided`].
        ApprovalDecided = "APPROVAL_DECIDED",
        /// See [`Event::CredentialAuthorized`].
        CredentialAuthorized = "CREDENTIAL_AUTHORIZED",
        /// See [`Event::ConnectionAttempted`].
        ConnectionAttempted = "CONNECTION_ATTEMPTED",
        /// See [`Event::QueryExchanged`].
        QueryExchanged = "QUERY_EXCHANGED",
        /// See [`Event::Stopped`].
        Stopped = "STOPPED",
        /// See [`Event::CancelRequested`].
        CancelRequested = "CANCEL_REQUESTED",
        /// See [`Event::LeaseTaken`].
        LeaseTaken = "LEASE_TAKEN",
        /// See [`Event::DispatchStarted`].
        DispatchStarted = "DISPATCH_STARTED",
        /// See [`Event::RequestSent`].
        RequestSent = "REQUEST_SENT",
        /// See [`Event::RemoteResponseStarted`].
        RemoteResponseStarted = "REMOTE_RESPONSE_STARTED",
        /// See [`Event::RemoteResponseComplete`].
        RemoteResponseComplete = "REMOTE_RESPONSE_COMPLETE",
        /// See [`Event::AttemptEnded`].
        AttemptEnded = "ATTEMPT_ENDED",
        /// See [`Event::ChildSettled`].
        ChildSettled = "CHILD_SETTLED",
        /// See [`Event::JobAccepted`].
        JobAccepted = "JOB_ACCEPTED",
        /// See [`Event::OutcomeSettled`].
        OutcomeSettled = "OUTCOME_SETTLED",
        /// See [`Event::ResultCommitted`].
        ResultCommitted = "RESULT_COMMITTED",
        /// See [`Event::ResultDelivered`].
        ResultDelivered = "RESULT_DELIVERED",
        /// See [`Event::RetryScheduled`].
        RetryScheduled = "RETRY_SCHEDULED",
        /// See [`Event::ReconcileScheduled`].
        ReconcileScheduled = "RECONCILE_SCHEDULED",
        /// See [`Event::JobFollowed`].
        JobFollowed = "JOB_FOLLOWED",
        /// See [`Event::EvidenceAttached`].
        EvidenceAttached = "EVIDENCE_ATTACHED",
        /// See [`HostEvent::SessionDecided`].
        SessionDecided = "SESSION_DECIDED",
        /// See [`HostEvent::VaultStateChanged`].
        VaultStateChanged = "VAULT_STATE_CHANGED",
        /// See [`HostEvent::UnlockFailed`].
        UnlockFailed = "UNLOCK_FAILED",
        /// See [`HostEvent::OperatorRefused`].
        OperatorRefused = "OPERATOR_REFUSED",
        /// See [`HostEvent::SecretChanged`].
        SecretChanged = "SECRET_CHANGED",
        /// See [`HostEvent::ConnectorDecided`].
        ConnectorDecided = "CONNECTOR_DECIDED",
        /// See [`HostEvent::ConfigLoaded`].
        ConfigLoaded = "CONFIG_LOADED",
    }
}

/// One fact about an invocation, or about the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Event {
    /// A caller's intent was taken on under an id.
    ActionAccepted(Box<Accepted>),
    /// Everything that could be checked without a secret was, and this is what the invocation is
    /// bound to.
    PreflightValidated(Box<Binding>),
    /// A person is asked.
    ApprovalRequested(Question),
    /// A person decided, or had decided before.
    ApprovalDecided(Word),
    /// The credential may be used in this way for this target.
    CredentialAuthorized(CredentialUse),
    /// A connection attempt for an exchange ended, well or not.
    ConnectionAttempted(SetupAttempt),
    /// A query ended.
    QueryExchanged(QueryFacts),
    /// The invocation ended without an effect.
    Stopped(Stop),
    /// The caller lost interest. Says nothing about the remote.
    CancelRequested,
    /// The right to dispatch the effect under this generation was taken.
    LeaseTaken {
        /// Counted from 1.
        generation: u32,
        /// When the right ends.
        until: UnixMillis,
    },
    /// The next thing that happens is the first handoff of the effect to its transport.
    DispatchStarted(Dispatch),
    /// The whole effect was offered to the transport.
    RequestSent {
        /// Of which attempt.
        generation: u32,
    },
    /// A first byte of an answer arrived.
    RemoteResponseStarted {
        /// Of which attempt.
        generation: u32,
    },
    /// A complete answer arrived.
    RemoteResponseComplete {
        /// Of which attempt.
        generation: u32,
    },
    /// The attempt is over as far as this host can see.
    AttemptEnded(AttemptEnd),
    /// A child of a batch has a fate of its own.
    ChildSettled(ChildFacts),
    /// The remote took on work that goes on.
    JobAccepted {
        /// Its id at the remote.
        id: String,
    },
    /// The invocation's outcome is known.
    OutcomeSettled(Settlement),
    /// What can be delivered is stored.
    ResultCommitted(ResultFacts),
    /// The caller's protocol confirmed a complete handoff.
    ResultDelivered,
    /// The host will try again.
    RetryScheduled {
        /// The generation of the next attempt.
        generation: u32,
        /// Not before this.
        at: UnixMillis,
    },
    /// The host will ask the remote by itself what became of the effect, or asks no more.
    ReconcileScheduled {
        /// How often it has asked by itself.
        asked: u32,
        /// Not before this; none: it has asked as often as it does.
        at: Option<UnixMillis>,
    },
    /// The job was looked at by another invocation, or will be.
    JobFollowed(Following),
    /// Evidence that came too late to decide, or from elsewhere.
    EvidenceAttached {
        /// Where it came from.
        source: Source,
        /// Its sequence there: for a query, its number among the invocation's queries, from 1 upwards.
        source_sequence: u64,
        /// What it says.
        outcome: Outcome,
        /// The position of the batch's child that it is about; none: the whole.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        child: Option<u32>,
    },
    /// A fact about the host.
    Host(HostEvent),
}

/// Facts about the host, in the same sequence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "host_event", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum HostEvent {
    /// An agent's session was allowed or refused.
    SessionDecided {
        /// Whether it may call.
        allowed: bool,
        /// Which, and who it is; none in records of a host that knew no sessions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<Box<SessionFacts>>,
    },
    /// The vault was locked or unlocked.
    VaultStateChanged {
        /// Whether it is locked now.
        locked: bool,
    },
    /// A passphrase was wrong.
    UnlockFailed,
    /// Somebody without the operator's credential asked for what only operators may.
    OperatorRefused,
    /// A secret was set, rotated or removed.
    SecretChanged {
        /// Its name.
        name: Name,
        /// The newest version; none after removal.
        version: Option<u32>,
    },
    /// An admin approved or revoked a connector.
    ConnectorDecided {
        /// Its module.
        digest: Digest,
        /// Whether it may run.
        approved: bool,
    },
    /// The connections were read.
    ConfigLoaded {
        /// Digest of the file.
        digest: Digest,
    },
}

impl Event {
    /// The kind.
    #[must_use]
    pub const fn kind(&self) -> EventKind {
        match self {
            Self::ActionAccepted(_) => EventKind::ActionAccepted,
            Self::PreflightValidated(_) => EventKind::PreflightValidated,
            Self::ApprovalRequested(_) => EventKind::ApprovalRequested,
            Self::ApprovalDecided(_) => EventKind::ApprovalDecided,
            Self::CredentialAuthorized(_) => EventKind::CredentialAuthorized,
            Self::ConnectionAttempted(_) => EventKind::ConnectionAttempted,
            Self::QueryExchanged(_) => EventKind::QueryExchanged,
            Self::Stopped(_) => EventKind::Stopped,
            Self::CancelRequested => EventKind::CancelRequested,
            Self::LeaseTaken { .. } => EventKind::LeaseTaken,
            Self::DispatchStarted(_) => EventKind::DispatchStarted,
            Self::RequestSent { .. } => EventKind::RequestSent,
            Self::RemoteResponseStarted { .. } => EventKind::RemoteResponseStarted,
            Self::RemoteResponseComplete { .. } => EventKind::RemoteResponseComplete,
            Self::AttemptEnded(_) => EventKind::AttemptEnded,
            Self::ChildSettled(_) => EventKind::ChildSettled,
            Self::JobAccepted { .. } => EventKind::JobAccepted,
            Self::OutcomeSettled(_) => EventKind::OutcomeSettled,
            Self::ResultCommitted(_) => EventKind::ResultCommitted,
            Self::ResultDelivered => EventKind::ResultDelivered,
            Self::RetryScheduled { .. } => EventKind::RetryScheduled,
            Self::ReconcileScheduled { .. } => EventKind::ReconcileScheduled,
            Self::JobFollowed(_) => EventKind::JobFollowed,
            Self::EvidenceAttached { .. } => EventKind::EvidenceAttached,
            Self::Host(host) => host.kind(),
        }
    }
}

impl HostEvent {
    /// The kind.
    #[must_use]
    pub const fn kind(&self) -> EventKind {
        match self {
            Self::SessionDecided { .. } => EventKind::SessionDecided,
            Self::VaultStateChanged { .. } => EventKind::VaultStateChanged,
            Self::UnlockFailed => EventKind::UnlockFailed,
            Self::OperatorRefused => EventKind::OperatorRefused,
            Self::SecretChanged { .. } => EventKind::SecretChanged,
            Self::ConnectorDecided { .. } => EventKind::ConnectorDecided,
            Self::ConfigLoaded { .. } => EventKind::ConfigLoaded,
        }
    }
}

/// What a query was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueryPurpose {
    /// The operation is a read.
    Read,
    /// It prepares an effect.
    Prepare,
    /// It asks what became of an effect.
    Reconcile,
}

/// A query and how it went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueryFacts {
    /// What it was for.
    pub purpose: QueryPurpose,
    /// Fingerprint of the request.
    pub request: Digest,
    /// Who answered.
    pub peer: PeerIdentity,
    /// What was seen.
    pub evidence: Evidence,
}

/// The durable fact before the first handoff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dispatch {
    /// Counted from 1.
    pub generation: u32,
    /// Fingerprint of the exact effect before credential injection.
    pub request: Digest,
    /// Who the peer proved to be.
    pub peer: PeerIdentity,
    /// The key under which the remote deduplicates.
    pub key: Option<KeyUse>,
    /// When.
    pub at: UnixMillis,
    /// Where the attempt before was redirected to, if this one follows it: the same method and content
    /// at another place, so its fingerprint is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<Origin>,
}

/// An idempotency key in use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyUse {
    /// The key.
    pub key: IdempotencyKey,
    /// What the remote scopes it to.
    pub scope: String,
    /// When it was first used.
    pub first_use: UnixMillis,
    /// The earliest time at which the remote may have forgotten it, margins taken off.
    pub expires: UnixMillis,
}

/// How one attempt ended as far as this host can see.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptEnd {
    /// Which attempt.
    pub generation: u32,
    /// What is proved of it.
    pub outcome: Outcome,
    /// The code that goes with it; none: success.
    pub code: Option<Code>,
    /// How it is known.
    pub source: Source,
    /// What was seen.
    pub evidence: Evidence,
    /// Whether the connector's reading claimed more than the transport proved, and was cut down.
    #[serde(default)]
    pub above_ceiling: bool,
    /// The connector's fault while it read the answer: a name from the sandbox's closed list.
    #[serde(default)]
    pub connector_fault: Option<String>,
    /// The origin to which a complete 307 or 308 sent the effect on, where it is followed. Whoever lists
    /// an origin for that says that such an answer precedes any work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirected: Option<Origin>,
    /// How many children of a batch the connector spoke of that were never sent; nothing is believed of
    /// them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unmatched_children: u32,
    /// A usable delay that the remote asked for, in seconds, capped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u32>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// What was learnt of a child of a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildFacts {
    /// Position in the input.
    pub index: u32,
    /// Identity in the input.
    pub id: ChildId,
    /// The attempt whose answer it was learnt from; of what was learnt otherwise, the newest one that it
    /// speaks of.
    pub generation: u32,
    /// What is proved of it.
    pub outcome: Outcome,
    /// The code; none: success.
    pub code: Option<Code>,
    /// How it is known.
    pub source: Source,
    /// Whether the caller can repair it.
    #[serde(default)]
    pub repairable: bool,
    /// Digest of its output's canonical JSON; the output is stored beside the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Digest>,
    /// Why, where a person settled it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attested_reason: Option<String>,
    /// How many children of a settled batch are unknown after this; none: it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_unknown: Option<u32>,
}

/// The invocation's outcome, known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settlement {
    /// Rejected or committed.
    pub outcome: Outcome,
    /// The code; none: success.
    pub code: Option<Code>,
    /// How it is known.
    pub source: Source,
    /// Whether the caller can repair the input.
    #[serde(default)]
    pub repairable: bool,
    /// A usable delay that the remote asked for, in seconds, capped.
    #[serde(default)]
    pub retry_after_seconds: Option<u32>,
    /// The status of the complete final response of the verified origin.
    #[serde(default)]
    pub http_status: Option<u16>,
    /// Why, where a person settled it.
    #[serde(default)]
    pub attested_reason: Option<String>,
    /// How many children of the batch it leaves unknown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unknown_children: u32,
}

/// What can be delivered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum ResultFacts {
    /// Nothing beyond the envelope.
    Nothing,
    /// An output that satisfies its schema.
    Output {
        /// Digest of exactly the deliverable bytes.
        digest: Digest,
        /// How many.
        bytes: u64,
        /// The content that was stored beside it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<ContentFacts>,
    },
    /// It may hold a secret in some shape.
    Withheld,
    /// It is over the limit.
    OverLimit,
}
