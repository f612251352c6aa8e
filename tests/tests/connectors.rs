//! The connectors that the project ships, as the host runs them: the built module in the sandbox. What
//! they say is tested case by case, natively, beside them; here it is whether the module says it too.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what it expects by panicking")]

use proofport_core::call::{Call, DispatchFacts};
use proofport_core::contract::{Outcome, Reason, Role};
use proofport_core::exchange::{Exchange, HttpResponse, Request, Response, Send};
use proofport_core::id::{IdempotencyKey, Name, RequestId};
use proofport_core::origin::Origin;
use proofport_core::time::UnixMillis;
use proofport_core::verdict::Step;
use proofport_sandbox::{Connector, Limits, Rules, Sandbox};
use proofport_tests::guests::guest;
use serde_json::{Value, json};
use std::sync::Arc;
use zeroize::Zeroizing;

/// Instructions that one step of a shipped connector may cost: far below what a call costs elsewhere.
const FUEL_OF_A_STEP: u64 = 200_000;

struct Run {
    connector: Connector,
    call: Call,
    rules: Rules,
}

impl Run {
    async fn of(package: &str, operation: &str, input: &Value) -> Self {
        let sandbox = Sandbox::new(None, Zeroizing::new([7; 32]), Limits::default()).unwrap();
        let connector = sandbox.load(&guest(package)).unwrap();
        let manifest = connector.describe("{}").await.unwrap().value;
        let operation = Name::parse(operation).unwrap();
        let call = Call {
            operation: operation.clone(),
            input: input.to_string(),
            config: "{}".to_owned(),
            reference: RequestId::from_random([1; 16]).reference(),
            idempotency_key: Some(IdempotencyKey::from_random([2; 16])),
            accepted_at: UnixMillis(1_700_000_000_000),
        };
        let rules = Rules {
            origins: vec![Origin::parse("https://api.example").unwrap()],
            manifest: Arc::new(manifest),
            operation,
            ssh_hosts: Vec::new(),
            raw_commands: false,
        };
        Self { connector, call, rules }
    }

    async fn next(&self, history: &[Exchange]) -> Step {
        let report = self.connector.next(&self.call, history, &self.rules).await.unwrap();
        assert!(report.fuel < FUEL_OF_A_STEP, "a step costs {}", report.fuel);
        report.value
    }

    async fn reconcile(&self, effect: &Send, history: &[Exchange]) -> Step {
        let facts = DispatchFacts {
            first_dispatched_at: UnixMillis(1_700_003_600_000),
            last_dispatched_at: UnixMillis(1_700_003_600_000),
            now: UnixMillis(1_700_003_700_000),
            attempts: 1,
            request: effect.request.clone(),
        };
        let report = self.connector.reconcile(&self.call, &facts, history, &self.rules).await.unwrap();
        assert!(report.fuel < FUEL_OF_A_STEP, "a step costs {}", report.fuel);
        report.value
    }
}

fn sent(step: Step, role: Role, line: &str) -> Send {
    let Step::Send(send) = step else { panic!("{step:?}") };
    let Request::Http(request) = &send.request else { panic!("{:?}", send.request) };
    assert_eq!((send.role, format!("{} {}", request.method, request.path.as_str())), (role, line.to_owned()));
    assert_eq!(request.credential, Some(Name::parse("api_key").unwrap()));
    send
}

fn answered(send: &Send, status: u16, body: &str) -> Vec<Exchange> {
    let response = HttpResponse { status, headers: Vec::new(), body: body.as_bytes().to_vec(), stored: None };
    vec![Exchange { role: send.role, request: send.request.clone(), response: Response::Http(response) }]
}

fn check(step: Step, outcome: Outcome, success: bool, reason: Reason, output: Option<&Value>) {
    let Step::Settle(verdict) = step else { panic!("{step:?}") };
    assert_eq!((verdict.outcome, verdict.success, verdict.reason), (outcome, success, reason));
    assert_eq!(verdict.output.as_ref(), output);
}

#[tokio::test]
async fn charges_runs_in_the_sandbox() {
    let input = json!({ "amount": 1000, "currency": "eur" });
    let run = Run::of("proofport-example-charges", "create_charge", &input).await;
    let effect = sent(run.next(&[]).await, Role::Effect, "POST /v1/charges");
    let reference = run.call.reference.as_str();
    let charge = json!({ "id": "ch_1", "amount": 1000, "currency": "eur", "status": "succeeded", "reference": reference });
    let step = run.next(&answered(&effect, 201, &charge.to_string())).await;
    check(step, Outcome::Committed, true, Reason::Done, Some(&charge));
    let step = run.next(&answered(&effect, 201, "<html>")).await;
    check(step, Outcome::Committed, false, Reason::Unreadable, None);

    let query = format!("GET /v1/charges?reference={reference}");
    let query = sent(run.reconcile(&effect, &[]).await, Role::Query, &query);
    let list = json!({ "data": [charge] }).to_string();
    let step = run.reconcile(&effect, &answered(&query, 200, &list)).await;
    check(step, Outcome::Committed, true, Reason::Present, Some(&charge));
    let step = run.reconcile(&effect, &answered(&query, 200, r#"{"data":[]}"#)).await;
    check(step, Outcome::Rejected, false, Reason::Absent, None);
    let step = run.reconcile(&effect, &answered(&query, 200, "[]")).await;
    check(step, Outcome::Unknown, false, Reason::Unreadable, None);
}

#[tokio::test]
async fn stripe_runs_in_the_sandbox() {
    let input = json!({ "amount": 2000, "currency": "eur", "payment_method": "pm_card_visa" });
    let run = Run::of("proofport-connector-stripe", "create_payment_intent", &input).await;
    let effect = sent(run.next(&[]).await, Role::Effect, "POST /v1/payment_intents");
    let mut intent = json!({
        "id": "pi_1", "amount": 2000, "currency": "eur", "status": "requires_confirmation", "customer": null,
        "created": 1_700_003_600, "livemode": false,
    });
    let output = intent.clone();
    intent["metadata"] = json!({ "proofport_reference": run.call.reference.as_str() });
    let step = run.next(&answered(&effect, 200, &intent.to_string())).await;
    check(step, Outcome::Committed, true, Reason::Done, Some(&output));
    let declined = r#"{"error":{"type":"card_error","code":"card_declined","message":"prose"}}"#;
    let codes = json!({ "type": "card_error", "code": "card_declined" });
    let step = run.next(&answered(&effect, 402, declined)).await;
    check(step, Outcome::Rejected, false, Reason::Conflict, Some(&codes));

    let query = "GET /v1/payment_intents?limit=100&created%5Bgte%5D=1700000000";
    let query = sent(run.reconcile(&effect, &[]).await, Role::Query, query);
    let list = json!({ "data": [intent], "has_more": false }).to_string();
    let step = run.reconcile(&effect, &answered(&query, 200, &list)).await;
    check(step, Outcome::Committed, true, Reason::Present, Some(&output));
    let step = run.reconcile(&effect, &answered(&query, 200, r#"{"data":[],"has_more":false}"#)).await;
    check(step, Outcome::Rejected, false, Reason::Absent, None);
}
