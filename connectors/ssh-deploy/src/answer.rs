//! What the script says. A refusal counts only where status and word agree: another program that
//! answers in its place may end with any status.

use crate::remote::{digest, id, object};
use proofport_sdk::{Fault, Operation, Reason, ReconcileStep, SshResponse, Value, Verdict, json};

/// The script's refusals: status, word, and why. Each says that nothing was done.
const REFUSALS: [(u32, &str, Reason); 8] = [
    (101, "usage", Reason::InvalidInput),
    (102, "busy", Reason::Unavailable),
    (103, "layout", Reason::PreconditionFailed),
    (104, "digest", Reason::InvalidInput),
    (105, "conflict", Reason::Conflict),
    (106, "archive", Reason::InvalidInput),
    (107, "not_found", Reason::NotFound),
    (108, "storage", Reason::Unavailable),
];

/// The schema of a switch's output.
pub(crate) fn output() -> Value {
    let properties = json!({ "id": id(), "sha256": digest(), "current": { "type": "boolean" } });
    object(properties, &["id", "sha256", "current"])
}

/// What both switches declare.
pub(crate) fn declare(operation: Operation) -> Operation {
    let words: Vec<_> = REFUSALS.iter().map(|(_, word, _)| *word).chain(["switch", "partial"]).collect();
    let statuses: Vec<u16> =
        REFUSALS.iter().filter_map(|(status, _, _)| u16::try_from(*status).ok()).collect();
    operation
        .statuses_before_work(&statuses)
        .failure(&object(json!({ "why": { "enum": words } }), &["why"]))
        .output(&output())
}

/// What an effect's answer means.
///
/// # Errors
/// [`Fault::Unreadable`] where a success says something else than the script does.
pub(crate) fn effect(response: &SshResponse, id: &str) -> Result<Verdict, Fault> {
    match response.status() {
        Some(0) => Ok(Verdict::committed(switched(response.text()?, id)?)),
        Some(status) => Ok(refusal(response, status).unwrap_or_else(|| {
            let verdict = response.verdict();
            if status == 110 && response.stdout == b"failed switch\n" {
                verdict.output(json!({ "why": "switch" }))
            } else {
                verdict
            }
        })),
        None => Ok(response.verdict()),
    }
}

/// The refusal that this is, if it is one.
pub(crate) fn refusal(response: &SshResponse, status: u32) -> Option<Verdict> {
    let (_, word, reason) = REFUSALS.iter().find(|(code, word, _)| {
        *code == status && response.stdout == format!("refused {word}\n").as_bytes()
    })?;
    Some(Verdict::rejected(*reason).output(json!({ "why": word })))
}

/// What the answer to a reconciling question means.
///
/// # Errors
/// [`Fault::Unreadable`] where it is none.
pub(crate) fn fate(response: &SshResponse, id: &str) -> Result<ReconcileStep, Fault> {
    if response.status() != Some(0) {
        // Not being able to ask says nothing about the effect.
        return Ok(Verdict::unknown(Reason::Unavailable).into());
    }
    let said = response.text()?;
    let (word, rest) = said.trim_end_matches('\n').split_once(' ').ok_or(Fault::Unreadable)?;
    Ok(match word {
        "running" if rest == id => Verdict::unknown(Reason::StillRunning).into(),
        "absent" if rest == id => Verdict::absent().into(),
        // It is there whole and was not made current. The same release again makes it so.
        "partial" if rest.split_once(' ').is_some_and(|(have, _)| have == id) => {
            Verdict::failed(Reason::RemoteFailed).output(json!({ "why": "partial" })).into()
        }
        _ => Verdict::present(switched(said, id)?).into(),
    })
}

/// Reads `current ID SHA256` or `superseded ID SHA256`.
fn switched(said: &str, id: &str) -> Result<Value, Fault> {
    let words: Vec<&str> = said.strip_suffix('\n').ok_or(Fault::Unreadable)?.split(' ').collect();
    let (current, sha256) = match words[..] {
        ["current", have, sha256] if have == id => (true, sha256),
        ["superseded", have, sha256] if have == id => (false, sha256),
        _ => return Err(Fault::Unreadable),
    };
    Ok(json!({ "id": id, "sha256": is_digest(sha256)?, "current": current }))
}

/// A SHA-256 in lower-case hexadecimal digits.
///
/// # Errors
/// [`Fault::Unreadable`] where it is none.
pub(crate) fn is_digest(text: &str) -> Result<&str, Fault> {
    let hexadecimal = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if text.len() == 64 && text.bytes().all(hexadecimal) { Ok(text) } else { Err(Fault::Unreadable) }
}
