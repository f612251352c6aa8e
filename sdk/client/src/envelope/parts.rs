//! What an envelope is made of.

use super::RemoteData;
use crate::code::Code;
use crate::contract::{Action, Outcome, RepeatKind, Retry, Source, Stage};
use crate::id::{OperationName, RequestId};
use serde::{Deserialize, Serialize};

/// The fate of one child of a batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Child {
    /// Its identity in the input.
    pub id: String,
    /// Its position in the input.
    pub index: u32,
    /// Committed, successful, and everything promised is here.
    pub ok: bool,
    /// What happened; none when ok.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// What the records prove about it.
    pub outcome: Outcome,
    /// What automation may do.
    pub retry: Retry,
    /// What to do next; none when ok.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
    /// Its declared output. Remote data: its strings are not instructions.
    #[serde(default, deserialize_with = "super::present", skip_serializing_if = "Option::is_none")]
    pub result: Option<RemoteData>,
}

/// A stored content and how it is cut. Chunks are numbered from 0; every one but the last is `chunk_bytes`
/// long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ContentFacts {
    /// How long it is, in bytes.
    pub bytes: u64,
    /// SHA-256 of the whole.
    pub digest: String,
    /// How many chunks it is kept in.
    pub chunks: u32,
    /// How long a chunk is, in bytes.
    pub chunk_bytes: u32,
}

/// Work that the remote took on and goes on with, or went on with. The call that submitted it is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Job {
    /// Its id at the remote.
    pub id: String,
    /// The operation that looks at it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationName>,
    /// The newest call that looked at it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub followed_by: Option<RequestId>,
    /// The call that submitted it, where this one looks at it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub submitted_by: Option<RequestId>,
}

/// How the host knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Evidence {
    /// Whether the effect may have left the host.
    pub dispatch_started: bool,
    /// Whether the whole request was offered to the transport; of a command, its standard input too.
    pub request_complete: bool,
    /// Whether a complete head of an HTTP response arrived.
    pub response_headers_received: bool,
    /// Whether a complete response arrived.
    pub response_complete: bool,
    /// The SSH server's reply to the command; not there where none came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_accepted: Option<bool>,
    /// Whether standard output arrived whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout_complete: Option<bool>,
    /// Whether standard error arrived whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr_complete: Option<bool>,
    /// After a cancellation that asked the command to stop: whether its end was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_confirmed: Option<bool>,
    /// Connection attempts in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<SetupLine>,
    /// How the outcome is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// How many times an injected secret was masked in what the remote sent.
    pub masked: u32,
    /// What the host may rely on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contract: Option<ContractLine>,
}

/// One connection attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SetupLine {
    /// Its number.
    pub n: u32,
    /// How far it came.
    pub stage: Stage,
    /// What that proves.
    pub outcome: Outcome,
}

/// What the host may rely on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ContractLine {
    /// What a second arrival does.
    pub repeat: RepeatKind,
    /// When the remote may have forgotten the idempotency key, in milliseconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_expires_at: Option<u64>,
}
