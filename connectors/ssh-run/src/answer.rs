//! How a command ended.

use proofport_sdk::ssh::run_once::{Ending, Fate, Ran, Refusal};
use proofport_sdk::{Fault, Operation, Reason, ReconcileStep, SshResponse, Value, Verdict, json};

/// Declares what [`direct`], [`under_reference`] and [`fate`] say.
pub(crate) fn declare(operation: Operation) -> Operation {
    let object = |properties: Value, required: &[&str]| json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
    let output = json!({
        "exit_status": { "const": 0 },
        "stdout": { "type": "string", "description": "Its standard output; not there where it was found later, is not text, or is so long that it is fetched as the result's content." },
        "stdout_bytes": { "type": "integer", "minimum": 0 },
        "stdout_sha256": { "type": "string", "pattern": "^[0-9a-f]{64}$" },
    });
    let failure = json!({
        "exit_status": { "type": "integer", "minimum": 0, "maximum": u32::MAX },
        "signal": { "type": "integer", "minimum": 1, "maximum": 255 },
        "why": { "enum": ["usage", "used", "state", "lost"] },
    });
    operation.output(&object(output, &["exit_status"])).failure(&object(failure, &[]))
}

fn success(response: &SshResponse) -> Value {
    if let Some(stored) = &response.stored {
        return json!({ "exit_status": 0, "stdout_bytes": stored.bytes, "stdout_sha256": stored.digest });
    }
    let mut output = json!({ "exit_status": 0, "stdout_bytes": response.stdout.len() });
    if let Ok(text) = response.text() {
        output["stdout"] = json!(text);
    }
    output
}

/// What the answer of a command that ran by itself means.
pub(crate) fn direct(response: &SshResponse) -> Verdict {
    let verdict = response.verdict();
    match response.status() {
        Some(0) => verdict.output(success(response)),
        Some(status) => verdict.output(json!({ "exit_status": status })),
        None => verdict,
    }
}

/// What the answer of a command that ran under a reference means.
pub(crate) fn under_reference(response: &SshResponse, reference: &str) -> Verdict {
    match Ran::read(response, reference) {
        Ran::Ended(0) => Verdict::committed(success(response)),
        Ran::Ended(status) => Verdict::failed(Reason::RemoteFailed).output(json!({ "exit_status": status })),
        Ran::Refused(Refusal::Usage) => {
            Verdict::rejected(Reason::InvalidInput).output(json!({ "why": "usage" }))
        }
        Ran::Refused(Refusal::State) => {
            Verdict::rejected(Reason::Unavailable).output(json!({ "why": "state" }))
        }
        // This one did not run; an earlier one of the same call may have.
        Ran::Refused(Refusal::Used) => Verdict::unknown(Reason::Conflict).output(json!({ "why": "used" })),
        Ran::Unseen => Verdict::unknown(Reason::Unreadable),
    }
}

/// What the remote knows of a run.
///
/// # Errors
/// [`Fault::Unreadable`] where it does not say.
pub(crate) fn fate(response: &SshResponse) -> Result<ReconcileStep, Fault> {
    Ok(match Fate::read(response)? {
        Fate::Absent => Verdict::absent().into(),
        Fate::Running => Verdict::unknown(Reason::StillRunning).into(),
        Fate::Lost => Verdict::unknown(Reason::Unavailable).output(json!({ "why": "lost" })).into(),
        Fate::Ended { ending: Ending::Exit(0), bytes, sha256 } => {
            let mut output = json!({ "exit_status": 0 });
            if let (Some(bytes), Some(sha256)) = (bytes, sha256) {
                output["stdout_bytes"] = json!(bytes);
                output["stdout_sha256"] = json!(sha256);
            }
            Verdict::present(output).into()
        }
        Fate::Ended { ending: Ending::Exit(status), .. } => {
            Verdict::failed(Reason::RemoteFailed).output(json!({ "exit_status": status })).into()
        }
        Fate::Ended { ending: Ending::Signal(signal), .. } => {
            Verdict::failed(Reason::RemoteFailed).output(json!({ "signal": signal })).into()
        }
    })
}
