//! Running a declared command.

use crate::argument::Value as Given;
use crate::config::{Command, Config, Part};
use crate::{SLOT, answer};
use proofport_sdk::ssh::run_once::{MARKER, RunOnce};
use proofport_sdk::{
    Call, Fault, Operation, Reason, ReconcileStep, Repeat, SshRequest, SshResponse, Step, Verdict, json,
};
use serde::Deserialize;
use std::collections::BTreeMap;

/// After this long, an exec that the remote has not begun never begins: servers drop a session long
/// before.
const ABSENCE_SETTLES_AFTER_SECONDS: u32 = 300;

/// A run under a reference gives its command 5 seconds after SIGTERM, and as long after SIGKILL.
const STOP_GRACE_SECONDS: u32 = 15;

#[derive(Deserialize)]
struct Input {
    command: String,
    #[serde(default)]
    arguments: BTreeMap<String, Given>,
}

pub(crate) fn declare() -> Operation {
    let name = json!({ "type": "string", "pattern": "^[a-z][a-z0-9_-]*$", "maxLength": 64 });
    let value = json!({ "type": ["string", "integer"], "maxLength": 1024 });
    let input = json!({
        "type": "object", "required": ["command"], "additionalProperties": false,
        "properties": {
            "command": name,
            "arguments": { "type": "object", "propertyNames": name, "additionalProperties": value },
        },
    });
    answer::declare(Operation::write("run", Repeat::None))
        .summary("Run a command that the connection's configuration declares.")
        .input(&input)
        .reconcile(Some(ABSENCE_SETTLES_AFTER_SECONDS), true)
        .completion_marker(MARKER)
        .statuses_before_work(&[120, 122])
        .stop(STOP_GRACE_SECONDS)
        .stores_content()
}

pub(crate) fn carry_out(call: &Call, answer: Option<&SshResponse>) -> Result<Step, Fault> {
    let input: Input = call.input()?;
    let config = Config::of(call)?;
    let command = config.command(&input.command)?;
    if let Some(response) = answer {
        let verdict = match command.run_once {
            true => answer::under_reference(response, &call.reference),
            false => answer::direct(response),
        };
        return Ok(verdict.into());
    }
    let argv = argv(command, &input.arguments)?;
    let summary =
        format!("Run the declared command {} with {} arguments", input.command, input.arguments.len());
    let request = match command.run_once {
        true => RunOnce::of(call).state(config.state.as_deref()).run(argv),
        false => SshRequest::argv(argv),
    };
    Ok(request.credential(SLOT).as_effect(summary))
}

/// Puts what the caller gives into its places. Everything given has a place, and every place is given.
fn argv(command: &Command, given: &BTreeMap<String, Given>) -> Result<Vec<String>, Fault> {
    let mut texts = BTreeMap::new();
    let mut wrong = Vec::new();
    for (name, value) in given {
        match command.arguments.get(name).and_then(|kind| kind.text(value)) {
            Some(text) => drop(texts.insert(name.as_str(), text)),
            None => wrong.push(format!("/arguments/{name}")),
        }
    }
    if !wrong.is_empty() {
        return Err(Fault::Input(wrong));
    }
    if texts.len() < command.arguments.len() {
        return Err(Fault::field("/arguments"));
    }
    let place = |part: &Part| match part {
        Part::Fixed(text) => Ok(text.clone()),
        // A place that the configuration does not declare can't be given.
        Part::Given(given) => match texts.get(given.argument.as_str()) {
            Some(text) => Ok(format!("{}{text}", given.prefix)),
            None => Err(Fault::field("")),
        },
    };
    command.argv.iter().map(place).collect()
}

pub(crate) fn find(call: &Call, answer: Option<&SshResponse>) -> Result<ReconcileStep, Fault> {
    let input: Input = call.input()?;
    let config = Config::of(call)?;
    if !config.command(&input.command)?.run_once {
        // Nothing at the remote remembers it.
        return Ok(Verdict::unknown(Reason::Unavailable).into());
    }
    match answer {
        Some(response) => answer::fate(response),
        None => {
            let query = RunOnce::of(call).state(config.state.as_deref()).status().credential(SLOT);
            Ok(query.as_query("Ask what became of the command"))
        }
    }
}
