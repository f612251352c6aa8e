//! Which release is current, and which are there.

use crate::answer::{is_digest, refusal};
use crate::remote;
use proofport_sdk::{Call, Fault, Operation, SshResponse, Step, Verdict, json};

pub(crate) fn declare() -> Operation {
    let release =
        remote::object(json!({ "id": remote::id(), "sha256": remote::digest() }), &["id", "sha256"]);
    let output = json!({
        "current": { "anyOf": [remote::id(), { "type": "null" }] },
        "releases": { "type": "array", "items": release },
    });
    Operation::read("current")
        .summary("Say which release is current and which are there.")
        .output(&remote::object(output, &["current", "releases"]))
}

pub(crate) fn look(call: &Call, answer: Option<&SshResponse>) -> Result<Step, Fault> {
    let Some(response) = answer else {
        return Ok(remote::command(call, "current", &[])?.as_query("Ask which release is current"));
    };
    match response.status() {
        Some(0) => Ok(Verdict::committed(read(response.text()?)?).into()),
        Some(status) => {
            // A refusal's output has no schema here.
            let refused = refusal(response, status).map(|verdict| Verdict { output: None, ..verdict });
            Ok(refused.unwrap_or_else(|| response.verdict()).into())
        }
        None => Ok(response.verdict().into()),
    }
}

fn read(said: &str) -> Result<proofport_sdk::Value, Fault> {
    let mut lines = said.lines();
    let current = match lines.next().and_then(|line| line.strip_prefix("current ")) {
        Some("-") => None,
        Some(id) => Some(id),
        None => return Err(Fault::Unreadable),
    };
    let mut releases = Vec::new();
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let ["release", id, sha256] = words[..] else { return Err(Fault::Unreadable) };
        releases.push(json!({ "id": id, "sha256": is_digest(sha256)? }));
    }
    Ok(json!({ "current": current, "releases": releases }))
}
