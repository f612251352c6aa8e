//! How far a word reaches.

use crate::{Desk, approve, asked, call, call_in, input_of, only_card, over};
use proofport_broker::Reach;
use proofport_core::code::Code;

/// Whether a later call is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Asked,
    Runs,
}

/// Case 25: what is always allowed in one session is asked about in another; and a time is a time.
#[tokio::test(flavor = "multi_thread")]
async fn a_word_reaches_as_far_as_it_says() {
    use Then::{Asked, Runs};
    let check = async |policy: &str, operation: &str, reach: Reach, later: [Then; 4]| {
        let what = format!("{policy} {operation} {reach:?}");
        let desk = Desk::new("inquires", &format!("[connections.c.approvals]\n{policy}\n")).await;
        let open = desk.open().await;
        let id = asked(&open, operation).await;
        approve(&open, &id, reach).await;
        assert!(over(&open, &id).await.ok(), "{what}");
        // What was granted is not forgotten by a restart.
        open.close();
        let open = desk.open().await;
        let other = if operation == "once" { "same" } else { "once" };
        let input = if operation == "follow" { r#"{"job":"job-2"}"# } else { r#"{"n":2}"# };
        let third = if operation == "follow" { r#"{"job":"job-3"}"# } else { r#"{"n":3}"# };
        let fourth = if operation == "follow" { r#"{"job":"job-4"}"# } else { r#"{"n":4}"# };
        let calls = [
            ("the same session", "one", operation, input, 0),
            ("another session", "two", operation, fourth, 0),
            ("another operation", "one", other, input_of(other), 0),
            ("an hour later", "one", operation, third, 3600),
        ];
        for ((which, session, operation, input, forward), then) in calls.into_iter().zip(later) {
            desk.clock.forward(forward);
            let envelope = call_in(&open, session, operation, input).await;
            let found = if envelope.code() == Some(Code::ApprovalPending) { Asked } else { Runs };
            assert_eq!(found, then, "{what}, {which}: {envelope:?}");
            assert_eq!(envelope.ok(), then == Runs, "{what}, {which}: {envelope:?}");
        }
        open.close();
    };
    check("", "once", Reach::Usual, [Asked, Asked, Asked, Asked]).await;
    check("", "once", Reach::Once, [Asked, Asked, Asked, Asked]).await;
    check("", "once", Reach::Seconds(1800), [Runs, Asked, Asked, Asked]).await;
    check("", "once", Reach::Session, [Runs, Asked, Asked, Runs]).await;
    check("", "follow", Reach::Usual, [Runs, Asked, Asked, Runs]).await;
    check("", "follow", Reach::Once, [Asked, Asked, Asked, Asked]).await;
    check("writes = \"session\"", "once", Reach::Usual, [Runs, Asked, Asked, Runs]).await;
    check("reads = \"each\"", "follow", Reach::Usual, [Asked, Asked, Asked, Asked]).await;
    check("writes = \"auto\"\noperations.once = \"each\"", "once", Reach::Usual, [Asked, Asked, Runs, Asked])
        .await;
}

/// Where nobody's word is needed nobody is asked, and an operator's own call asks nobody either.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_asked_without_need() {
    let desk =
        Desk::new("inquires", "[connections.c.approvals]\nreads = \"auto\"\nwrites = \"auto\"\n").await;
    let open = desk.open().await;
    for operation in ["once", "keyed", "prepared", "follow"] {
        assert!(call(&open, operation).await.ok(), "{operation}");
    }
    open.close();
    let desk = Desk::new("inquires", "").await;
    let open = desk.open().await;
    for operation in ["once", "follow"] {
        assert!(open.call(operation, input_of(operation)).await.ok(), "{operation}");
    }
    assert!(open.broker.approvals().unwrap().is_empty());
    open.close();
}

/// Questions that wait for the same word have it with the first.
#[tokio::test(flavor = "multi_thread")]
async fn a_grant_answers_what_it_covers_at_once() {
    let desk = Desk::new("inquires", "").await;
    let open = desk.open().await;
    let first = call_in(&open, "one", "once", r#"{"n":1}"#).await.request_id().unwrap();
    let second = call_in(&open, "one", "once", r#"{"n":2}"#).await.request_id().unwrap();
    let other = call_in(&open, "two", "once", r#"{"n":3}"#).await.request_id().unwrap();
    approve(&open, &first, Reach::Session).await;
    assert_eq!(only_card(&open).request_id, other);
    for id in [first, second] {
        assert!(over(&open, &id).await.ok());
    }
    assert_eq!(desk.peer.accepted(), 2);
    open.close();
}

/// Where each read needs a word, so do the queries that prepare an effect, and the effect one of its own.
#[tokio::test(flavor = "multi_thread")]
async fn queries_that_prepare_are_asked_about_where_reads_are() {
    let desk = Desk::new("inquires", "[connections.c.approvals]\nreads = \"each\"\n").await;
    let open = desk.open().await;
    let id = asked(&open, "prepared").await;
    assert_eq!((desk.peer.accepted(), only_card(&open).path.as_deref()), (0, Some("/before")));
    approve(&open, &id, Reach::Usual).await;
    let effect = async {
        let mut changed = open.broker.questions();
        tokio::select! {
            () = open.broker.look_after() => panic!("the hands are idle"),
            _ = changed.wait_for(|_| !open.broker.approvals().unwrap().is_empty()) => {}
        }
    };
    tokio::time::timeout(crate::LONG, effect).await.unwrap();
    assert_eq!((desk.peer.accepted(), only_card(&open).path.as_deref()), (1, Some("/act")));
    approve(&open, &id, Reach::Usual).await;
    assert!(over(&open, &id).await.ok());
    assert_eq!(desk.peer.accepted(), 2);
    open.close();
}
