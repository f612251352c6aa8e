//! The envelope: its schema, its allowlist, and that no text of others gets in.

use crate::common::golden::{self, root};
use crate::common::history::{Way, fold, reach};
use crate::common::values::{self, START, content, contract, digest, keyed, name, settlement, stored_output};
use crate::common::walk::{contracts, picks, walk};
use proofport_core::code::Code;
use proofport_core::contract::{Effect, Outcome, Repeat, Retry, RetryOwner, Source};
use proofport_core::envelope::{Envelope, FieldPointer, RemoteData, json_schema};
use proofport_core::event::{Event, ResultFacts, Settlement};
use proofport_core::id::OperationName;
use proofport_core::state::{Standing, State};
use proptest::prelude::{ProptestConfig, Strategy, any, prop, proptest};
use serde_json::{Value, json};

/// What an answer may hold, level by level. `result` is the operation's own.
const TOP: [&str; 22] = [
    "ok",
    "schema",
    "request_id",
    "operation",
    "code",
    "message",
    "action",
    "retryable",
    "phase",
    "outcome",
    "retry",
    "retry_owner",
    "retry_after_seconds",
    "repeated",
    "http_status",
    "exit_status",
    "invalid_fields",
    "result",
    "content",
    "children",
    "job",
    "evidence",
];
const CHILD: [&str; 8] = ["id", "index", "ok", "code", "outcome", "retry", "action", "result"];
const JOB: [&str; 1] = ["id"];
const CONTENT: [&str; 4] = ["bytes", "digest", "chunks", "chunk_bytes"];
const EVIDENCE: [&str; 11] = [
    "dispatch_started",
    "request_complete",
    "response_headers_received",
    "response_complete",
    "command_accepted",
    "stdout_complete",
    "stderr_complete",
    "attempts",
    "source",
    "masked",
    "contract",
];
const ATTEMPT: [&str; 3] = ["n", "stage", "outcome"];
const CONTRACT: [&str; 2] = ["repeat", "key_expires_at"];

fn validator() -> jsonschema::Validator {
    jsonschema::draft202012::new(&json_schema()).unwrap()
}

fn keys_among(value: &Value, allowed: &[&str]) {
    for key in value.as_object().unwrap().keys() {
        assert!(allowed.contains(&key.as_str()), "{key} is not on the list");
    }
}

fn check(envelope: &Envelope, validator: &jsonschema::Validator) {
    let value = serde_json::to_value(envelope).unwrap();
    let errors: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}\n{value:#}");
    keys_among(&value, &TOP);
    keys_among(&value["evidence"], &EVIDENCE);
    let items = |of: &Value| of.as_array().cloned().unwrap_or_default();
    items(&value["children"]).iter().for_each(|child| keys_among(child, &CHILD));
    items(&value["evidence"]["attempts"]).iter().for_each(|attempt| keys_among(attempt, &ATTEMPT));
    for (part, allowed) in [
        (&value["job"], &JOB[..]),
        (&value["content"], &CONTENT[..]),
        (&value["evidence"]["contract"], &CONTRACT[..]),
    ] {
        if !part.is_null() {
            keys_among(part, allowed);
        }
    }
}

#[test]
fn the_published_schema_is_the_one_that_is_built() {
    let text = serde_json::to_string_pretty(&json_schema()).unwrap() + "\n";
    golden::check(&root().join("docs/envelope.schema.json"), &text);
}

#[test]
fn the_schema_refuses_what_is_not_listed() {
    let state = fold(&reach(Standing::Stored, Way::Write, &contract(Effect::Write, keyed())).unwrap());
    let good = serde_json::to_value(Envelope::of(&state, None, false, START)).unwrap();
    let validator = validator();
    let check = |change: &dyn Fn(&mut Value), valid: bool| {
        let mut value = good.clone();
        change(&mut value);
        assert_eq!(validator.is_valid(&value), valid, "{value:#}");
    };
    check(&|_| {}, true);
    check(&|value| value["cause"] = json!("connection reset by 10.0.0.1"), false);
    check(&|value| value["evidence"]["peer"] = json!("shop.example"), false);
    check(&|value| value["evidence"]["contract"]["key"] = json!("ppk-1"), false);
    check(&|value| value["code"] = json!("ECONNRESET"), false);
    check(&|value| value["schema"] = json!("proofport.envelope/2"), false);
    check(&|value| drop(value.as_object_mut().unwrap().remove("retryable")), false);
}

#[test]
fn every_standing_and_every_refusal_gives_a_valid_answer() {
    let validator = validator();
    for (way, effect) in
        [(Way::Write, Effect::Write), (Way::WriteAgain, Effect::Write), (Way::Read, Effect::Read)]
    {
        for repeat in [Repeat::Idempotent, keyed()] {
            for standing in Standing::ALL {
                let Some(history) = reach(*standing, way, &contract(effect, repeat.clone())) else {
                    continue;
                };
                let state = fold(&history);
                for repeated in [false, true] {
                    let result = Some(RemoteData::checked(json!({"id": "ch_1"})));
                    let envelope = Envelope::of(&state, result, repeated, START);
                    check(&envelope, &validator);
                    assert_eq!(envelope.result().is_some(), state.result.is_some(), "{standing}");
                    assert_eq!(envelope.repeated(), repeated);
                    let unknown = envelope.outcome() == Some(Outcome::Unknown);
                    let stopped = envelope.too_often(START.plus_seconds(90), START);
                    check(&stopped, &validator);
                    let next = (stopped.retry(), stopped.retry_owner(), stopped.retry_after_seconds());
                    let expected = match unknown {
                        true => (Retry::Reconcile, RetryOwner::Operator, Some(90)),
                        false => (Retry::Never, RetryOwner::Nobody, Some(90)),
                    };
                    assert_eq!(next, expected, "{standing}");
                    assert!(stopped.repeated(), "{standing}");
                }
            }
        }
    }
    for code in Code::ALL {
        let operation = OperationName { connection: name("shop"), operation: name("pay") };
        for operation in [None, Some(operation)] {
            let envelope = Envelope::refusal(*code, operation);
            check(&envelope, &validator);
            assert!(!envelope.ok());
            assert_eq!(envelope.code(), Some(*code));
            assert_eq!(envelope.request_id(), None);
        }
    }
}

/// A content is promised only where it can be fetched: with a success, whole.
#[test]
fn a_stored_content_is_named_with_a_success_only() {
    let state = |settlement: Settlement, result: ResultFacts| {
        let read = contract(Effect::Read, Repeat::Idempotent);
        let mut history = reach(Standing::Stored, Way::Read, &read).unwrap();
        history.truncate(history.len() - 2);
        history.extend([Event::OutcomeSettled(settlement), Event::ResultCommitted(result)]);
        fold(&history)
    };
    let output = Some(RemoteData::checked(json!({"id": "ch_1"})));
    let done = settlement(Outcome::Committed, Source::RemoteQuery);
    let failed = Settlement { code: Some(Code::RemoteFailed), ..done.clone() };
    let check = |settlement: &Settlement, facts: ResultFacts, result: &Option<RemoteData>, named: bool| {
        let envelope = Envelope::of(&state(settlement.clone(), facts), result.clone(), false, START);
        assert_eq!(envelope.content(), named.then(content).as_ref(), "{envelope:?}");
        let value = serde_json::to_value(&envelope).unwrap();
        let expected = json!({"bytes": 10, "digest": digest(11), "chunks": 3, "chunk_bytes": 4});
        assert_eq!(value.get("content"), named.then_some(&expected));
    };
    check(&done, stored_output(), &output, true);
    check(&done, values::output(), &output, false);
    // A failure, and a success whose result can't be read any more.
    check(&failed, stored_output(), &output, false);
    check(&done, stored_output(), &None, false);
    let internal = Envelope::internal(&state(done, stored_output()), START);
    assert_eq!(internal.content(), None);
}

/// Records from before there were stored contents mean what they meant.
#[test]
fn a_result_without_content_reads_as_ever() {
    let check = |text: Value, expected: ResultFacts| {
        assert_eq!(serde_json::from_value::<ResultFacts>(text.clone()).unwrap(), expected);
        assert_eq!(serde_json::to_value(&expected).unwrap(), text);
    };
    check(json!({"result": "output", "digest": digest(10), "bytes": 12}), values::output());
    let content = json!({"bytes": 10, "digest": digest(11), "chunks": 3, "chunk_bytes": 4});
    check(
        json!({"result": "output", "digest": digest(10), "bytes": 12, "content": content}),
        stored_output(),
    );
}

#[test]
fn an_answer_decides_the_exit_status() {
    let check = |standing: Standing, way: Way, expected: u8| {
        let effect = if way == Way::Read { Effect::Read } else { Effect::Write };
        let state: State = fold(&reach(standing, way, &contract(effect, Repeat::Idempotent)).unwrap());
        let result = Some(RemoteData::checked(json!({"id": "ch_1"})));
        assert_eq!(
            Envelope::of(&state, result, false, START).exit_status_of_program(),
            expected,
            "{standing}"
        );
        if expected == 0 {
            // A success whose stored result can't be read any more is none.
            let without = Envelope::of(&state, None, false, START);
            assert_eq!(
                (without.code(), without.exit_status_of_program()),
                (Some(Code::ResultUnavailable), 15)
            );
        }
    };
    check(Standing::Stored, Way::Write, 0);
    check(Standing::Delivered, Way::Read, 0);
    check(Standing::AwaitingApproval, Way::Write, 14);
    check(Standing::Dispatched, Way::Write, 14);
    check(Standing::Ended, Way::Write, 12);
    check(Standing::Ended, Way::WriteAgain, 12);
    check(Standing::Stopped, Way::Write, 10);
    let refusal = |code: Code, expected: u8| {
        assert_eq!(Envelope::refusal(code, None).exit_status_of_program(), expected, "{code}");
    };
    refusal(Code::VaultLocked, 10);
    refusal(Code::Internal, 70);
    refusal(Code::InProgress, 14);
    refusal(Code::ResultUndelivered, 15);
    refusal(Code::ResultUnavailable, 15);
    refusal(Code::AuthFailed, 11);
    refusal(Code::OutcomeUnknown, 12);
    refusal(Code::RemoteFailed, 13);
    refusal(Code::NoSuchInvocation, 10);
}

/// A refusal says nothing of a remote that was never met.
#[test]
fn an_unknown_id_has_no_outcome() {
    let envelope = Envelope::refusal(Code::NoSuchInvocation, None);
    assert_eq!(envelope.outcome(), None);
    assert_eq!(Envelope::refusal(Code::VaultLocked, None).outcome(), Some(Outcome::NotAttempted));
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "amount": {"type": "integer"},
            "a/b": {"type": "string"},
            "m~n": {"type": "string"},
            "lines": {
                "type": "array",
                "items": {"type": "object", "properties": {"price": {"type": "integer"}}}
            }
        }
    })
}

#[test]
fn a_pointer_keeps_only_what_the_schema_names() {
    let check = |pointer: &str, expected: &str| {
        assert_eq!(FieldPointer::in_schema(pointer, &schema()).as_str(), expected, "{pointer}");
    };
    check("", "");
    check("/amount", "/amount");
    check("/amount/sk_live_4242", "/amount");
    check("/sk_live_4242", "");
    check("sk_live_4242/amount", "");
    check("/lines/0/price", "/lines/0/price");
    check("/lines/12/price", "/lines/12/price");
    check("/lines/sk_live/price", "/lines");
    check("/lines/+1/price", "/lines");
    check("/lines/007/price", "/lines");
    check("/lines/12345678901/price", "/lines");
    check("/a~1b", "/a~1b");
    check("/m~0n", "/m~0n");
    check("/m~n", "");
    check("/m~2n", "");
    check("/properties/amount", "");
    check("/Amount", "");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Every segment of a pointer is a name of the schema's, as RFC 6901 escapes it, or an index.
    #[test]
    fn a_pointer_holds_no_text_of_others(pointer in pointers()) {
        let kept = FieldPointer::in_schema(&pointer, &schema());
        for segment in kept.as_str().split('/').skip(1) {
            let named = ["amount", "a~1b", "m~0n", "lines", "price"].contains(&segment);
            let index = segment.parse::<u32>().is_ok_and(|n| n.to_string() == segment);
            assert!(named || index, "{segment} in {kept:?}");
        }
        assert!(pointer.starts_with(kept.as_str()));
    }

    #[test]
    fn every_answer_fits_the_schema(terms in contracts(), picks in picks(40), repeated in any::<bool>()) {
        let validator = validator();
        let (_, state) = walk(&terms, &picks, |_| {});
        let envelope = Envelope::of(&state, Some(RemoteData::checked(json!({"id": 1}))), repeated, START);
        check(&envelope, &validator);
    }
}

fn pointers() -> impl Strategy<Value = String> {
    let segment = prop::sample::select(vec![
        "amount",
        "lines",
        "price",
        "a~1b",
        "a/b",
        "m~0n",
        "m~n",
        "0",
        "1",
        "+1",
        "-1",
        "01",
        "99999999",
        "",
        "~",
        "items",
        "properties",
        "sk_live_4242",
        "é",
    ]);
    let built = prop::collection::vec(segment, 0..6)
        .prop_map(|segments| segments.iter().flat_map(|segment| ["/", segment]).collect::<String>());
    prop::strategy::Union::new([built.boxed(), any::<String>().boxed()])
}
