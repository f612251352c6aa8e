//! What may have happened is not made again as if it were something else, and only somebody's word makes it happen
//! twice.

use crate::host::{Host, ID, OTHER, Reply, failure, sent, success};
use proofport_client::{
    Call, CallError, Client, Envelope, InDoubt, NotRepeatable, RequestId, i_accept_that_this_may_happen_twice,
};
use serde_json::{Value, json};
use std::time::Duration;

const UNKNOWN: [&str; 5] = ["OUTCOME_UNKNOWN", "unknown", "reconcile", "operator", "inspect_outcome"];
const UNREAD: [&str; 5] = ["OUTCOME_UNKNOWN", "unknown", "backoff", "caller", "retry_after_delay"];
const GOING: [&str; 5] = ["IN_PROGRESS", "unknown", "reconcile", "operator", "inspect_outcome"];
const REFUSED: [&str; 5] = ["CONNECT_FAILED", "not_attempted", "backoff", "caller", "retry_after_delay"];
const LOCKED: [&str; 5] =
    ["VAULT_LOCKED", "not_attempted", "after_correction", "operator", "stop_and_report"];
const INTERNAL: [&str; 5] = ["INTERNAL", "unknown", "never", "nobody", "stop_and_report"];

fn call(input: Value, key: &str) -> Call {
    let call = Call::new("crm.create", &input).unwrap();
    if key.is_empty() { call } else { call.named(key).unwrap() }
}

fn said(row: [&str; 5]) -> Reply {
    sent(failure(row, Some(ID)))
}

fn done() -> Reply {
    sent(success(json!({})))
}

fn proves_nothing() -> Reply {
    let mut envelope = failure(INTERNAL, None);
    envelope["outcome"] = Value::Null;
    envelope["evidence"]["dispatch_started"] = json!(false);
    sent(envelope)
}

/// What is refused of a call under another key, if it is; else it goes out.
async fn doubt(client: &Client, input: Value, key: &str) -> Option<InDoubt> {
    match client.call(&call(input, key)).await {
        Err(CallError::InDoubt(doubt)) => Some(doubt),
        Ok(_) | Err(CallError::Answered(_)) => None,
        Err(other) => panic!("{other:?}"),
    }
}

/// After the first call was answered like this, a second under `second` goes out or doesn't.
async fn check(first: Reply, keys: [&str; 2], expected: Option<Option<&str>>) {
    let about = format!("{first:?} {keys:?}");
    let mut script = vec![first];
    if expected.is_none() {
        script.push(done());
    }
    let host = Host::unix(script);
    let _ = host.client.call(&call(json!({"a": 1, "b": 2}), keys[0])).await;
    // A clone knows, and the order of members says nothing.
    let client = host.client.clone();
    let found = doubt(&client, json!({"b": 2, "a": 1}), keys[1]).await;
    let expected = expected.map(|id| InDoubt { first: id.map(|id| RequestId::parse(id).unwrap()) });
    assert_eq!(found, expected, "{about}");
    host.got();
}

#[tokio::test]
async fn what_may_have_happened_is_not_made_under_another_key() {
    for keys in [["", "2"], ["1", "2"]] {
        check(said(UNKNOWN), keys, Some(Some(ID))).await;
        check(said(GOING), keys, Some(Some(ID))).await;
        check(Reply::Close, keys, Some(None)).await;
        check(Reply::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_vec()), keys, Some(None)).await;
        check(proves_nothing(), keys, Some(None)).await;
        check(said(REFUSED), keys, None).await;
        check(said(UNREAD), keys, None).await;
        check(done(), keys, None).await;
        check(sent(failure(LOCKED, None)), keys, None).await;
    }
    // The host meets these with the first.
    for keys in [["", ""], ["1", "1"], ["1", ""]] {
        check(said(UNKNOWN), keys, None).await;
        check(Reply::Close, keys, None).await;
    }
}

#[tokio::test]
async fn another_input_is_another_thing() {
    let mut other = success(json!({}));
    other["request_id"] = json!(OTHER);
    let host = Host::unix(vec![said(UNKNOWN), sent(other)]);
    host.client.call(&call(json!({"a": 1}), "1")).await.unwrap_err();
    assert_eq!(doubt(&host.client, json!({"a": 2}), "2").await, None);
    assert!(doubt(&host.client, json!({"a": 1}), "2").await.is_some());
    host.got();
}

#[tokio::test]
async fn a_call_that_was_given_up_may_have_happened() {
    let host = Host::unix(vec![Reply::Silence, sent(failure(LOCKED, None)), done(), done()]);
    let first = call(json!({}), "1");
    let given_up = tokio::time::timeout(Duration::from_secs(60), async {
        tokio::select! {
            _ = host.client.call(&first) => panic!("it was answered"),
            () = async { while host.so_far().is_empty() { tokio::task::yield_now().await } } => {}
        }
    });
    given_up.await.unwrap();
    assert_eq!(doubt(&host.client, json!({}), "2").await, Some(InDoubt { first: None }));
    // A refusal of the same call says nothing of the first request; an answer about an invocation does.
    host.client.call(&first).await.unwrap_err();
    assert_eq!(doubt(&host.client, json!({}), "2").await, Some(InDoubt { first: None }));
    host.client.call(&first).await.unwrap();
    assert_eq!(doubt(&host.client, json!({}), "2").await, None);
    host.got();
}

#[tokio::test]
async fn what_was_settled_is_in_no_doubt() {
    let host = Host::unix(vec![said(UNKNOWN), said(UNKNOWN), done(), done()]);
    host.client.call(&call(json!({}), "1")).await.unwrap_err();
    let id = RequestId::parse(ID).unwrap();
    host.client.reconcile(&id).await.unwrap_err();
    assert!(doubt(&host.client, json!({}), "2").await.is_some());
    host.client.result(&id).await.unwrap();
    assert_eq!(doubt(&host.client, json!({}), "2").await, None);
    host.got();
}

#[tokio::test]
async fn what_nobody_got_is_in_no_doubt() {
    let folder = tempfile::tempdir().unwrap();
    let client = Client::unix(folder.path().join("agent.sock"));
    for key in ["1", "2"] {
        let error = client.call(&call(json!({}), key)).await.unwrap_err();
        assert!(matches!(error, CallError::NoAnswer(_)), "{error:?}");
    }
}

async fn unknown(client: &Client, call: &Call) -> Envelope {
    match client.call(call).await {
        Err(CallError::Answered(envelope)) => *envelope,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn somebodys_word_makes_one_more_and_only_one() {
    let mut second = success(json!({}));
    second["request_id"] = json!(OTHER);
    let host = Host::unix(vec![said(UNKNOWN), sent(second.clone()), sent(second)]);
    let first = call(json!({"a": 1}), "order-7");
    let envelope = unknown(&host.client, &first).await;
    for _ in 0..2 {
        let accepted = i_accept_that_this_may_happen_twice();
        let success = host.client.repeat_unknown(&first, envelope.clone(), accepted).await.unwrap();
        assert_eq!(success.request_id().as_str(), OTHER);
    }
    // The first is as unknown as before.
    assert!(doubt(&host.client, json!({"a": 1}), "order-8").await.is_some());
    let bodies: Vec<String> = host.got().into_iter().map(|got| got.body).collect();
    let body = |key: &str| format!(r#"{{"operation":"crm.create","input":{{"a":1}},"call_key":"{key}"}}"#);
    let again = body(&format!("twice {ID}"));
    assert_eq!(bodies, [body("order-7"), again.clone(), again]);
}

#[tokio::test]
async fn nothing_but_an_unknown_that_is_left_can_be_repeated() {
    let check = async |envelope: Value, operation: &str, expected: NotRepeatable| {
        let host = Host::unix(Vec::new());
        let call = Call::new(operation, &json!({})).unwrap();
        let envelope: Envelope = serde_json::from_value(envelope).unwrap();
        let accepted = i_accept_that_this_may_happen_twice();
        let found = host.client.repeat_unknown(&call, envelope, accepted).await;
        assert_eq!(found, Err(CallError::NotRepeatable(expected)));
        host.got();
    };
    let host_at_it = ["OUTCOME_UNKNOWN", "unknown", "reconcile", "host", "inspect_outcome"];
    check(success(json!({})), "crm.create", NotRepeatable::NotUnknown).await;
    check(failure(REFUSED, Some(ID)), "crm.create", NotRepeatable::NotUnknown).await;
    check(failure(UNKNOWN, None), "crm.create", NotRepeatable::NotUnknown).await;
    check(failure(GOING, Some(ID)), "crm.create", NotRepeatable::UnderWay).await;
    check(failure(host_at_it, Some(ID)), "crm.create", NotRepeatable::UnderWay).await;
    check(failure(UNKNOWN, Some(ID)), "crm.delete", NotRepeatable::OtherOperation).await;
}
