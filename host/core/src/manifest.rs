//! What a connector declares, parsed once into validated types. Built by the sandbox from what
//! `describe` returned.

use crate::contract::{Effect, InjectionMode, Repeat};
use crate::id::Name;
use serde::{Deserialize, Serialize};

/// What a connector is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The connector's name.
    pub name: Name,
    /// Its semantic version.
    pub version: String,
    /// One sentence.
    pub summary: String,
    /// JSON Schema of a connection's `config`.
    pub config_schema: serde_json::Value,
    /// Places for credentials.
    pub credential_slots: Vec<CredentialSlot>,
    /// What it can do.
    pub operations: Vec<Operation>,
    /// Requests that are queries although they are neither GET nor HEAD.
    pub query_templates: Vec<QueryTemplate>,
}

impl Manifest {
    /// The operation with this name.
    #[must_use]
    pub fn operation(&self, name: &Name) -> Option<&Operation> {
        self.operations.iter().find(|operation| operation.name == *name)
    }

    /// The slot with this name.
    #[must_use]
    pub fn slot(&self, name: &Name) -> Option<&CredentialSlot> {
        self.credential_slots.iter().find(|slot| slot.name == *name)
    }
}

/// A place for a credential.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CredentialSlot {
    /// Its name in requests and in the connection.
    pub name: Name,
    /// What it is for.
    pub purpose: String,
    /// The ways in which the service takes it; at least one.
    pub modes: Vec<InjectionMode>,
}

/// One thing a connector can do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Operation {
    /// Its name.
    pub name: Name,
    /// One sentence for those who call it.
    pub summary: String,
    /// JSON Schema of the input.
    pub input_schema: serde_json::Value,
    /// JSON Schema of a success's output.
    pub output_schema: serde_json::Value,
    /// JSON Schema of a failure's output; it admits no free text.
    pub failure_schema: Option<serde_json::Value>,
    /// JSON Schema of the output of a batch's child that succeeded; none: it has no output.
    #[serde(default)]
    pub child_output_schema: Option<serde_json::Value>,
    /// What the host may rely on when it decides.
    pub contract: Contract,
    /// Response headers, in lower case, that the connector sees and the record keeps.
    pub kept_headers: Vec<String>,
    /// Whether the content of a complete 2xx answer is stored in chunks and not shown to the connector.
    #[serde(default)]
    pub stores_content: bool,
    /// Whether it may send a command that the host does not quote.
    #[serde(default)]
    pub raw_commands: bool,
}

/// The part of an operation that decisions rest on. A copy is bound to every invocation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contract {
    /// Whether it may change anything.
    pub effect: Effect,
    /// What the remote promises about a second arrival.
    pub repeat: Repeat,
    /// HTTP statuses that the service documents as sent before any work, and exit statuses that a command
    /// ends with before any. An exit status refuses only together with the connector's word.
    pub statuses_before_work: Vec<u16>,
    /// Whether and how its fate can be asked for.
    pub reconcile: Option<Reconcile>,
    /// Whether one request carries several children.
    pub batch: Option<Batch>,
    /// The operation that follows a job which this one submits.
    pub job_operation: Option<Name>,
    /// For SSH: the text before the reference in a line that proves completion.
    pub completion_marker: Option<String>,
    /// For SSH: how long a cancelled command is waited for, in seconds, after it was asked to stop by the
    /// signal TERM (RFC 4254 section 6.9). None: it is not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_grace_seconds: Option<u32>,
}

/// An operation's fate can be asked for afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reconcile {
    /// Seconds from the last dispatch after which "absent" is proof; none: never.
    pub absence_settles_after_seconds: Option<u32>,
    /// Whether the host may do it without being asked.
    pub automatic: bool,
}

/// One request carries several children.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// JSON Pointer to the array in the input.
    pub items: String,
    /// JSON Pointer to the identity within a child.
    pub child_id: String,
    /// Whether children stand or fall together.
    pub mode: BatchMode,
    /// The most children in one request.
    pub max: u32,
}

/// Whether the children of a batch stand or fall together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BatchMode {
    /// Each child has its own fate.
    Independent,
    /// All have one.
    Atomic,
}

/// A request that is a query although it is neither GET nor HEAD, reviewed by the admin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueryTemplate {
    /// An HTTP method and a path without query; a segment of `{}` stands for any one segment.
    Http {
        /// The method.
        method: String,
        /// The path pattern.
        path: String,
    },
    /// A command's argument vector; an argument of `{}` stands for any one argument.
    Ssh(Vec<String>),
}
