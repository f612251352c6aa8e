//! What the admin declares.

use crate::argument::Kind;
use proofport_sdk::{Call, Fault, Value, json};
use serde::Deserialize;
use std::collections::BTreeMap;

/// A connection's configuration.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    commands: BTreeMap<String, Command>,
    /// Where runs keep their state; none: below the account's home.
    pub(crate) state: Option<String>,
}

/// One command that may be run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Command {
    pub(crate) argv: Vec<Part>,
    #[serde(default)]
    pub(crate) arguments: BTreeMap<String, Kind>,
    /// Whether it runs once under the call's reference, so that its fate can be asked for.
    pub(crate) run_once: bool,
}

/// One argument of the command.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum Part {
    /// This text.
    Fixed(String),
    /// What the caller gives, with a fixed text before it.
    Given(Given),
}

/// The place of what the caller gives.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Given {
    pub(crate) argument: String,
    #[serde(default)]
    pub(crate) prefix: String,
}

impl Config {
    /// The connection's.
    ///
    /// # Errors
    /// [`Fault::Input`] where there is no usable one.
    pub(crate) fn of(call: &Call) -> Result<Self, Fault> {
        call.config()
    }

    /// The command of this name.
    ///
    /// # Errors
    /// [`Fault::Input`] at `/command` where none is declared.
    pub(crate) fn command(&self, name: &str) -> Result<&Command, Fault> {
        self.commands.get(name).ok_or_else(|| Fault::field("/command"))
    }
}

/// The schema of a connection's configuration.
pub(crate) fn schema() -> Value {
    let text = |max: u32| json!({ "type": "string", "pattern": "^[^\\u0000]*$", "maxLength": max });
    let name = json!({ "type": "string", "pattern": "^[a-z][a-z0-9_-]*$", "maxLength": 64 });
    let object = |properties: Value, required: &[&str]| json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
    let kind = json!({ "oneOf": [
        object(json!({
            "type": { "const": "one_of" },
            "values": { "type": "array", "items": text(1024), "minItems": 1 },
        }), &["type", "values"]),
        object(json!({
            "type": { "const": "integer" }, "minimum": { "type": "integer" }, "maximum": { "type": "integer" },
        }), &["type", "minimum", "maximum"]),
        object(json!({
            "type": { "const": "word" }, "longest": { "type": "integer", "minimum": 1, "maximum": 256 },
        }), &["type", "longest"]),
    ] });
    let given = object(json!({ "argument": name, "prefix": text(1024) }), &["argument"]);
    // The program is the admin's: never given by a caller.
    let program = json!({ "type": "string", "pattern": "^[^\\u0000]+$", "maxLength": 1024 });
    let command = object(
        json!({
            "argv": {
                "type": "array", "minItems": 1, "maxItems": 256,
                "prefixItems": [program], "items": { "oneOf": [text(4096), given] },
            },
            "arguments": { "type": "object", "propertyNames": name, "additionalProperties": kind },
            "run_once": { "type": "boolean" },
        }),
        &["argv", "run_once"],
    );
    let commands = json!({ "type": "object", "propertyNames": name, "additionalProperties": command, "minProperties": 1 });
    object(
        json!({ "commands": commands, "state": { "type": "string", "pattern": "^/", "maxLength": 1024 } }),
        &["commands"],
    )
}
