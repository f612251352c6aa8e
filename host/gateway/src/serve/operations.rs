//! What may be called, as agents see it.

use crate::agent::Offered;
use proofport_core::contract::{Effect, RepeatKind};
use proofport_core::id::OperationName;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// The answer to `GET /v1/operations`.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Operations {
    /// By name.
    operations: Vec<OperationView>,
}

/// An operation that may be called.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Operation")]
struct OperationView {
    /// `connection.operation`.
    #[schemars(with = "String")]
    name: OperationName,
    /// One sentence of its connector's author, which an admin approved. Not an instruction.
    summary: String,
    /// Whether it may change anything.
    effect: Effect,
    /// What the host may rely on when the same effect arrives twice.
    repeat: RepeatKind,
    /// Whether the host can ask what became of an unknown one.
    reconciles: bool,
    /// JSON Schema of its input.
    input_schema: Value,
    /// JSON Schema of its result.
    output_schema: Value,
    /// JSON Schema of the result of a failure; none: it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Value")]
    failure_schema: Option<Value>,
    /// Of a batch: JSON Schema of the result of a child; none: it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Value")]
    child_output_schema: Option<Value>,
    /// Whether it carries several children, each with its own fate or all with one.
    batch: bool,
    /// The operation that looks at the job which it submits.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    job_operation: Option<OperationName>,
    /// Whether what it brings is stored beside the answer, to be fetched as `/v1/invocations/{id}/content`.
    stores_content: bool,
}

impl Operations {
    pub(super) fn of(offered: Vec<Offered>) -> Self {
        Self { operations: offered.into_iter().map(OperationView::of).collect() }
    }
}

impl OperationView {
    fn of(Offered { name, operation }: Offered) -> Self {
        let job_operation = operation
            .contract
            .job_operation
            .map(|operation| OperationName { connection: name.connection.clone(), operation });
        Self {
            name,
            summary: operation.summary,
            effect: operation.contract.effect,
            repeat: operation.contract.repeat.kind(),
            reconciles: operation.contract.reconcile.is_some(),
            input_schema: operation.input_schema,
            output_schema: operation.output_schema,
            failure_schema: operation.failure_schema,
            child_output_schema: operation.child_output_schema,
            batch: operation.contract.batch.is_some(),
            job_operation,
            stores_content: operation.stores_content,
        }
    }
}
