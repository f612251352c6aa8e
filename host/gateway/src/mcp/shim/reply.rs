//! What the carrier says itself, where the host says nothing.

use super::host::NoAnswer;
use super::message::Message;
use crate::mcp::{answer, host_tools::HostTool, name};
use proofport_core::envelope::Envelope;
use proofport_core::id::RequestId;
use serde_json::{Value, json};

const UNREACHED: &str =
    "No Proofport host is running here; nothing was sent. Ask a person to start `proofport serve`.";
const LOST: &str =
    "The connection to the Proofport host was lost. This request changes nothing; send it again.";
const TOO_LONG: &str = "The message is longer than this server takes. Nothing was sent.";
const NO_MESSAGE: &str = "This is no JSON-RPC request. Nothing was sent.";
const NOT_ADMITTED: &str = "The Proofport host does not know this agent. Nothing was sent.";
const REFUSED: &str = "The Proofport host refused the request before it did anything.";

const INVALID_REQUEST: i32 = -32600;
const INTERNAL: i32 = -32603;

/// Why a request has no answer of the host's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// See [`NoAnswer`].
    NoAnswer(NoAnswer),
    /// The host answered with a status and no message.
    Status(u16),
}

/// The answer to a request that has none of the host's. `named`: the id that the host gave a call before.
pub(super) fn instead(message: &Message, named: Option<RequestId>, why: Why) -> Value {
    let id = message.id.clone().unwrap_or_default();
    match why {
        Why::Status(401) => error(id, INVALID_REQUEST, NOT_ADMITTED),
        Why::Status(413) => error(id, INVALID_REQUEST, TOO_LONG),
        // A head with a refusal comes before the host does anything; one of success without its message
        // does not.
        Why::Status(400..=499) => error(id, INVALID_REQUEST, REFUSED),
        Why::Status(_) | Why::NoAnswer(NoAnswer::Lost) if message.is_call() => {
            result(id, message, &lost(message, named))
        }
        Why::NoAnswer(NoAnswer::Unreached) if message.is_call() => {
            let operation = message.tool().and_then(name::parse);
            result(id, message, &Envelope::unreached(operation))
        }
        Why::Status(_) | Why::NoAnswer(NoAnswer::Lost) => error(id, INTERNAL, LOST),
        Why::NoAnswer(NoAnswer::Unreached) => error(id, INTERNAL, UNREACHED),
    }
}

/// What is known of a call on which the way broke.
fn lost(message: &Message, named: Option<RequestId>) -> Envelope {
    let tool = message.tool().unwrap_or_default();
    // A host tool is about a call that its caller names.
    let about = HostTool::parse(tool)
        .and_then(|_| message.body.pointer("/params/arguments/request_id")?.as_str())
        .and_then(|id| RequestId::parse(id).ok());
    Envelope::out_of_touch(name::parse(tool), named.or(about))
}

fn result(id: Value, message: &Message, envelope: &Envelope) -> Value {
    let mut result = answer::result(envelope);
    if message.version().is_none() {
        // The older revisions don't know the word.
        result.result_type = None;
    }
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

/// The answer to a line that is no message.
pub(super) fn no_message(id: Value) -> Value {
    error(id, INVALID_REQUEST, NO_MESSAGE)
}

/// The answer to a line that is too long to be read.
pub(super) fn too_long() -> Value {
    error(Value::Null, INVALID_REQUEST, TOO_LONG)
}

fn error(id: Value, code: i32, said: &'static str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": said } })
}

/// The end of a subscription that the client did not end (it may subscribe again).
pub(super) fn subscription_over(id: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } })
}

/// The list of tools may have changed while nobody could say so.
pub(super) fn list_changed() -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_was_lost_is_unknown_and_never_retryable() {
        let id = RequestId::from_random([3; 16]);
        let check = |params: Value, named: Option<RequestId>, why: Why, expected: [Value; 5]| {
            let body = json!({ "id": 1, "method": "tools/call", "params": params }).to_string();
            let reply = instead(&Message::read(body.as_bytes()).unwrap(), named, why);
            let envelope = &reply["result"]["structuredContent"];
            let got = ["code", "outcome", "action", "request_id", "operation"]
                .map(|field| envelope.get(field).cloned().unwrap_or_default());
            assert_eq!(got, expected, "{reply}");
            assert_eq!((&envelope["retryable"], &reply["result"]["isError"]), (&json!(false), &json!(true)));
        };
        let unknown = |id: Value, operation: Value| {
            [json!("OUTCOME_UNKNOWN"), json!("unknown"), json!("inspect_outcome"), id, operation]
        };
        let lost = Why::NoAnswer(NoAnswer::Lost);
        let call = json!({ "name": "c__charge" });
        check(call.clone(), Some(id), lost, unknown(json!(id), json!("c.charge")));
        check(call.clone(), None, lost, unknown(Value::Null, json!("c.charge")));
        check(call.clone(), None, Why::Status(500), unknown(Value::Null, json!("c.charge")));
        let host = json!({ "name": "wait", "arguments": { "request_id": id } });
        check(host.clone(), None, lost, unknown(json!(id), Value::Null));
        let unreached = Why::NoAnswer(NoAnswer::Unreached);
        let none = |outcome: Value, operation: Value| {
            [json!("INTERNAL"), outcome, json!("stop_and_report"), Value::Null, operation]
        };
        check(call, None, unreached, none(json!("not_attempted"), json!("c.charge")));
        // Nothing is said of the call that it is about.
        check(host, None, unreached, none(Value::Null, Value::Null));
    }
}
