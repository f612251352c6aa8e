//! Batches on their way: which children an input has, what a connector may say of them, and what of that is
//! stored and handed over. What it means is the core's to say ([`proofport_core::batch`]).

use crate::broker::Inner;
use crate::connection::{Connection, Validators};
use crate::refuse;
use crate::run::Run;
use proofport_core::batch::{ChildId, Held, Said, bind};
use proofport_core::canonical::canonical;
use proofport_core::classify::{Judgement, Reading};
use proofport_core::decide::Input;
use proofport_core::envelope::{FieldPointer, RemoteData, Stored};
use proofport_core::event::Continues;
use proofport_core::id::RequestId;
use proofport_core::manifest::Operation;
use proofport_core::state::State;
use proofport_core::verdict::ChildVerdict;
use proofport_journal::{Body, BodyKind};
use serde_json::Value;
use std::collections::BTreeMap;

/// Outputs of children by position, as canonical JSON.
pub(crate) type Outputs = BTreeMap<u32, String>;

/// The most fields that one refusal names.
const MOST_FIELDS: usize = 32;

/// The children of this input; none where the operation is no batch.
pub(crate) fn children(operation: &Operation, input: &Value) -> Result<Vec<ChildId>, Input> {
    let Some(batch) = &operation.contract.batch else { return Ok(Vec::new()) };
    bind(batch, input).map_err(|pointers| {
        let mut fields: Vec<FieldPointer> = Vec::new();
        for pointer in pointers.iter().take(MOST_FIELDS) {
            let field = FieldPointer::in_schema(pointer, &operation.input_schema);
            if !fields.contains(&field) {
                fields.push(field);
            }
        }
        refuse::invalid_input(fields)
    })
}

impl Run {
    /// The children that were bound.
    pub(crate) fn bound_children(&self) -> &[ChildId] {
        self.state.binding.as_ref().map_or(&[], |binding| &binding.children)
    }

    /// What this invocation takes over, if it sends children of another once more.
    pub(crate) fn taken_over(&self) -> Option<&Continues> {
        self.state.accepted.continues.as_deref()
    }

    /// What the reading says of children, each output held against its schema and searched for secrets.
    pub(crate) fn said_of_children(&self, connection: &Connection, reading: &mut Reading) -> Vec<Said> {
        let Reading::Verdict(verdict) = reading else { return Vec::new() };
        self.held_children(connection, std::mem::take(&mut verdict.children))
    }

    pub(crate) fn held_children(&self, connection: &Connection, children: Vec<ChildVerdict>) -> Vec<Said> {
        let Some(validators) = connection.validators(&self.state.accepted.operation.operation) else {
            return Vec::new();
        };
        if self.bound_children().is_empty() {
            return Vec::new();
        }
        let mut said: Vec<_> = children
            .into_iter()
            .map(|mut verdict| {
                let output = self.held(validators, verdict.success, verdict.output.take());
                Said { verdict, output }
            })
            .collect();
        // What is clean piece by piece may not be so side by side; and together they are one answer.
        let usable = said.iter().filter_map(|said| match &said.output {
            Held::Usable(output) => Some(output.to_string()),
            Held::Nothing | Held::Broken | Held::Unavailable => None,
        });
        let together = usable.collect::<Vec<_>>().join(",");
        if together.len() > connection.limits.response_bytes || !self.is_clean(together.as_bytes()) {
            for said in &mut said {
                if matches!(said.output, Held::Usable(_)) {
                    said.output = Held::Unavailable;
                }
            }
        }
        said
    }

    /// A success has the output that was declared for it, and a failure one that its schema admits.
    fn held(&self, validators: &Validators, success: bool, output: Option<Value>) -> Held {
        let schema = if success { &validators.child } else { &validators.failure };
        match (schema, output) {
            (Some(schema), Some(output)) if schema.is_valid(&output) => {
                let clean = self.is_clean(canonical(&output).as_bytes());
                if clean { Held::Usable(output) } else { Held::Unavailable }
            }
            (Some(_), _) if success => Held::Broken,
            (Some(_) | None, _) => Held::Nothing,
        }
    }

    /// Keeps the children's outputs for their commit, beside those that are stored already.
    pub(crate) fn keep_children(&mut self, judgement: &Judgement) {
        let outputs = judgement.children.iter().filter_map(|child| {
            let output = child.output.as_ref()?;
            Some((child.index, canonical(output)))
        });
        let outputs: Outputs = outputs.collect();
        if outputs.is_empty() {
            return;
        }
        let mut all = self.inner.child_outputs(&self.state.accepted.request_id);
        all.extend(outputs);
        if let Ok(bytes) = serde_json::to_vec(&all) {
            self.bodies.push(Body { kind: BodyKind::Children, bytes });
        }
        self.scratch.children = all;
    }
}

impl Inner {
    /// The stored outputs of a batch's children; empty where there are none, or they can't be read.
    pub(crate) fn child_outputs(&self, id: &RequestId) -> Outputs {
        match self.journal.body(id, BodyKind::Children) {
            Ok(Some(bytes)) => serde_json::from_slice(&bytes).unwrap_or_default(),
            Ok(None) => Outputs::new(),
            Err(error) => {
                tracing::error!(%id, %error, "stored outputs of children can't be read");
                Outputs::new()
            }
        }
    }

    /// What is stored for delivery beside the result, put together with it.
    pub(crate) fn stored(&self, state: &State, result: Option<Value>) -> Stored {
        let has_outputs = state.children.iter().any(|child| child.output.is_some());
        let children = match has_outputs {
            true => self.child_outputs(&state.accepted.request_id),
            false => Outputs::new(),
        };
        Stored { result: result.map(RemoteData::checked), children }
    }
}
