//! Against `localstripe` as it is, which ignores idempotency keys: where the admin has marked the connection,
//! nothing is sent again, and what became of it is asked.

use super::{Site, WRITES};
use proofport_broker::RetryError;
use proofport_core::code::Code;
use proofport_core::contract::{Outcome, Source};
use proofport_core::retry::Leave;
use proofport_tests::way::Accident;
use std::sync::atomic::Ordering;

/// By when an absence is proof.
const SETTLED: u64 = 61;

const NEVER_DELETED: &str = "config.customers_never_deleted = true";

/// Calls with this accident; whether it is found done in the end.
async fn check(site: &Site, operation: &str, n: usize, accident: Accident, done: bool) {
    let what = format!("{operation}, {}", accident.word());
    let (input, effect) = site.fresh(operation, n);
    let before = site.sent();
    site.way.set(Some(accident));
    let first = site.call(operation, &input).await;
    assert_eq!(first.outcome(), Some(Outcome::Unknown), "{what}: {first:?}");
    site.way.set(None);
    let there = tokio::task::block_in_place(|| site.effects(&effect));
    assert_eq!(there, u64::from(done), "{what}");
    let id = first.request_id().unwrap();
    let retry = site.open.broker.retry(&id).await;
    assert!(matches!(retry, Err(RetryError::NotPermitted(Leave::NotRepeatable))), "{what}");
    let mut found = site.open.broker.reconcile(&id).await.unwrap().envelope;
    if !done {
        assert_eq!(found.outcome(), Some(Outcome::Unknown), "{what}: too early");
        site.clock.0.fetch_add(SETTLED, Ordering::SeqCst);
        found = site.open.broker.reconcile(&id).await.unwrap().envelope;
    }
    match done {
        true => assert!(found.ok(), "{what}: {found:?}"),
        false => assert_eq!(found.code(), Some(Code::ConfirmedAbsent), "{what}: {found:?}"),
    }
    let record = site.open.broker.diagnostic(&id).unwrap().unwrap();
    assert_eq!(record.state().settled.as_ref().unwrap().source, Source::RemoteQuery, "{what}");
    // One request, whatever was done about it.
    assert_eq!(site.sent() - before, 1, "{what}");
    assert_eq!(tokio::task::block_in_place(|| site.effects(&effect)), there, "{what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_marked_connection_sends_nothing_twice_and_finds_out() {
    let site = Site::new(None, &format!("repeat = \"none\"\n{NEVER_DELETED}")).await;
    let table = [
        (Accident::RequestLost, false),
        (Accident::AnswerLost, true),
        (Accident::RequestLate, true),
        (Accident::AnswerLate, true),
    ];
    for (n, (accident, done)) in table.into_iter().enumerate() {
        for operation in WRITES {
            check(&site, operation, n, accident, done).await;
        }
    }
    site.open.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_customer_that_is_not_listed_may_have_been_deleted() {
    let site = Site::new(None, "repeat = \"none\"").await;
    let (input, effect) = site.fresh("create_customer", 0);
    site.way.set(Some(Accident::RequestLost));
    let id = site.call("create_customer", &input).await.request_id().unwrap();
    site.way.set(None);
    site.clock.0.store(SETTLED, Ordering::SeqCst);
    let open = site.open.broker.reconcile(&id).await.unwrap().envelope;
    assert_eq!(open.outcome(), Some(Outcome::Unknown), "{open:?}");
    assert_eq!(tokio::task::block_in_place(|| site.effects(&effect)), 0);
    site.open.close();
}

/// A payment that was declined while nobody heard the answer: nothing was charged, and who declined what is
/// for a person to read.
#[tokio::test(flavor = "multi_thread")]
async fn a_declined_confirmation_is_not_called_absent() {
    let site = Site::new(None, "repeat = \"none\"").await;
    let form = "amount=2000&currency=eur&payment_method=pm_card_chargeCustomerFail";
    let payment = site.make("/v1/payment_intents", form)["id"].clone();
    site.way.set(Some(Accident::AnswerLost));
    let input = serde_json::json!({ "payment_intent": payment });
    let id = site.call("confirm_payment_intent", &input).await.request_id().unwrap();
    site.way.set(None);
    site.clock.0.store(SETTLED, Ordering::SeqCst);
    let open = site.open.broker.reconcile(&id).await.unwrap().envelope;
    assert_eq!(open.outcome(), Some(Outcome::Unknown), "{open:?}");
    site.open.close();
}

/// Why the mark is there: the connector's author promises what this service does not keep.
#[tokio::test(flavor = "multi_thread")]
async fn an_unmarked_connection_believes_the_promise() {
    let site = Site::new(None, "").await;
    let (input, effect) = site.fresh("create_customer", 0);
    site.way.set(Some(Accident::AnswerLost));
    let id = site.call("create_customer", &input).await.request_id().unwrap();
    site.way.set(None);
    assert!(site.open.broker.retry(&id).await.unwrap().envelope.ok());
    assert_eq!(tokio::task::block_in_place(|| site.effects(&effect)), 2);
    site.open.close();
}
