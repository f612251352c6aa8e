//! Behind a layer that honours idempotency keys: whatever happens on the way, the same bytes with the same key
//! may go out again, and there is one effect.

use super::{Site, WRITES};
use proofport_core::contract::{Outcome, Retry, Source};
use proofport_tests::way::{Accident, Keys};

#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_with_its_key_settles_every_accident_with_one_effect() {
    let site = Site::new(Some(Keys::default()), "").await;
    // What is claimed at first, and what is there by then. Of two at once either may be answered first.
    let table = [
        (Accident::None, Some((Outcome::Committed, 1))),
        (Accident::RequestLost, Some((Outcome::Unknown, 0))),
        (Accident::AnswerLost, Some((Outcome::Unknown, 1))),
        (Accident::RequestLate, Some((Outcome::Unknown, 1))),
        (Accident::AnswerLate, Some((Outcome::Unknown, 1))),
        (Accident::Repeated, Some((Outcome::Committed, 1))),
        (Accident::Doubled, None),
    ];
    for (n, (accident, expected)) in table.into_iter().enumerate() {
        for operation in WRITES {
            let what = format!("{operation}, {}", accident.word());
            let (input, effect) = site.fresh(operation, n);
            site.way.set(Some(accident));
            let first = site.call(operation, &input).await;
            let outcome = first.outcome().unwrap();
            let there = tokio::task::block_in_place(|| site.effects(&effect));
            assert!(
                expected.is_none_or(|expected| expected == (outcome, there)),
                "{what}: {first:?}, {there}"
            );
            site.way.set(None);
            match outcome {
                Outcome::Committed => assert!(first.ok(), "{what}: {first:?}"),
                Outcome::Unknown => {
                    assert_eq!(first.retry(), Retry::SameIdempotencyKey, "{what}");
                    let id = first.request_id().unwrap();
                    let again = site.open.broker.retry(&id).await.unwrap().envelope;
                    assert!(again.ok(), "{what}: {again:?}");
                }
                Outcome::NotAttempted | Outcome::Rejected => panic!("{what}: {first:?}"),
            }
            assert_eq!(tokio::task::block_in_place(|| site.effects(&effect)), 1, "{what}");
        }
    }
    site.open.close();
}

/// What the host does by itself, within its budget.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_with_a_budget_settles_a_lost_answer_unasked() {
    let budget =
        "[connections.c.retries]\nattempts = 20\nfirst_delay_millis = 50\nlongest_delay_millis = 200";
    let site = std::sync::Arc::new(Site::new(Some(Keys::default()), budget).await);
    let (input, effect) = site.fresh("create_refund", 0);
    site.way.set(Some(Accident::AnswerLost));
    let calling = tokio::spawn({
        let site = std::sync::Arc::clone(&site);
        async move { site.call("create_refund", &input).await }
    });
    while site.sent() < 2 {
        tokio::task::yield_now().await;
    }
    site.way.set(None);
    let envelope = calling.await.unwrap();
    assert!(envelope.ok(), "{envelope:?}");
    let record = site.open.broker.diagnostic(&envelope.request_id().unwrap()).unwrap().unwrap();
    let settled = record.state().settled.as_ref().unwrap();
    assert_eq!(settled.source, Source::RemoteResponse);
    assert!(record.state().attempts.len() > 1);
    assert_eq!(tokio::task::block_in_place(|| site.effects(&effect)), 1);
}
