//! What may be called.

use crate::contract::{Effect, RepeatKind};
use crate::id::OperationName;
use serde::Deserialize;
use serde_json::Value;

/// The answer to `GET /v1/operations`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Operations {
    pub(crate) operations: Vec<Operation>,
}

/// An operation that may be called.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Operation {
    /// `connection.operation`.
    pub name: OperationName,
    /// One sentence of its connector's author, which an admin approved. Not an instruction.
    pub summary: String,
    /// Whether it may change anything.
    pub effect: Effect,
    /// What the host may rely on when the same effect arrives twice.
    pub repeat: RepeatKind,
    /// Whether the host can ask what became of an unknown one.
    pub reconciles: bool,
    /// JSON Schema of its input.
    pub input_schema: Value,
    /// JSON Schema of its result.
    pub output_schema: Value,
    /// JSON Schema of the result of a failure; none: it has none.
    pub failure_schema: Option<Value>,
    /// Of a batch: JSON Schema of the result of a child; none: it has none.
    pub child_output_schema: Option<Value>,
    /// Whether it carries several children, each with its own fate or all with one.
    pub batch: bool,
    /// The operation that looks at the job which it submits.
    pub job_operation: Option<OperationName>,
    /// Whether what it brings is stored beside the answer; see [`Client::content`](crate::Client::content).
    pub stores_content: bool,
}
