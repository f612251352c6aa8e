//! The folder of releases at the remote, and the script that keeps it.

use proofport_sdk::ssh::Script;
use proofport_sdk::{Call, Fault, QueryTemplate, SshRequest, Value, json};
use serde::Deserialize;

/// The slot of the login.
pub(crate) const SLOT: &str = "login";

const SCRIPT: Script = Script::new("proofport-deploy", include_str!("deploy.sh"));

#[derive(Deserialize)]
struct Config {
    root: String,
}

/// The schema of a connection's configuration.
pub(crate) fn config() -> Value {
    let root = json!({
        "type": "string", "pattern": "^/", "minLength": 2, "maxLength": 1024,
        "description": "The folder of releases, which must be there; `current` in it is the release that runs.",
    });
    object(json!({ "root": root }), &["root"])
}

/// The questions that change nothing.
pub(crate) fn queries() -> [QueryTemplate; 3] {
    let any = Script::any();
    [
        SCRIPT.query_template("current", &[any]),
        SCRIPT.query_template("released", &[any, any]),
        SCRIPT.query_template("switched", &[any, any, any]),
    ]
}

/// The script's command for this verb, on the connection's folder.
///
/// # Errors
/// [`Fault::Input`] where there is no usable configuration.
pub(crate) fn command(call: &Call, verb: &'static str, parameters: &[&str]) -> Result<SshRequest, Fault> {
    let Config { root } = call.config()?;
    Ok(SCRIPT.verb(verb).arg(root).args(parameters.iter().copied()).credential(SLOT))
}

/// The schema of an object with these properties, the first `required` of which must be there.
pub(crate) fn object(properties: Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// The schema of a release's id: a name of a file, neither hidden nor an option.
pub(crate) fn id() -> Value {
    json!({ "type": "string", "pattern": "^[A-Za-z0-9_][A-Za-z0-9._-]*$", "maxLength": 64 })
}

/// The schema of a SHA-256.
pub(crate) fn digest() -> Value {
    json!({ "type": "string", "pattern": "^[0-9a-f]{64}$" })
}
