//! How far a call goes: every request that is made for it, and its end.

use crate::host::{Host, ID, LONG, Reply, failure, sent, success};
use proofport_client::{Call, CallError, Code, Reach, RequestId, Retries};
use serde_json::{Value, json};
use std::time::Duration;

const CALL: &str = "POST /v1/call";
const RESULT: &str = "GET /v1/invocations/act_aaaaaaaaaaaaaaaaaaaaaaaaaa";
const RETRY: &str = "POST /v1/invocations/act_aaaaaaaaaaaaaaaaaaaaaaaaaa/retry";
const WAIT: &str = "POST /v1/invocations/act_aaaaaaaaaaaaaaaaaaaaaaaaaa/wait?seconds=60";

const REFUSED: [&str; 5] = ["CONNECT_FAILED", "not_attempted", "backoff", "caller", "retry_after_delay"];
const LIMITED: [&str; 5] = ["RATE_LIMITED", "rejected", "backoff", "caller", "retry_after_delay"];
const LIMITED_FOR_GOOD: [&str; 5] = ["RATE_LIMITED", "rejected", "never", "nobody", "stop_and_report"];
const UNREAD: [&str; 5] = ["OUTCOME_UNKNOWN", "unknown", "backoff", "caller", "retry_after_delay"];
const UNKNOWN: [&str; 5] = ["OUTCOME_UNKNOWN", "unknown", "reconcile", "operator", "inspect_outcome"];
const IDEMPOTENT: [&str; 5] = ["OUTCOME_UNKNOWN", "unknown", "backoff", "operator", "inspect_outcome"];
const KEYED: [&str; 5] =
    ["OUTCOME_UNKNOWN", "unknown", "same_idempotency_key", "operator", "inspect_outcome"];
const HOST_AT_IT: [&str; 5] = ["OUTCOME_UNKNOWN", "unknown", "reconcile", "host", "inspect_outcome"];
const PENDING: [&str; 5] =
    ["APPROVAL_PENDING", "not_attempted", "after_correction", "operator", "request_approval"];
const GOING: [&str; 5] = ["IN_PROGRESS", "unknown", "reconcile", "operator", "inspect_outcome"];
const DENIED: [&str; 5] = ["USER_DENIED", "not_attempted", "never", "nobody", "stop_and_report"];
const LOCKED: [&str; 5] =
    ["VAULT_LOCKED", "not_attempted", "after_correction", "operator", "stop_and_report"];
const UNDELIVERED: [&str; 5] =
    ["RESULT_UNDELIVERED", "committed", "fetch_result", "caller", "inspect_outcome"];
const FAILED: [&str; 5] = ["REMOTE_FAILED", "committed", "reconcile", "operator", "inspect_outcome"];

/// How a call ended.
#[derive(Debug, PartialEq)]
enum End {
    Success,
    Answered(Code),
    NoAnswer(Reach),
}

fn said(row: [&str; 5]) -> Reply {
    sent(failure(row, Some(ID)))
}

/// A refusal of which nothing was taken on.
fn turned_away(row: [&str; 5]) -> Reply {
    sent(failure(row, None))
}

fn after(row: [&str; 5], seconds: u32) -> Reply {
    let mut envelope = failure(row, Some(ID));
    envelope["retry_after_seconds"] = json!(seconds);
    sent(envelope)
}

fn done() -> Reply {
    sent(success(json!({"n": 1})))
}

fn retries(most: u32) -> Retries {
    Retries { most, longest_delay: Duration::from_millis(2), longest_wait: LONG }
}

async fn check(retries: Option<Retries>, script: Vec<Reply>, end: End, requests: &[&str]) {
    let about = format!("{script:?} {retries:?}");
    let host = Host::unix(script).with(|client| match retries {
        Some(retries) => client.with_retries(retries),
        None => client,
    });
    let call = Call::new("crm.create", &json!({"name": "x"})).unwrap().named("order-7").unwrap();
    let found = match host.client.call(&call).await {
        Ok(success) => {
            assert_eq!(success.result::<Value>(), Ok(json!({"n": 1})), "{about}");
            End::Success
        }
        Err(CallError::Answered(envelope)) => End::Answered(envelope.code().unwrap()),
        Err(CallError::NoAnswer(no_answer)) => End::NoAnswer(no_answer.reach),
        Err(other) => panic!("{other:?} of {about}"),
    };
    assert_eq!(found, end, "{about}");
    let got = host.got();
    let lines: Vec<String> = got.iter().map(|got| without_seconds(&got.line)).collect();
    let wanted: Vec<String> = requests.iter().map(|line| without_seconds(line)).collect();
    assert_eq!(lines, wanted, "{about}");
    // The same bytes each time, key and all.
    for call in got.iter().filter(|got| got.line == CALL) {
        let body = r#"{"operation":"crm.create","input":{"name":"x"},"call_key":"order-7"}"#;
        assert_eq!((call.body.as_str(), &call.head), (body, &got[0].head), "{about}");
    }
}

fn without_seconds(line: &str) -> String {
    line.split('=').next().unwrap().to_owned()
}

#[tokio::test]
async fn without_a_wish_every_request_is_sent_once() {
    for row in [
        REFUSED,
        LIMITED,
        UNREAD,
        UNKNOWN,
        IDEMPOTENT,
        KEYED,
        HOST_AT_IT,
        PENDING,
        GOING,
        UNDELIVERED,
        FAILED,
        DENIED,
    ] {
        let code = Code::ALL.iter().copied().find(|code| code.as_str() == row[0]).unwrap();
        check(None, vec![said(row)], End::Answered(code), &[CALL]).await;
    }
    check(None, vec![done()], End::Success, &[CALL]).await;
    check(None, vec![Reply::Close], End::NoAnswer(Reach::MayHaveReached), &[CALL]).await;
}

#[tokio::test]
async fn the_same_call_is_made_again_where_its_answer_permits_it() {
    let wish = Some(retries(2));
    check(wish, vec![said(REFUSED), done()], End::Success, &[CALL, CALL]).await;
    check(wish, vec![said(LIMITED), said(UNREAD), done()], End::Success, &[CALL, CALL, CALL]).await;
    check(wish, vec![after(LIMITED, 0), done()], End::Success, &[CALL, CALL]).await;
    // No more often than was wished for.
    let script = vec![said(REFUSED), said(LIMITED), said(REFUSED)];
    check(wish, script, End::Answered(Code::ConnectFailed), &[CALL, CALL, CALL]).await;
    check(Some(retries(0)), vec![said(REFUSED)], End::Answered(Code::ConnectFailed), &[CALL]).await;
    // A longer delay than was wished for is the caller's.
    check(wish, vec![after(LIMITED, 1)], End::Answered(Code::RateLimited), &[CALL]).await;
}

#[tokio::test]
async fn nothing_else_is_repeated() {
    let wish = Some(retries(9));
    for row in [UNKNOWN, IDEMPOTENT, FAILED, DENIED, LOCKED, LIMITED_FOR_GOOD] {
        let code = Code::ALL.iter().copied().find(|code| code.as_str() == row[0]).unwrap();
        check(wish, vec![said(row)], End::Answered(code), &[CALL]).await;
    }
    // Nothing was taken on that could be waited for.
    check(wish, vec![turned_away(PENDING)], End::Answered(Code::ApprovalPending), &[CALL]).await;
}

#[tokio::test]
async fn what_is_keyed_is_sent_again_by_the_host() {
    let wish = Some(retries(3));
    check(wish, vec![said(KEYED), done()], End::Success, &[CALL, RETRY]).await;
    check(
        wish,
        vec![said(KEYED), said(KEYED), said(UNKNOWN)],
        End::Answered(Code::OutcomeUnknown),
        &[CALL, RETRY, RETRY],
    )
    .await;
    // Whether it was sent again is looked up before it is asked for once more.
    check(wish, vec![said(KEYED), Reply::Close, done()], End::Success, &[CALL, RETRY, RESULT]).await;
    check(
        wish,
        vec![said(KEYED), Reply::Close, said(KEYED), done()],
        End::Success,
        &[CALL, RETRY, RESULT, RETRY],
    )
    .await;
    // A refusal of the asking settles nothing: it is still unknown, under its id.
    let script = vec![said(KEYED), turned_away(LOCKED)];
    check(wish, script, End::Answered(Code::OutcomeUnknown), &[CALL, RETRY]).await;
    let script = vec![said(KEYED), Reply::Close, Reply::Close, Reply::Close];
    check(wish, script, End::Answered(Code::OutcomeUnknown), &[CALL, RETRY, RESULT, RESULT]).await;
}

#[tokio::test]
async fn what_goes_on_is_waited_for_and_never_called_again() {
    let wish = Some(retries(0));
    check(wish, vec![said(PENDING), done()], End::Success, &[CALL, WAIT]).await;
    check(wish, vec![said(PENDING), said(DENIED)], End::Answered(Code::UserDenied), &[CALL, WAIT]).await;
    check(wish, vec![said(GOING), said(UNKNOWN)], End::Answered(Code::OutcomeUnknown), &[CALL, WAIT]).await;
    check(wish, vec![said(HOST_AT_IT), done()], End::Success, &[CALL, WAIT]).await;
    // A host that ends a wait early is asked to wait again.
    check(
        wish,
        vec![said(PENDING), said(PENDING), said(GOING), done()],
        End::Success,
        &[CALL, WAIT, WAIT, WAIT],
    )
    .await;
    let impatient = Some(Retries { longest_wait: Duration::ZERO, ..retries(9) });
    check(impatient, vec![said(PENDING)], End::Answered(Code::ApprovalPending), &[CALL]).await;
    // Approved, and then refused by the remote for now.
    let script = vec![said(PENDING), said(LIMITED), done()];
    check(Some(retries(1)), script, End::Success, &[CALL, WAIT, CALL]).await;
    // A wait that breaks off is a look at the record.
    check(Some(retries(1)), vec![said(GOING), Reply::Close, done()], End::Success, &[CALL, WAIT, RESULT])
        .await;
    check(wish, vec![said(GOING), Reply::Close], End::Answered(Code::InProgress), &[CALL, WAIT]).await;
}

#[tokio::test]
async fn a_stored_result_is_fetched() {
    check(Some(retries(1)), vec![said(UNDELIVERED), done()], End::Success, &[CALL, RESULT]).await;
    let script = vec![said(UNDELIVERED), said(UNDELIVERED)];
    check(Some(retries(1)), script, End::Answered(Code::ResultUndelivered), &[CALL, RESULT]).await;
}

#[tokio::test]
async fn silence_is_answered_by_the_same_call() {
    let wish = Some(retries(2));
    check(wish, vec![Reply::Close, done()], End::Success, &[CALL, CALL]).await;
    check(wish, vec![Reply::Close, said(UNKNOWN)], End::Answered(Code::OutcomeUnknown), &[CALL, CALL]).await;
    check(wish, vec![Reply::Close, said(GOING), done()], End::Success, &[CALL, CALL, WAIT]).await;
    let silent = vec![Reply::Close, Reply::Close, Reply::Close];
    check(wish, silent, End::NoAnswer(Reach::MayHaveReached), &[CALL, CALL, CALL]).await;
    // A refusal of the second request doesn't say what became of the first.
    let script = vec![Reply::Close, turned_away(LOCKED)];
    check(wish, script, End::NoAnswer(Reach::MayHaveReached), &[CALL, CALL]).await;
    // One about an invocation does: the host met the first, or never had it.
    check(wish, vec![Reply::Close, said(DENIED)], End::Answered(Code::UserDenied), &[CALL, CALL]).await;
}

#[tokio::test]
async fn each_thing_that_can_be_asked_is_one_request() {
    let script = vec![done(), done(), said(UNKNOWN), said(KEYED), said(UNKNOWN), said(PENDING)];
    let host = Host::unix(script).with(|client| client.with_retries(retries(9)));
    let id = RequestId::parse(ID).unwrap();
    host.client.result(&id).await.unwrap();
    host.client.wait(&id, LONG).await.unwrap();
    let code = |error: CallError| {
        let CallError::Answered(envelope) = error else { panic!("{error:?}") };
        envelope.code().unwrap()
    };
    assert_eq!(code(host.client.reconcile(&id).await.unwrap_err()), Code::OutcomeUnknown);
    assert_eq!(code(host.client.retry(&id).await.unwrap_err()), Code::OutcomeUnknown);
    assert_eq!(host.client.cancel(&id).await.unwrap().code(), Some(Code::OutcomeUnknown));
    assert_eq!(code(host.client.wait(&id, Duration::ZERO).await.unwrap_err()), Code::ApprovalPending);
    let about = format!("/v1/invocations/{ID}");
    assert_eq!(
        host.lines(),
        [
            format!("GET {about}"),
            format!("POST {about}/wait?seconds=60"),
            format!("POST {about}/reconcile"),
            format!("POST {about}/retry"),
            format!("POST {about}/cancel"),
            format!("POST {about}/wait?seconds=0"),
        ]
    );
}

#[tokio::test]
async fn a_wait_lasts_as_long_as_it_was_asked_for() {
    let id = RequestId::parse(ID).unwrap();
    let host = Host::unix(vec![said(PENDING), said(GOING), done()]);
    host.client.wait(&id, LONG).await.unwrap();
    assert_eq!(host.got().len(), 3);
    // What is nobody's move is not waited for.
    let host = Host::unix(vec![said(UNKNOWN)]);
    host.client.wait(&id, LONG).await.unwrap_err();
    assert_eq!(host.got().len(), 1);
}
