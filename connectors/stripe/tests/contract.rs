//! What the connector declares, against what Stripe publishes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects by panicking"
)]

use proofport_connector_stripe::Stripe;
use proofport_sdk::{Connector, Effect, KeyPlace, KeyedContract, Repeat};
use serde_json::Value;

#[test]
fn every_write_is_under_stripes_idempotency_contract() {
    let published = KeyedContract {
        place: KeyPlace::Header("Idempotency-Key".to_owned()),
        scope: "account".to_owned(),
        retention_seconds: Some(86_400),
        compares_payload: true,
        running_status: Some(409),
        replay_header: Some("idempotent-replayed".to_owned()),
    };
    let mut writes = Vec::new();
    for operation in Stripe::describe("{}").operations {
        assert_eq!(operation.statuses_before_work, [401, 429], "{}", operation.name);
        match operation.effect {
            Effect::Write => {
                assert_eq!(operation.repeat, Repeat::Keyed(published.clone()), "{}", operation.name);
                let how = operation.reconcile.expect("every write can be looked up");
                writes.push((operation.name, how.absence_settles_after_seconds, how.automatic));
            }
            Effect::Read => assert!(operation.reconcile.is_none(), "{}", operation.name),
        }
    }
    let writes: Vec<_> =
        writes.iter().map(|(name, absence, automatic)| (name.as_str(), *absence, *automatic)).collect();
    let expected = [
        ("create_customer", Some(60), true),
        ("create_payment_intent", Some(60), true),
        ("confirm_payment_intent", Some(60), true),
        ("create_refund", Some(60), true),
    ];
    assert_eq!(writes, expected);
}

#[test]
fn a_failure_admits_no_free_text() {
    for operation in Stripe::describe("{}").operations {
        let schema: Value = serde_json::from_str(operation.failure_schema.as_deref().expect("one each"))
            .expect("a schema is JSON");
        assert_eq!(schema["additionalProperties"], false);
        for (name, property) in schema["properties"].as_object().expect("an object") {
            let closed = property["enum"].as_array().is_some_and(|values| !values.is_empty());
            assert!(closed, "{}: {name}", operation.name);
        }
    }
}

#[test]
fn the_manifest_does_not_depend_on_the_configuration() {
    assert_eq!(Stripe::describe("{}"), Stripe::describe(r#"{"anything":1}"#));
}
