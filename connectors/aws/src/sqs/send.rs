//! One message (`SendMessage`).

use super::message::{self, MOST_BYTES, Message, Taken};
use super::{Kind, write};
use crate::{api, config, failure};
use proofport_sdk::{Call, Fault, HttpResponse, Operation, Step, Value, json};
use serde::Deserialize;

const TARGET: &str = "AmazonSQS.SendMessage";

#[derive(Deserialize)]
struct Send {
    queue: String,
    #[serde(flatten)]
    message: Message,
}

pub(crate) fn declare() -> Operation {
    declared("sqs_send", Kind::Standard)
        .summary("Send a message to a standard queue. A send whose answer is lost can't be looked up.")
}

pub(crate) fn declare_fifo() -> Operation {
    declared("sqs_send_fifo", Kind::Fifo)
        .summary("Send a message to a FIFO queue, which takes the same send once within five minutes.")
}

fn declared(name: &str, kind: Kind) -> Operation {
    let mut input = message::fields(kind);
    input.insert("queue", kind.queue());
    let required = [&["queue"], message::required(kind)].concat();
    write(name, kind)
        .input(&api::object(json!(input), &required))
        .output(&api::object(json!(message::taken()), &["message_id"]))
}

pub(crate) fn send(call: &Call, answer: Option<&HttpResponse>) -> Result<Step, Fault> {
    step(call, None, answer)
}

pub(crate) fn send_fifo(call: &Call, answer: Option<&HttpResponse>) -> Result<Step, Fault> {
    step(call, Some(message::key(call)), answer)
}

fn step(call: &Call, key: Option<&str>, answer: Option<&HttpResponse>) -> Result<Step, Fault> {
    if let Some(response) = answer {
        let verdict = failure::json_verdict(response);
        return Ok(match verdict.success {
            true => verdict.output(json!(response.json::<Taken>()?)).into(),
            false => verdict.into(),
        });
    }
    let sqs = config::sqs(call)?;
    let Send { queue, message } = call.input()?;
    if !message.is_allowed() || message.bytes() > MOST_BYTES {
        return Err(Fault::field("/message"));
    }
    let mut parameters = message.parameters(key);
    parameters.insert("QueueUrl", Value::String(sqs.queue_url(&queue)));
    let request = api::json_request(TARGET, &json!(parameters));
    Ok(request.as_effect(format!("Send one message to the queue {queue}")))
}
