//! Uploading a release and making it current.

use crate::{answer, remote};
use data_encoding::BASE64;
use proofport_sdk::{Call, Fault, Operation, ReconcileStep, Repeat, SshResponse, Step, json};
use serde::Deserialize;

/// After this long, an exec that the remote has not begun never begins: the script takes its lock
/// before it reads its input, and a question sees the lock.
const ABSENCE_SETTLES_AFTER_SECONDS: u32 = 300;

#[derive(Deserialize)]
struct Input {
    id: Option<String>,
    sha256: String,
    archive: String,
}

/// The id of a release that names none is the call's reference, which no other call has.
fn id<'a>(call: &'a Call, input: &'a Input) -> &'a str {
    input.id.as_deref().unwrap_or(&call.reference)
}

pub(crate) fn declare() -> Operation {
    let archive = json!({
        "type": "string", "contentEncoding": "base64", "minLength": 4,
        "description": "A tar archive, compressed or not, in base64.",
    });
    let input = json!({ "id": remote::id(), "sha256": remote::digest(), "archive": archive });
    // The same id with the same archive is the same release, unpacked and switched to once.
    answer::declare(Operation::write("release", Repeat::Idempotent))
        .summary("Upload a release as an archive and make it current.")
        .input(&remote::object(input, &["sha256", "archive"]))
        .reconcile(Some(ABSENCE_SETTLES_AFTER_SECONDS), true)
}

pub(crate) fn carry_out(call: &Call, answer: Option<&SshResponse>) -> Result<Step, Fault> {
    let input: Input = call.input()?;
    let id = id(call, &input);
    if let Some(response) = answer {
        return Ok(answer::effect(response, id)?.into());
    }
    let archive = BASE64.decode(input.archive.as_bytes()).map_err(|_| Fault::field("/archive"))?;
    let summary = format!("Upload release {id} ({} bytes) and make it current", archive.len());
    let command = remote::command(call, "release", &[id, &input.sha256])?;
    Ok(command.stdin(archive).as_effect(summary))
}

pub(crate) fn find(call: &Call, answer: Option<&SshResponse>) -> Result<ReconcileStep, Fault> {
    let input: Input = call.input()?;
    let id = id(call, &input);
    match answer {
        Some(response) => answer::fate(response, id),
        None => Ok(remote::command(call, "released", &[id])?.as_query("Ask what became of the release")),
    }
}
