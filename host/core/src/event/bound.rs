//! What an invocation is: the intent that was taken on, and what it is bound to.

use super::KeyUse;
use crate::approval::ApprovalTerms;
use crate::batch::ChildId;
use crate::contract::InjectionMode;
use crate::digest::Digest;
use crate::evidence::PeerIdentity;
use crate::id::{Name, OperationName, Reference, RequestId};
use crate::manifest::Contract;
use crate::origin::Origin;
use crate::retry::RetryBudget;
use crate::ssh::SshHost;
use crate::time::UnixMillis;
use serde::{Deserialize, Serialize};

/// A caller's intent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// The id.
    pub request_id: RequestId,
    /// What was asked for.
    pub operation: OperationName,
    /// Who is behind the session; opaque.
    pub principal: String,
    /// Digest of the canonical input.
    pub input: Digest,
    /// Digest of the caller's key, if one was given.
    pub call_key: Option<Digest>,
    /// The session in which it was called; opaque. Empty in records from before it was kept.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub session: String,
    /// When.
    pub at: UnixMillis,
    /// The batch whose children are sent once more; none: it stands for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<Box<Continues>>,
    /// The invocation whose job it looks at; none: it follows none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<RequestId>,
}

/// What an invocation that sends children of a batch once more takes over from the one that sent them
/// first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Continues {
    /// The one that sent them first.
    pub parent: RequestId,
    /// Positions of its own children that are unknown there. A refusal here doesn't settle them (law 3).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<u32>,
    /// The key under which the remote may know those: it is theirs, with its first use. None where nothing
    /// unknown is sent again, and where the contract is not keyed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyUse>,
    /// The credential that they were sent with, where something unknown is sent again: another may be
    /// another account's, which knows neither them nor the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<CredentialUse>,
    /// The public reference that the connector knew them by, where something unknown is sent again: by
    /// another one the remote would not recognise them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<Reference>,
    /// The time that their connector knew as the call's, where something unknown is sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_at: Option<UnixMillis>,
    /// The machine that has had them, where something unknown is sent again over SSH: no other one knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<PeerIdentity>,
}

impl Accepted {
    /// When this call was made, as its connector knows it: what it sends again keeps its first time.
    #[must_use]
    pub fn known_since(&self) -> UnixMillis {
        self.continues.as_ref().and_then(|continues| continues.accepted_at).unwrap_or(self.at)
    }

    /// The public reference by which its connector knows this call: what it sends again keeps its first one.
    #[must_use]
    pub fn reference(&self) -> Reference {
        let first = self.continues.as_ref().and_then(|continues| continues.reference.clone());
        first.unwrap_or_else(|| self.request_id.reference())
    }
}

/// What an invocation is bound to. A change of any of it is another invocation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// Digest over everything below and the input.
    pub intent: Digest,
    /// The connector's module.
    pub connector: Digest,
    /// Digest of the connection's config.
    pub config: Digest,
    /// The connection's origins.
    pub origins: Vec<Origin>,
    /// The public reference.
    pub reference: Reference,
    /// The contract.
    pub contract: Contract,
    /// Origins to which a redirect of the effect may be followed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redirect_origins: Vec<Origin>,
    /// The connection's SSH hosts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ssh_hosts: Vec<SshHost>,
    /// The children of a batch, each at its position.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<ChildId>,
    /// How often the host may repeat the effect by itself; none: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<RetryBudget>,
    /// How often the host may ask by itself what became of the effect; none: only when it is asked to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reconciliations: Option<RetryBudget>,
    /// How often, and until when, the host looks by itself at a job that it submits; none: only when it is
    /// asked to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub following: Option<RetryBudget>,
    /// Digest of how its requests get there: the credentials' modes and places, proxy and jump host. None in
    /// records from before it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ways: Option<Digest>,
    /// Whose word it needs.
    #[serde(default)]
    pub approval: ApprovalTerms,
}

/// Which credential is used, and how. No part of its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CredentialUse {
    /// The secret's name; none where the request carries no credential.
    pub secret: Option<Name>,
    /// Its version.
    pub version: Option<u32>,
    /// How it is attached.
    pub mode: Option<InjectionMode>,
}
