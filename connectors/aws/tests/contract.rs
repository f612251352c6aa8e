//! What the connector declares and sends, against what AWS publishes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects by panicking"
)]

use proofport_connector_aws::Aws;
use proofport_sdk::{
    BatchMode, Call, Connector, Effect, Fault, HttpRequest, KeyPlace, KeyedContract, Operation, Repeat,
    Request, Step,
};
use serde_json::{Value, json};

/// As long as the host's: `ppk-` and 16 bytes in base 32.
const KEY: &str = "ppk-aaaaaaaaaaaaaaaaaaaaaaaaaa";

fn keyed(scope: &str, retention_seconds: Option<u64>, compares_payload: bool) -> Repeat {
    Repeat::Keyed(KeyedContract {
        place: KeyPlace::Connector,
        scope: scope.to_owned(),
        retention_seconds,
        compares_payload,
        running_status: None,
        replay_header: None,
    })
}

#[test]
fn every_operation_promises_what_its_service_publishes() {
    let fifo = || keyed("queue", Some(300), false);
    let settles = Some((Some(60), true));
    // Name, effect, repeat, reconciliation (delay of absence, automatic), children.
    let expected = [
        ("sqs_send", Effect::Write, Repeat::None, None, None),
        ("sqs_send_fifo", Effect::Write, fifo(), None, None),
        ("sqs_send_batch", Effect::Write, Repeat::None, None, Some(("/entries", 10))),
        ("sqs_send_batch_fifo", Effect::Write, fifo(), None, Some(("/entries", 10))),
        ("s3_create_object", Effect::Write, Repeat::Conditional, settles, None),
        ("s3_replace_object", Effect::Write, Repeat::Conditional, settles, None),
        ("s3_get_object", Effect::Read, Repeat::Idempotent, None, None),
        ("s3_head_object", Effect::Read, Repeat::Idempotent, None, None),
        ("dynamodb_batch_write", Effect::Write, Repeat::Idempotent, None, Some(("/requests", 25))),
        // A terminated instance is soon no longer shown: that none is there proves nothing.
        ("ec2_run_instances", Effect::Write, keyed("account+region", None, true), Some((None, true)), None),
        ("ec2_describe_instances", Effect::Read, Repeat::Idempotent, None, None),
    ];
    let manifest = Aws::describe("{}");
    let declared = |operation: &Operation| {
        let reconcile = operation.reconcile.map(|how| (how.absence_settles_after_seconds, how.automatic));
        let batch = operation.batch.clone().map(|batch| {
            assert_eq!((batch.mode, batch.child_id.as_str()), (BatchMode::Independent, "/id"));
            (batch.items, batch.max)
        });
        (operation.name.clone(), operation.effect, operation.repeat.clone(), reconcile, batch)
    };
    let have: Vec<_> = manifest.operations.iter().map(declared).collect();
    let want: Vec<_> = expected
        .into_iter()
        .map(|(name, effect, repeat, reconcile, batch)| {
            let batch = batch.map(|(items, max): (&str, u32)| (items.to_owned(), max));
            (name.to_owned(), effect, repeat, reconcile, batch)
        })
        .collect();
    assert_eq!(have, want);
    for operation in &manifest.operations {
        assert_eq!(operation.statuses_before_work, [0; 0], "{}", operation.name);
        assert_eq!(operation.stores_content, operation.name == "s3_get_object", "{}", operation.name);
    }
}

#[test]
fn no_other_request_than_get_and_head_passes_for_a_query() {
    assert!(Aws::describe("{}").query_templates.is_empty());
}

#[test]
fn a_failure_admits_no_free_text() {
    for operation in Aws::describe("{}").operations {
        let schema: Value = serde_json::from_str(operation.failure_schema.as_deref().expect("one each"))
            .expect("a schema is JSON");
        assert_eq!(schema["additionalProperties"], false);
        let properties = schema["properties"].as_object().expect("an object");
        assert_eq!(properties.keys().collect::<Vec<_>>(), ["code"], "{}", operation.name);
        let codes = properties["code"]["enum"].as_array().expect("a list");
        let distinct: std::collections::BTreeSet<_> = codes.iter().map(Value::to_string).collect();
        assert!(!codes.is_empty() && distinct.len() == codes.len(), "{}", operation.name);
    }
}

#[test]
fn the_manifest_does_not_depend_on_the_configuration() {
    assert_eq!(Aws::describe("{}"), Aws::describe(r#"{"ec2":{}}"#));
}

#[test]
fn a_connection_is_for_one_service() {
    let schema = Aws::describe("{}").config_schema;
    let check = |config: Value, expected: bool| {
        assert_eq!(proofport_testkit::obeys(&schema, &config), expected, "{config}");
    };
    let queues = |at: &str| json!({ "sqs": { "queues_at": at } });
    check(queues("https://sqs.eu-central-1.amazonaws.com/123456789012"), true);
    check(queues("https://sqs.eu-central-1.amazonaws.com/123456789012/"), false);
    check(queues("sqs.eu-central-1.amazonaws.com/123456789012"), false);
    check(json!({ "s3": {} }), true);
    check(json!({ "s3": { "bucket": "reports", "never_deleted": true } }), true);
    check(json!({ "s3": { "bucket": "../other" } }), false);
    check(json!({ "dynamodb": { "tables": { "orders": ["pk", "sk"] } } }), true);
    check(json!({ "dynamodb": { "tables": { "orders": [] } } }), false);
    check(json!({ "dynamodb": { "tables": {} } }), false);
    check(json!({ "ec2": {} }), true);
    check(json!({ "ec2": { "anything": 1 } }), false);
    check(json!({ "s3": {}, "ec2": {} }), false);
    check(json!({}), false);
    check(json!({ "lambda": {} }), false);
}

/// The first step of a call.
fn first(operation: &str, input: &Value, config: &Value) -> Result<HttpRequest, Vec<String>> {
    first_with(Some(KEY), operation, input, config)
}

fn first_with(
    key: Option<&str>,
    operation: &str,
    input: &Value,
    config: &Value,
) -> Result<HttpRequest, Vec<String>> {
    let call = Call {
        operation: operation.to_owned(),
        input: input.to_string(),
        config: config.to_string(),
        reference: "ppcase".to_owned(),
        idempotency_key: key.map(str::to_owned),
        accepted_at: 0,
    };
    match Aws::next(&call, &[]) {
        Ok(Step::Send(send)) => match send.request {
            Request::Http(request) => Ok(request),
            Request::Ssh(_) => panic!("not HTTP"),
        },
        Ok(Step::Refuse(fields)) | Err(Fault::Input(fields)) => Err(fields),
        Ok(Step::Settle(_)) | Err(Fault::Unreadable) => panic!("nothing was answered yet"),
    }
}

#[test]
fn a_message_is_at_most_a_mebibyte() {
    const MEBIBYTE: usize = 1024 * 1024;
    let config = json!({ "sqs": { "queues_at": "https://sqs.example/1" } });
    let check = |operation: &str, input: Value, expected: Option<&str>| {
        let refused = first(operation, &input, &config).err();
        assert_eq!(refused, expected.map(|field| vec![field.to_owned()]));
    };
    let one = |bytes: usize| json!({ "queue": "q", "message": "a".repeat(bytes) });
    check("sqs_send", one(MEBIBYTE), None);
    check("sqs_send", one(MEBIBYTE + 1), Some("/message"));
    // Letters of two bytes count as two, and an attribute with name, type and value.
    check("sqs_send", json!({ "queue": "q", "message": "é".repeat(MEBIBYTE / 2 + 1) }), Some("/message"));
    let with = |bytes: usize| json!({ "queue": "q", "message": "a".repeat(bytes), "attributes": { "name": "value" } });
    check("sqs_send", with(MEBIBYTE - 15), None);
    check("sqs_send", with(MEBIBYTE - 14), Some("/message"));
    let two = |bytes: usize| {
        let entry = |id: &str, bytes: usize| json!({ "id": id, "message": "a".repeat(bytes) });
        json!({ "queue": "q", "entries": [entry("a", 1), entry("b", bytes)] })
    };
    check("sqs_send_batch", two(MEBIBYTE - 1), None);
    check("sqs_send_batch", two(MEBIBYTE), Some("/entries"));
}

#[test]
fn a_key_fits_where_it_is_put() {
    let config = json!({ "sqs": { "queues_at": "https://sqs.example/1" } });
    let id = "i".repeat(80);
    let entry = json!({ "id": id, "message": "a", "group": "g" });
    let request =
        first("sqs_send_batch_fifo", &json!({ "queue": "q.fifo", "entries": [entry] }), &config).unwrap();
    let body: Value = serde_json::from_slice(&request.body.unwrap()).unwrap();
    let deduplication_id = body["Entries"][0]["MessageDeduplicationId"].as_str().unwrap();
    assert_eq!(deduplication_id, format!("{KEY}-{id}"));
    assert!(deduplication_id.len() <= 128);

    let input = json!({ "image_id": "ami-12345678", "instance_type": "t3.micro", "count": 1 });
    let request = first("ec2_run_instances", &input, &json!({ "ec2": {} })).unwrap();
    let body = String::from_utf8(request.body.unwrap()).unwrap();
    let token = body.split('&').find_map(|field| field.strip_prefix("ClientToken=")).unwrap();
    assert_eq!(token, KEY);
    assert!(token.len() <= 64);
}

/// An admin who has the contract taken away mints no key, and the services want one in the request.
#[test]
fn without_a_contract_the_reference_takes_the_place_of_the_key() {
    let check = |operation: &str, input: Value, config: Value| {
        let request = first_with(None, operation, &input, &config).unwrap();
        let body = String::from_utf8(request.body.unwrap()).unwrap();
        assert!(body.contains("ppcase"), "{operation}: {body}");
    };
    let sqs = || json!({ "sqs": { "queues_at": "https://sqs.example/1" } });
    check("sqs_send_fifo", json!({ "queue": "q.fifo", "message": "a", "group": "g" }), sqs());
    let entries = json!([{ "id": "a", "message": "a", "group": "g" }]);
    check("sqs_send_batch_fifo", json!({ "queue": "q.fifo", "entries": entries }), sqs());
    let launch = json!({ "image_id": "ami-12345678", "instance_type": "t3.micro", "count": 1 });
    check("ec2_run_instances", launch, json!({ "ec2": {} }));
}
