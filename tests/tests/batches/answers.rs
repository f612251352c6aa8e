//! One answer: what it says of each child, and of the whole.

use super::*;
use proofport_tests::rig::CANARY;

async fn check(what: &str, operation: &str, answer: String, whole: Row, children: [Row; 3]) {
    let (peer, rig) = rig(vec![applied(answer)]).await;
    let host = rig.open().await;
    let envelope = host.call(operation, INPUT).await;
    let id = envelope.request_id().unwrap();
    let check = |envelope: &Envelope, when: &str| {
        let got = (envelope.outcome().unwrap(), envelope.code(), envelope.retry());
        assert_eq!(got, whole, "{what}, {when}: {envelope:?}");
        assert_eq!(rows(envelope, &["a", "b", "c"]), children, "{what}, {when}");
        assert!(!envelope.ok() || envelope.children().iter().all(|child| child.ok()), "{what}, {when}");
    };
    check(&envelope, "at once");
    check(&host.result(&id), "stored");
    host.close();
    let host = rig.open().await;
    check(&host.result(&id), "after a restart");
    assert_eq!((peer.effects(), peer.accepted()), (1, 1), "{what}");
    host.close();
}

const PARTLY: Row = (Outcome::Committed, Some(Code::Partial), Retry::Never);

#[tokio::test(flavor = "multi_thread")]
async fn each_child_is_what_the_answer_says_of_it() {
    let waits = (Outcome::Rejected, Some(Code::RateLimited), Retry::Never);
    let reconcile = open(Retry::Reconcile);
    let all = [(0, "a", 201), (1, "b", 200), (2, "c", 299)];
    check("all done", "send", bulk(&all), DONE, [DONE; 3]).await;
    // Field case 13, by what the contract lets the host do about the third.
    check("no promise", "send", bulk(&MIXED), PARTLY, [DONE, REFUSED, waits]).await;
    let delayed = bulk_with("retry-after: 7\r\n", &MIXED);
    check("a delay", "send", delayed, PARTLY, [DONE, REFUSED, WAITS]).await;
    check("idempotent", "same", bulk(&MIXED), PARTLY, [DONE, REFUSED, WAITS]).await;
    check("keyed", "keyed", bulk(&MIXED), PARTLY, [DONE, REFUSED, WAITS]).await;
    // Field case 14: some are missing, and some were never sent.
    let strangers = [(0, "a", 201), (1, "x", 201), (9, "c", 201)];
    check("missing", "send", bulk(&strangers), PARTLY, [DONE, reconcile, reconcile]).await;
    check("nothing at all", "send", bulk(&[]), PARTLY, [reconcile; 3]).await;
    let twice = [(0, "a", 201), (1, "b", 201), (2, "c", 201), (1, "b", 409)];
    check("twice", "send", bulk(&twice), PARTLY, [DONE, reconcile, DONE]).await;
    let same_twice = [(0, "a", 201), (1, "b", 201), (2, "c", 201), (1, "b", 201)];
    check("twice the same", "send", bulk(&same_twice), DONE, [DONE; 3]).await;
    check(
        "unclear",
        "same",
        bulk(&[(0, "a", 201), (1, "b", 201)]),
        PARTLY,
        [DONE, DONE, open(Retry::Backoff)],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_to_the_whole_is_one_to_each() {
    let refused = (Outcome::Rejected, Some(Code::RemoteRejected), Retry::AfterCorrection);
    let answer = |status: u16| format!("HTTP/1.1 {status} X\r\ncontent-length: 2\r\n\r\n{{}}");
    check("refused", "send", answer(422), refused, [refused; 3]).await;
    let failed = (Outcome::Committed, Some(Code::RemoteFailed), Retry::Reconcile);
    check("failed", "send", answer(500), failed, [open(Retry::Reconcile); 3]).await;
    let unreadable = (Outcome::Committed, Some(Code::ResultUnreadable), Retry::Reconcile);
    check("unreadable", "send", answer(200), unreadable, [open(Retry::Reconcile); 3]).await;
    check("unreadable, atomic", "atomic", answer(200), unreadable, [unreadable; 3]).await;
    let whole = bulk(&MIXED);
    let cut = (Outcome::Unknown, Some(Code::RemoteResultIncomplete), Retry::Reconcile);
    check("cut", "send", whole[..whole.len() - 1].to_owned(), cut, [cut; 3]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn atomic_children_have_one_fate() {
    let all = [(0, "a", 201), (1, "b", 201), (2, "c", 201)];
    check("all", "atomic", bulk(&all), DONE, [DONE; 3]).await;
    check("none named", "atomic", bulk(&[]), DONE, [DONE; 3]).await;
    // A success that one of its own children denies is neither.
    let unreadable = (Outcome::Committed, Some(Code::ResultUnreadable), Retry::Reconcile);
    check("contradicted", "atomic", bulk(&MIXED), unreadable, [open(Retry::Reconcile); 3]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_never_sent_is_on_record_as_a_count() {
    let strangers = [(0, "a", 201), (1, "x", 201), (9, "c", 201)];
    let (_peer, rig) = rig(vec![applied(bulk(&strangers))]).await;
    let host = rig.open().await;
    let id = host.call("send", INPUT).await.request_id().unwrap();
    let record = host.broker.diagnostic(&id).unwrap().unwrap();
    assert_eq!(record.state().attempts[0].end.as_ref().unwrap().unmatched_children, 2);
    let answer = serde_json::to_string(&host.result(&id)).unwrap();
    assert!(!answer.contains("\"x\"") && !answer.contains("ref-x"), "{answer}");
    host.close();
}

/// Outputs come with their child, the same after a restart, and never with a secret in them.
#[tokio::test(flavor = "multi_thread")]
async fn each_child_has_its_own_output() {
    let mut answer = bulk(&[(0, "a", 201), (1, "b", 201), (2, "c", 409)]);
    let plain = answer.len();
    answer = answer.replace("ref-b", CANARY);
    let length = |text: &str| text.split_once("\r\n\r\n").unwrap().1.len();
    let before = length(&bulk(&[(0, "a", 201), (1, "b", 201), (2, "c", 409)]));
    answer =
        answer.replace(&format!("content-length: {before}"), &format!("content-length: {}", length(&answer)));
    assert_ne!(answer.len(), plain);
    let (_peer, rig) = rig(vec![applied(answer)]).await;
    let host = rig.open().await;
    let first = host.call("send", INPUT).await;
    let id = first.request_id().unwrap();
    host.close();
    let host = rig.open().await;
    for envelope in [&first, &host.result(&id)] {
        let [a, b, c] = envelope.children() else { panic!("{envelope:?}") };
        assert_eq!(a.result().unwrap()["ref"], "ref-a");
        assert!(b.ok() && b.result().is_some(), "masked, and still an output");
        assert_eq!(c.result(), None);
        let text = serde_json::to_string(envelope).unwrap();
        assert!(!text.contains(CANARY), "{text}");
        assert!(text.contains("\"masked\":1"), "{text}");
    }
    host.close();
}

/// An input whose children can't be told apart is refused before anything is dialled.
#[tokio::test(flavor = "multi_thread")]
async fn children_that_cannot_be_bound_are_refused() {
    let (peer, rig) = rig(vec![]).await;
    let host = rig.open().await;
    let check = async |input: &str, fields: &[&str]| {
        let envelope = host.call("send", input).await;
        assert_eq!(envelope.code(), Some(Code::InvalidInput), "{input}");
        let value = serde_json::to_value(&envelope).unwrap();
        assert_eq!(value["invalid_fields"], serde_json::json!(fields), "{input}");
        assert!(envelope.children().is_empty());
    };
    check("{}", &["/items"]).await;
    check(r#"{"items":[]}"#, &["/items"]).await;
    check(r#"{"items":[{"id":"a"},{"id":"b"},{"id":"c"},{"id":"d"}]}"#, &["/items"]).await;
    check(r#"{"items":[{"id":"a"},{"id":"a"}]}"#, &["/items/1/id"]).await;
    check(r#"{"items":[{"id":"a"},{},{"id":"c\n"}]}"#, &["/items/1/id", "/items/2/id"]).await;
    assert_eq!(peer.accepted(), 0);
    host.close();
}
