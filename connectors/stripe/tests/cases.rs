//! Runs every file in `cases/`: a call, the answers that Stripe gives to it, and the steps that the
//! connector must take. The format is described in `cases/README.md`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects by panicking"
)]

use proofport_connector_stripe::Stripe;
use proofport_sdk::{
    Call, Connector, Effect, Evidence, Exchange, Header, HttpRequest, HttpResponse, Operation, Outcome,
    ReconcileStep, Request, Response, Role, Step, Verdict, types::Send,
};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

const REFERENCE: &str = "ppcase";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    about: String,
    operation: String,
    input: Value,
    /// Drives `reconcile` in place of `next`.
    #[serde(default)]
    reconcile: bool,
    #[serde(default)]
    exchanges: Vec<Expected>,
    ends: End,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    /// `METHOD path`.
    query: Option<String>,
    effect: Option<String>,
    /// The form that is sent; none: no body.
    form: Option<String>,
    status: u16,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// A text is sent as it is, anything else as JSON.
    answer: Value,
    /// Sends the same answer this many times, each to the next page.
    #[serde(default = "once")]
    times: usize,
}

fn once() -> usize {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
enum End {
    /// Outcome, success and reason; then what else the verdict holds.
    Settles {
        outcome: String,
        #[serde(default)]
        success: bool,
        reason: String,
        output: Option<Value>,
        retry_after_seconds: Option<u32>,
    },
    /// The input does not obey its schema, so that the host refuses it.
    InvalidInput,
    /// The answer is not what Stripe documents.
    Unreadable,
}

enum Next {
    Send(Send),
    Settle(Verdict),
    Unreadable,
}

fn next(case: &Case, call: &Call, history: &[Exchange]) -> Next {
    if case.reconcile {
        let evidence = Evidence {
            first_dispatched_at: 1_700_003_600_999,
            last_dispatched_at: 1_700_003_601_000,
            now: 1_700_003_700_000,
            attempts: 1,
            request: Request::Http(HttpRequest::get("/")),
        };
        let step = Stripe::reconcile(call, &evidence, history);
        assert_eq!(step, Stripe::reconcile(call, &evidence, history), "the same again");
        match step {
            Ok(ReconcileStep::Send(send)) => Next::Send(send),
            Ok(ReconcileStep::Settle(verdict)) => Next::Settle(verdict),
            Err(_) => Next::Unreadable,
        }
    } else {
        let step = Stripe::next(call, history);
        assert_eq!(step, Stripe::next(call, history), "the same again");
        match step {
            Ok(Step::Send(send)) => Next::Send(send),
            Ok(Step::Settle(verdict)) => Next::Settle(verdict),
            Ok(Step::Refuse(_)) | Err(_) => Next::Unreadable,
        }
    }
}

fn check(case: &Case, operation: &Operation) {
    let valid = obeys(&operation.input_schema, &case.input);
    if matches!(case.ends, End::InvalidInput) {
        assert!(!valid, "the schema lets the input through");
        return;
    }
    assert!(valid, "the schema refuses the input");
    let call = Call {
        operation: case.operation.clone(),
        input: case.input.to_string(),
        config: "{}".to_owned(),
        reference: REFERENCE.to_owned(),
        idempotency_key: matches!(operation.effect, Effect::Write).then(|| "ppk-case".to_owned()),
        accepted_at: 1_700_000_000_000,
    };
    let mut history = Vec::new();
    let expected = case.exchanges.iter().flat_map(|exchange| std::iter::repeat_n(exchange, exchange.times));
    for expected in expected {
        let Next::Send(send) = next(case, &call, &history) else { panic!("it sends nothing more") };
        history.push(exchange(expected, send));
    }
    check_end(case, operation, next(case, &call, &history));
}

fn exchange(expected: &Expected, send: Send) -> Exchange {
    let Request::Http(request) = &send.request else { panic!("not HTTP") };
    let have = format!("{} {}", request.method, request.path);
    let (role, want) = match (&expected.query, &expected.effect) {
        (Some(want), None) => (Role::Query, want),
        (None, Some(want)) => (Role::Effect, want),
        (_, _) => panic!("an exchange is either a query or an effect"),
    };
    assert_eq!((send.role, &have), (role, want));
    let body = request.body.as_deref().map(|body| std::str::from_utf8(body).expect("a form is text"));
    assert_eq!(body, expected.form.as_deref(), "{have}");
    assert_eq!(request.credential.as_deref(), Some("api_key"), "{have}");
    assert_eq!(request.origin, None, "{have}");
    let mut headers = vec!["stripe-version"];
    headers.extend(body.map(|_| "content-type"));
    let mut names: Vec<_> = request.headers.iter().map(|header| header.name.as_str()).collect();
    names.sort_unstable();
    headers.sort_unstable();
    assert_eq!(names, headers, "{have}");
    assert!(!send.summary.is_empty(), "{have}");
    let body =
        expected.answer.as_str().map_or_else(|| expected.answer.to_string(), str::to_owned).into_bytes();
    let header = |(name, value): (&String, &String)| Header { name: name.clone(), value: value.clone() };
    let headers = expected.headers.iter().map(header).collect();
    let response = Response::Http(HttpResponse { status: expected.status, headers, body, stored: None });
    Exchange { role: send.role, request: send.request, response }
}

fn check_end(case: &Case, operation: &Operation, next: Next) {
    let verdict = match (next, &case.ends) {
        (Next::Settle(verdict), End::Settles { .. }) => verdict,
        (Next::Unreadable, End::Unreadable) => return,
        (Next::Send(send), _) => panic!("it sends more: {}", send.summary),
        (Next::Settle(verdict), _) => panic!("it settles: {verdict:?}"),
        (Next::Unreadable, _) => panic!("it takes the answer for unreadable"),
    };
    let End::Settles { outcome, success, reason, output, retry_after_seconds } = &case.ends else { return };
    let snake = |name: String| {
        name.chars().fold(String::new(), |mut snake, c| {
            if c.is_ascii_uppercase() && !snake.is_empty() {
                snake.push('_');
            }
            snake.push(c.to_ascii_lowercase());
            snake
        })
    };
    let word = |debug: String| snake(debug.rsplit("::").next().unwrap_or_default().to_owned());
    let have =
        (word(format!("{:?}", verdict.outcome)), verdict.success, word(format!("{:?}", verdict.reason)));
    assert_eq!(have, (outcome.clone(), *success, reason.clone()));
    assert_eq!(verdict.retry_after_seconds, *retry_after_seconds);
    let have = verdict.output.map(|output| serde_json::from_str::<Value>(&output).expect("output is JSON"));
    assert_eq!(&have, output);
    let schema = if *success { Some(&operation.output_schema) } else { operation.failure_schema.as_ref() };
    if let (Some(schema), Some(output)) = (schema, output) {
        assert!(obeys(schema, output), "the output breaks its schema: {output}");
    }
    assert_eq!(*success && verdict.outcome == Outcome::Committed, *success, "only a committed one succeeds");
    assert!(!*success || output.is_some(), "a success has an output");
}

fn obeys(schema: &str, value: &Value) -> bool {
    let schema: Value = serde_json::from_str(schema).expect("a schema is JSON");
    jsonschema::draft202012::new(&schema).expect("a schema is valid").is_valid(value)
}

#[test]
fn every_case_holds() {
    let operations = Stripe::describe("{}").operations;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let (mut cases, mut seen) = (0, BTreeMap::new());
    for entry in std::fs::read_dir(folder).expect("there is a folder of cases") {
        let path = entry.expect("its entries can be read").path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a case file is text");
        let file: Vec<Case> =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for case in file {
            let operation = operations.iter().find(|operation| operation.name == case.operation);
            let operation = operation.unwrap_or_else(|| panic!("no operation {}", case.operation));
            let name = format!("{}: {}", case.operation, case.about);
            let held = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(&case, operation)));
            assert!(held.is_ok(), "in {}: {name}", path.display());
            cases += 1;
            *seen.entry((case.operation, case.reconcile)).or_insert(0) += 1;
        }
    }
    for operation in &operations {
        assert!(seen.contains_key(&(operation.name.clone(), false)), "no case for {}", operation.name);
        if operation.reconcile.is_some() {
            let what = (operation.name.clone(), true);
            assert!(seen.contains_key(&what), "no case for reconciling {}", operation.name);
        }
    }
    assert!(cases > 40, "only {cases} cases");
}
