//! One message, alone or in a batch.

use super::Kind;
use crate::api;
use proofport_sdk::{Value, json};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The most that one request carries: bodies and attributes together, in bytes.
pub(super) const MOST_BYTES: usize = 1024 * 1024;

/// How the type of an attribute is spelled.
const TEXT: &str = "String";

#[derive(Deserialize)]
pub(super) struct Message {
    message: String,
    delay_seconds: Option<u16>,
    group: Option<String>,
    #[serde(default)]
    attributes: BTreeMap<String, String>,
}

/// What SQS says of a message that it took.
#[derive(Deserialize, Serialize)]
pub(super) struct Taken {
    #[serde(rename(deserialize = "MessageId"))]
    message_id: String,
    #[serde(rename(deserialize = "SequenceNumber"), skip_serializing_if = "Option::is_none")]
    sequence_number: Option<String>,
}

impl Message {
    /// How much of [`MOST_BYTES`] it takes: each attribute counts with its name, type and value.
    pub(super) fn bytes(&self) -> usize {
        let attributes = self.attributes.iter().map(|(name, value)| name.len() + TEXT.len() + value.len());
        self.message.len() + attributes.sum::<usize>()
    }

    /// Whether SQS takes every character: it refuses a message with one that XML has not.
    pub(super) fn is_allowed(&self) -> bool {
        let allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..);
        self.message.chars().all(allowed)
    }

    /// Its parameters, as in `SendMessage` and in an entry of `SendMessageBatch`.
    pub(super) fn parameters(&self, deduplication_id: Option<&str>) -> BTreeMap<&'static str, Value> {
        let mut parameters = BTreeMap::from([("MessageBody", json!(self.message))]);
        parameters.extend(self.delay_seconds.map(|seconds| ("DelaySeconds", json!(seconds))));
        parameters.extend(self.group.as_ref().map(|group| ("MessageGroupId", json!(group))));
        parameters.extend(deduplication_id.map(|id| ("MessageDeduplicationId", json!(id))));
        if !self.attributes.is_empty() {
            let text = |(name, value): (&String, &String)| {
                (name.clone(), json!({ "DataType": TEXT, "StringValue": value }))
            };
            let attributes: BTreeMap<_, _> = self.attributes.iter().map(text).collect();
            parameters.insert("MessageAttributes", json!(attributes));
        }
        parameters
    }
}

/// The schemas of a message's fields. A message to a FIFO queue has a group, and no delay of its own.
pub(super) fn fields(kind: Kind) -> BTreeMap<&'static str, Value> {
    let message = json!({ "type": "string", "minLength": 1, "maxLength": MOST_BYTES });
    let group = json!({
        "type": "string",
        "pattern": "^[!-~]{1,128}$",
        "description": "In a FIFO queue, messages of one group are delivered in order; in a standard \
                        queue, groups get fair shares.",
    });
    let attributes = json!({
        "type": "object",
        "description": "Attributes of type String.",
        "propertyNames": { "pattern": "^[A-Za-z0-9_-]([A-Za-z0-9_.-]{0,254}[A-Za-z0-9_-])?$" },
        "additionalProperties": { "type": "string", "minLength": 1 },
        "maxProperties": 10,
    });
    let mut fields = BTreeMap::from([("message", message), ("group", group), ("attributes", attributes)]);
    match kind {
        Kind::Standard => {
            let delay = json!({ "type": "integer", "minimum": 0, "maximum": 900 });
            fields.insert("delay_seconds", delay);
        }
        Kind::Fifo => {}
    }
    fields
}

/// The fields that a message must have.
pub(super) const fn required(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Standard => &["message"],
        Kind::Fifo => &["message", "group"],
    }
}

/// The schemas of [`Taken`]'s fields; `message_id` is always there.
pub(super) fn taken() -> BTreeMap<&'static str, Value> {
    BTreeMap::from([
        ("message_id", api::pattern("^[A-Za-z0-9-]{1,100}$")),
        ("sequence_number", api::pattern("^[0-9]{1,40}$")),
    ])
}

/// The key that the host minted, or where the admin has taken the contract away the reference: a FIFO queue
/// takes no message without a deduplication id.
pub(super) fn key(call: &proofport_sdk::Call) -> &str {
    call.idempotency_key.as_deref().unwrap_or(&call.reference)
}
