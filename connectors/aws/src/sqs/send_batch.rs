//! Up to ten messages at once (`SendMessageBatch`), each of which has a fate of its own.

use super::message::{self, MOST_BYTES, Message, Taken};
use super::{Kind, write};
use crate::api;
use crate::batch::{self, Fate};
use crate::{config, failure};
use proofport_sdk::{
    BatchContract, BatchMode, Call, Fault, HttpResponse, Operation, Reason, Step, Value, Verdict, json,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

const TARGET: &str = "AmazonSQS.SendMessageBatch";

/// The most messages of a batch.
const MOST: u32 = 10;

const ENTRIES: &str = "/entries";

#[derive(Deserialize)]
struct Send {
    queue: String,
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    id: String,
    #[serde(flatten)]
    message: Message,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    successful: Option<Vec<Successful>>,
    failed: Option<Vec<Failed>>,
}

#[derive(Deserialize)]
struct Successful {
    #[serde(rename = "Id")]
    id: String,
    #[serde(flatten)]
    taken: Taken,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Failed {
    id: String,
    code: String,
    sender_fault: bool,
}

/// What is passed on of a message that was taken.
#[derive(Serialize)]
struct Sent<'a> {
    id: &'a str,
    #[serde(flatten)]
    taken: &'a Taken,
}

pub(crate) fn declare() -> Operation {
    declared("sqs_send_batch", Kind::Standard)
        .summary("Send up to ten messages to a standard queue; each has a fate of its own.")
}

pub(crate) fn declare_fifo() -> Operation {
    declared("sqs_send_batch_fifo", Kind::Fifo)
        .summary("Send up to ten messages to a FIFO queue, which takes each once within five minutes.")
}

fn declared(name: &str, kind: Kind) -> Operation {
    let id = || api::pattern("^[A-Za-z0-9_-]{1,80}$");
    let mut entry = message::fields(kind);
    entry.insert("id", id());
    let entry = api::object(json!(entry), &[&["id"], message::required(kind)].concat());
    let entries = json!({ "type": "array", "items": entry, "minItems": 1, "maxItems": MOST });
    let mut sent = message::taken();
    sent.insert("id", id());
    let sent = json!({ "type": "array", "items": api::object(json!(sent), &["id", "message_id"]) });
    write(name, kind)
        .input(&api::object(json!({ "queue": kind.queue(), "entries": entries }), &["queue", "entries"]))
        .output(&api::object(json!({ "sent": sent }), &["sent"]))
        .batch(
            BatchContract::new(ENTRIES, "/id", BatchMode::Independent, MOST)
                .child_output(&api::object(json!(message::taken()), &["message_id"])),
        )
}

pub(crate) fn send(call: &Call, answer: Option<&HttpResponse>) -> Result<Step, Fault> {
    step(call, None, answer)
}

pub(crate) fn send_fifo(call: &Call, answer: Option<&HttpResponse>) -> Result<Step, Fault> {
    step(call, Some(message::key(call)), answer)
}

fn step(call: &Call, key: Option<&str>, answer: Option<&HttpResponse>) -> Result<Step, Fault> {
    let Send { queue, entries } = call.input()?;
    if let Some(response) = answer {
        return Ok(read(entries, response)?.into());
    }
    let sqs = config::sqs(call)?;
    check(&entries)?;
    let entry = |entry: &Entry| {
        let mut parameters = entry.message.parameters(key.map(|key| deduplication_id(key, entry)).as_deref());
        parameters.insert("Id", Value::String(entry.id.clone()));
        json!(parameters)
    };
    let body = json!({
        "QueueUrl": sqs.queue_url(&queue),
        "Entries": entries.iter().map(entry).collect::<Vec<_>>(),
    });
    let summary = format!("Send {} messages to the queue {queue}", entries.len());
    Ok(api::json_request(TARGET, &body).as_effect(summary))
}

/// By key and id, and not by position: in a batch of those that are left, a message keeps its own, as the
/// world wants it of a batch whose connector places the key.
fn deduplication_id(key: &str, entry: &Entry) -> String {
    format!("{key}-{}", entry.id)
}

/// What SQS would refuse the whole batch for.
fn check(entries: &[Entry]) -> Result<(), Fault> {
    let mut ids = BTreeSet::new();
    let wrong = entries.iter().enumerate().filter_map(|(index, entry)| {
        let field = if !ids.insert(&entry.id) {
            "/id"
        } else if !entry.message.is_allowed() {
            "/message"
        } else {
            return None;
        };
        Some(api::pointer(ENTRIES, index, field))
    });
    let wrong: Vec<_> = wrong.collect();
    if !wrong.is_empty() {
        return Err(Fault::Input(wrong));
    }
    let bytes: usize = entries.iter().map(|entry| entry.message.bytes()).sum();
    if bytes > MOST_BYTES { Err(Fault::field(ENTRIES)) } else { Ok(()) }
}

fn read(entries: Vec<Entry>, response: &HttpResponse) -> Result<Verdict, Fault> {
    let verdict = failure::json_verdict(response);
    if !verdict.success {
        return Ok(batch::whole(entries.into_iter().map(|entry| entry.id), verdict));
    }
    let answer: Answer = response.json()?;
    let (successful, failed) = (answer.successful.unwrap_or_default(), answer.failed.unwrap_or_default());
    // Answers to what was not sent are nobody's.
    let sent = |id: &str| successful.iter().filter(move |sent| sent.id == id).collect::<Vec<_>>();
    let not = |id: &str| failed.iter().filter(move |failed| failed.id == id).collect::<Vec<_>>();
    let output: Vec<_> = entries.iter().flat_map(|entry| sent(&entry.id)).map(Successful::shown).collect();
    let fates = entries.into_iter().map(|Entry { id, .. }| {
        let fate = match (sent(&id).as_slice(), not(&id).as_slice()) {
            ([sent], []) => Fate::Done(Some(json!(sent.taken))),
            ([], [failed]) => failed.fate(),
            // No answer, or answers that contradict each other.
            (_, _) => Fate::Missing,
        };
        (id, fate)
    });
    Ok(batch::verdict(fates.collect(), json!({ "sent": output })))
}

impl Successful {
    fn shown(&self) -> Sent<'_> {
        Sent { id: &self.id, taken: &self.taken }
    }
}

impl Failed {
    /// A sender's fault was refused, and so was what was throttled. Of its own faults SQS does not say
    /// that the message is not in the queue.
    fn fate(&self) -> Fate {
        let (reason, output) = failure::of_entry(&self.code);
        match (reason, self.sender_fault) {
            (Some(reason), true) => Fate::Refused(reason, output),
            (Some(Reason::RateLimited), false) => Fate::Refused(Reason::RateLimited, output),
            (None, true) => Fate::Refused(Reason::InvalidInput, output),
            (Some(_) | None, false) => Fate::Unclear(Reason::RemoteFailed, output),
        }
    }
}
