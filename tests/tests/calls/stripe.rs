//! The Stripe connector through a whole host against a real `localstripe`.

use proofport_core::code::Code;
use proofport_core::contract::{Outcome, Phase, Retry, Source};
use proofport_core::origin::Origin;
use proofport_tests::localstripe::{KEY, LocalStripe};
use proofport_tests::read_then_die::ReadThenDie;
use proofport_tests::rig::{Open, Rig, Wanted};
use serde_json::{Value, json};

const GUEST: &str = "proofport-connector-stripe";

async fn rig(origin: &str, key: &str) -> Rig {
    let origin = Origin::parse(origin).unwrap();
    let mut wanted = Wanted { secret: key.to_owned(), ..Wanted::new(GUEST, origin, "api_key") };
    // Only who asks, asks.
    wanted.more.push_str("[connections.c.reconciliations]\nattempts = 0\n");
    Rig::new(&wanted.limits("deadline_seconds = 3\nsetup_attempts = 1")).await
}

/// Calls and returns the output of a success.
async fn done(open: &Open, operation: &str, input: &Value) -> Value {
    let envelope = open.call(operation, &input.to_string()).await;
    assert!(envelope.ok(), "{operation}: {envelope:?}");
    envelope.result().unwrap().clone()
}

fn text(value: &Value, field: &str) -> String {
    value[field].as_str().unwrap_or_else(|| panic!("{field} in {value}")).to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_is_made_and_refunded() {
    let stripe = LocalStripe::start().unwrap_or_else(|error| panic!("{error}"));
    let rig = rig(&stripe.origin(), KEY).await;
    let open = rig.open().await;
    let customer = done(&open, "create_customer", &json!({"email": "ada@example.com"})).await;
    let customer = text(&customer, "id");
    let intent = json!({
        "amount": 2000, "currency": "eur", "customer": customer, "payment_method": "pm_card_visa"
    });
    let made = done(&open, "create_payment_intent", &intent).await;
    assert_eq!((&made["amount"], text(&made, "customer")), (&json!(2000), customer));
    let id = text(&made, "id");
    let confirmed = done(&open, "confirm_payment_intent", &json!({"payment_intent": id})).await;
    assert_eq!(text(&confirmed, "status"), "succeeded");
    let refund = done(&open, "create_refund", &json!({"payment_intent": id, "amount": 500})).await;
    assert_eq!(refund["amount"], 500);
    let seen = done(&open, "retrieve_payment_intent", &json!({"payment_intent": id})).await;
    assert_eq!(text(&seen, "status"), "succeeded");
    for (resource, count) in [("customers", 1), ("payment_intents", 1), ("refunds", 1)] {
        assert_eq!(stripe.count(resource).unwrap(), count, "{resource}");
    }
    // A field that breaks the schema is told of without being repeated, and nothing is sent.
    let wrong = open.call("create_payment_intent", r#"{"amount": "20.00", "currency": "eur"}"#).await;
    let shown = serde_json::to_value(&wrong).unwrap();
    assert_eq!((wrong.code(), &shown["invalid_fields"]), (Some(Code::InvalidInput), &json!(["/amount"])));
    assert!(!shown.to_string().contains("20.00"));
    // A field that only the service can judge is its refusal.
    let nobody = json!({"payment_intent": "pi_nobodyknowsthis"});
    let refused = open.call("create_refund", &nobody.to_string()).await;
    assert_eq!((refused.code(), refused.outcome()), (Some(Code::RemoteRejected), Some(Outcome::Rejected)));
    assert_eq!(stripe.count("refunds").unwrap(), 1);
    open.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_key_is_an_operators_matter() {
    let stripe = LocalStripe::start().unwrap_or_else(|error| panic!("{error}"));
    let rig = rig(&stripe.origin(), "rk_wrong_and_long_enough").await;
    let open = rig.open().await;
    let envelope = open.call("create_customer", r#"{"email": "ada@example.com"}"#).await;
    assert_eq!(envelope.code(), Some(Code::AuthFailed));
    assert_eq!((envelope.outcome(), envelope.http_status()), (Some(Outcome::Rejected), Some(401)));
    assert_eq!(stripe.count("customers").unwrap(), 0);
    open.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_server_was_not_reached() {
    let mut stripe = LocalStripe::start().unwrap_or_else(|error| panic!("{error}"));
    let rig = rig(&stripe.origin(), KEY).await;
    stripe.stop().unwrap();
    let open = rig.open().await;
    let envelope = open.call("create_customer", r#"{"email": "ada@example.com"}"#).await;
    assert_eq!(
        (envelope.code(), envelope.phase()),
        (Some(Code::ConnectFailed), Some(Phase::ConnectionSetup))
    );
    assert_eq!((envelope.outcome(), envelope.retry()), (Some(Outcome::NotAttempted), Retry::Backoff));
    open.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stopped_after_it_read_the_request_leaves_an_unknown_that_is_reconciled() {
    let stripe = LocalStripe::start().unwrap_or_else(|error| panic!("{error}"));
    let proxy = ReadThenDie::before(stripe.address()).unwrap();
    let rig = rig(&proxy.origin(), KEY).await;
    let open = rig.open().await;
    let input = json!({"amount": 2000, "currency": "eur", "payment_method": "pm_card_visa"}).to_string();
    let envelope = open.call("create_payment_intent", &input).await;
    assert_eq!((envelope.code(), envelope.outcome()), (Some(Code::OutcomeUnknown), Some(Outcome::Unknown)));
    // The key is young: the contract lets it be used again, by the host, not by calling again.
    assert_eq!(envelope.retry(), Retry::SameIdempotencyKey);
    assert_eq!(stripe.count("payment_intents").unwrap(), 1);
    let again = open.call("create_payment_intent", &input).await;
    assert_eq!((again.repeated(), again.request_id()), (true, envelope.request_id()));

    let id = envelope.request_id().unwrap();
    let lost = open.broker.reconcile(&id).await;
    assert!(lost.is_err(), "the query's answer is lost as well");
    assert_eq!(open.result(&id).outcome(), Some(Outcome::Unknown));
    proxy.heal();
    let settled = open.broker.reconcile(&id).await.unwrap().envelope;
    assert!(settled.ok(), "{settled:?}");
    assert_eq!(settled.result().unwrap()["amount"], 2000);
    let record = open.broker.diagnostic(&id).unwrap().unwrap();
    assert_eq!(record.state().settled.as_ref().unwrap().source, Source::RemoteQuery);
    assert_eq!(record.state().attempts[0].outcome(), Outcome::Unknown, "the first evidence stays");
    // Nothing was charged a second time, and calling again meets the settled one.
    assert_eq!(stripe.count("payment_intents").unwrap(), 1);
    let met = open.call("create_payment_intent", &input).await;
    assert!(met.ok() && met.repeated());
    assert_eq!(stripe.count("payment_intents").unwrap(), 1);
    open.close();
}
