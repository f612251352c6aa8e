//! The host's answer, as a type: closed words, ids, and the remote's data, which is marked as such. What
//! `docs/envelope.schema.json` does not describe is not read.

use crate::code::Code;
use crate::contract::{Action, EnvelopeSchema, Outcome, Phase, Retry, RetryOwner};
use crate::id::{OperationName, RequestId};
use serde::{Deserialize, Deserializer, Serialize};

mod parts;
mod remote;

pub use parts::{Child, ContentFacts, ContractLine, Evidence, Job, SetupLine};
pub use remote::{RemoteData, ResultError};

/// The answer to a call, or about one. Only a host makes one; it can be written out as JSON and read again, so that
/// a program can keep it for later.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Envelope {
    pub(crate) ok: bool,
    pub(crate) schema: EnvelopeSchema,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) request_id: Option<RequestId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) operation: Option<OperationName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<Code>,
    pub(crate) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) action: Option<Action>,
    pub(crate) retryable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) phase: Option<Phase>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) outcome: Option<Outcome>,
    pub(crate) retry: Retry,
    pub(crate) retry_owner: RetryOwner,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retry_after_seconds: Option<u32>,
    pub(crate) repeated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) http_status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) exit_status: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) invalid_fields: Vec<String>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<RemoteData>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<ContentFacts>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) children: Vec<Child>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) job: Option<Job>,
    pub(crate) evidence: Evidence,
}

/// A value where there is the key at all: a result may be `null`.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RemoteData>, D::Error> {
    RemoteData::deserialize(deserializer).map(Some)
}

impl Envelope {
    /// Committed, successful, and everything promised is here.
    #[must_use]
    pub const fn ok(&self) -> bool {
        self.ok
    }

    /// The version of the envelope's schema.
    #[must_use]
    pub const fn schema(&self) -> EnvelopeSchema {
        self.schema
    }

    /// The invocation; none where nothing was taken on.
    #[must_use]
    pub const fn request_id(&self) -> Option<&RequestId> {
        self.request_id.as_ref()
    }

    /// What was called.
    #[must_use]
    pub const fn operation(&self) -> Option<&OperationName> {
        self.operation.as_ref()
    }

    /// What happened; none when ok.
    #[must_use]
    pub const fn code(&self) -> Option<Code> {
        self.code
    }

    /// One sentence of the host's for a person. Not to be parsed.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do next; none when ok.
    #[must_use]
    pub const fn action(&self) -> Option<Action> {
        self.action
    }

    /// True exactly when the caller may make the same call again after a delay.
    #[must_use]
    pub const fn retryable(&self) -> bool {
        self.retryable
    }

    /// Where it stopped or stands; none where there is no invocation.
    #[must_use]
    pub const fn phase(&self) -> Option<Phase> {
        self.phase
    }

    /// What the records prove about the remote; none where there is no invocation.
    #[must_use]
    pub const fn outcome(&self) -> Option<Outcome> {
        self.outcome
    }

    /// What automation may do.
    #[must_use]
    pub const fn retry(&self) -> Retry {
        self.retry
    }

    /// Whose move it is.
    #[must_use]
    pub const fn retry_owner(&self) -> RetryOwner {
        self.retry_owner
    }

    /// How long to wait before it is tried again, in seconds.
    #[must_use]
    pub const fn retry_after_seconds(&self) -> Option<u32> {
        self.retry_after_seconds
    }

    /// Whether this answers an earlier call, and nothing was sent for this one.
    #[must_use]
    pub const fn repeated(&self) -> bool {
        self.repeated
    }

    /// The status of a complete final response of the verified origin.
    #[must_use]
    pub const fn http_status(&self) -> Option<u16> {
        self.http_status
    }

    /// The exit status of a finished remote command.
    #[must_use]
    pub const fn exit_status(&self) -> Option<u32> {
        self.exit_status
    }

    /// JSON Pointers (RFC 6901) into the operation's input schema: what to correct.
    #[must_use]
    pub fn invalid_fields(&self) -> &[String] {
        &self.invalid_fields
    }

    /// The operation's declared output, or that of its failure. Remote data: its strings are not
    /// instructions.
    #[must_use]
    pub const fn result(&self) -> Option<&RemoteData> {
        self.result.as_ref()
    }

    /// The content that was stored beside the result; [`Client::content`](crate::Client::content) fetches it.
    #[must_use]
    pub const fn content(&self) -> Option<&ContentFacts> {
        self.content.as_ref()
    }

    /// The fates of a batch's children, in order.
    #[must_use]
    pub fn children(&self) -> &[Child] {
        &self.children
    }

    /// The job that the remote took on.
    #[must_use]
    pub const fn job(&self) -> Option<&Job> {
        self.job.as_ref()
    }

    /// How the host knows.
    #[must_use]
    pub const fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// Whether it may have happened, as far as this answer says: of an invocation whose outcome is unknown, or
    /// where the host can prove nothing. A read that the caller may repeat is none, since it changes nothing.
    #[must_use]
    pub fn may_have_happened(&self) -> bool {
        match self.outcome {
            Some(Outcome::Unknown) | None => !self.retryable,
            Some(Outcome::NotAttempted | Outcome::Rejected | Outcome::Committed) => false,
        }
    }
}
