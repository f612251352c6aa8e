//! Batches through a whole host against a scripted peer: what is claimed of each child against what the
//! peer said of it, and what goes out once more.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects by panicking"
)]

mod again;
mod answers;
mod later;
mod links;
mod program;
mod words;

use proofport_broker::{Delivery, RetryBatchError};
use proofport_core::code::Code;
use proofport_core::contract::{Outcome, Retry};
use proofport_core::envelope::Envelope;
use proofport_core::id::RequestId;
use proofport_tests::peer::{Act, Peer, Script, Scripts};
use proofport_tests::rig::{Open, Rig, Wanted, caller};
use serde_json::Value;

/// Three children.
const INPUT: &str = r#"{"items":[{"id":"a"},{"id":"b"},{"id":"c"}]}"#;

/// What a peer says of one child: position, identity and status.
type Entry = (u32, &'static str, u16);

/// Field case 13: one is done, one is refused, one has to wait.
const MIXED: [Entry; 3] = [(0, "a", 201), (1, "b", 409), (2, "c", 429)];

/// A complete 200 that says this of its children, with these lines in its head.
fn bulk_with(head: &str, entries: &[Entry]) -> String {
    let entry = |(index, id, status): &Entry| serde_json::json!({ "index": index, "id": id, "status": status, "ref": format!("ref-{id}") });
    let items: Vec<Value> = entries.iter().map(entry).collect();
    let body = serde_json::json!({ "items": items }).to_string();
    format!("HTTP/1.1 200 OK\r\n{head}content-length: {}\r\n\r\n{body}", body.len())
}

fn bulk(entries: &[Entry]) -> String {
    bulk_with("", entries)
}

/// An effect that is applied and answered like this.
fn applied(answer: impl Into<Vec<u8>>) -> Script {
    Script::answer(answer)
}

/// An effect that is applied, and whose answer is lost.
fn lost() -> Script {
    Script(vec![Act::ReadRequest, Act::Effect, Act::Close])
}

/// A query that is answered like this.
fn asked(answer: impl Into<Vec<u8>>) -> Script {
    Script(vec![Act::ReadRequest, Act::Send(answer.into()), Act::Close])
}

async fn rig(scripts: Vec<Script>) -> (Peer, Rig) {
    let peer = Peer::http(Scripts { each: scripts.into(), default: None });
    let wanted = Wanted::new("batch", peer.origin(), "key").limits("setup_attempts = 1");
    let rig = Rig::new(&wanted).await;
    (peer, rig)
}

type Row = (Outcome, Option<Code>, Retry);

const DONE: Row = (Outcome::Committed, None, Retry::Never);
const REFUSED: Row = (Outcome::Rejected, Some(Code::RemoteRejected), Retry::AfterCorrection);
const WAITS: Row = (Outcome::Rejected, Some(Code::RateLimited), Retry::Backoff);

fn open(retry: Retry) -> Row {
    (Outcome::Unknown, Some(Code::OutcomeUnknown), retry)
}

/// The children's rows. Whatever else is claimed, there is one for each child of the input.
fn rows(envelope: &Envelope, ids: &[&str]) -> Vec<Row> {
    let children = envelope.children();
    assert_eq!(children.iter().map(|child| child.id()).collect::<Vec<_>>(), ids, "{envelope:?}");
    children.iter().map(|child| (child.outcome(), child.code(), child.retry())).collect()
}

async fn retry(open: &Open, id: &RequestId) -> Result<Envelope, RetryBatchError> {
    let delivery: Delivery = open.broker.retry_batch(id, &caller()).await?;
    let envelope = delivery.envelope.clone();
    delivery.confirmed();
    Ok(envelope)
}

/// The content of the request on this connection.
fn sent(peer: &Peer, connection: usize) -> Value {
    let received = peer.received().swap_remove(connection);
    let text = String::from_utf8(received).unwrap();
    let (_, body) = text.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap()
}

/// The identities of the children in the request on this connection.
fn sent_ids(peer: &Peer, connection: usize) -> Vec<String> {
    let sent = sent(peer, connection);
    let items = sent["items"].as_array().unwrap();
    items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}
