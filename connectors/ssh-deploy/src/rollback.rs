//! Making an earlier release current again.

use crate::{answer, remote};
use proofport_sdk::{Call, Fault, Operation, ReconcileStep, Repeat, SshResponse, Step, json};
use serde::Deserialize;

/// As for a release.
const ABSENCE_SETTLES_AFTER_SECONDS: u32 = 300;

#[derive(Deserialize)]
struct Input {
    id: String,
}

pub(crate) fn declare() -> Operation {
    // The remote makes the switch once for the call's reference, whatever is switched to afterwards.
    answer::declare(Operation::write("rollback", Repeat::Idempotent))
        .summary("Make a release current that is there already.")
        .input(&remote::object(json!({ "id": remote::id() }), &["id"]))
        .reconcile(Some(ABSENCE_SETTLES_AFTER_SECONDS), true)
}

pub(crate) fn carry_out(call: &Call, answer: Option<&SshResponse>) -> Result<Step, Fault> {
    let Input { id } = call.input()?;
    match answer {
        Some(response) => Ok(answer::effect(response, &id)?.into()),
        None => {
            let command = remote::command(call, "rollback", &[&id, &call.reference])?;
            Ok(command.as_effect(format!("Make release {id} current again")))
        }
    }
}

pub(crate) fn find(call: &Call, answer: Option<&SshResponse>) -> Result<ReconcileStep, Fault> {
    let Input { id } = call.input()?;
    match answer {
        Some(response) => answer::fate(response, &id),
        None => {
            let command = remote::command(call, "switched", &[&id, &call.reference])?;
            Ok(command.as_query("Ask what became of the rollback"))
        }
    }
}
