//! The connectors that the project ships, as the host runs them: the built module in the sandbox. What
//! they say is tested case by case, natively, beside them; here it is whether the module says it too.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what it expects by panicking")]

use proofport_core::call::{Call, DispatchFacts};
use proofport_core::contract::{Outcome, Reason, Role};
use proofport_core::exchange::{Exchange, HttpResponse, Request, Response, Send, SshExit, SshResponse};
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
        Self::under(package, operation, input, &json!({})).await
    }

    /// The same under this config.
    async fn under(package: &str, operation: &str, input: &Value, config: &Value) -> Self {
        let sandbox = Sandbox::new(None, Zeroizing::new([7; 32]), Limits::default()).unwrap();
        let connector = sandbox.load(&guest(package)).unwrap();
        let manifest = connector.describe(&config.to_string()).await.unwrap().value;
        let operation = Name::parse(operation).unwrap();
        let call = Call {
            operation: operation.clone(),
            input: input.to_string(),
            config: config.to_string(),
            reference: RequestId::from_random([1; 16]).reference(),
            idempotency_key: Some(IdempotencyKey::from_random([2; 16])),
            accepted_at: UnixMillis(1_700_000_000_000),
        };
        let rules = Rules {
            origins: vec![Origin::parse("https://api.example").unwrap()],
            manifest: Arc::new(manifest),
            operation,
            ssh_hosts: vec!["deploy@host.example".to_owned()],
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
    sent_with("api_key", step, role, line)
}

/// The request that a step sends, with the credential of this slot.
fn sent_with(slot: &str, step: Step, role: Role, line: &str) -> Send {
    let Step::Send(send) = step else { panic!("{step:?}") };
    let Request::Http(request) = &send.request else { panic!("{:?}", send.request) };
    assert_eq!((send.role, format!("{} {}", request.method, request.path.as_str())), (role, line.to_owned()));
    assert_eq!(request.credential, Some(Name::parse(slot).unwrap()));
    send
}

/// The exec that a step sends.
fn exec(step: Step, role: Role) -> Send {
    let Step::Send(send) = step else { panic!("{step:?}") };
    let Request::Ssh(request) = &send.request else { panic!("{:?}", send.request) };
    assert_eq!((send.role, request.host.as_deref()), (role, Some("deploy@host.example")));
    assert_eq!(request.credential, Some(Name::parse("login").unwrap()));
    send
}

fn ended(send: &Send, status: u32, stdout: &str, stderr: &str) -> Vec<Exchange> {
    let response = SshResponse {
        exit: SshExit::Status(status),
        stdout: stdout.as_bytes().to_vec(),
        stderr: stderr.as_bytes().to_vec(),
        stored: None,
    };
    vec![Exchange { role: send.role, request: send.request.clone(), response: Response::Ssh(response) }]
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

    let query = "GET /v1/payment_intents?limit=100&created%5Bgte%5D=1700000000&created%5Blte%5D=1700010800";
    let query = sent(run.reconcile(&effect, &[]).await, Role::Query, query);
    let list = json!({ "data": [intent], "has_more": false }).to_string();
    let step = run.reconcile(&effect, &answered(&query, 200, &list)).await;
    check(step, Outcome::Committed, true, Reason::Present, Some(&output));
    let step = run.reconcile(&effect, &answered(&query, 200, r#"{"data":[],"has_more":false}"#)).await;
    check(step, Outcome::Rejected, false, Reason::Absent, None);
}

#[tokio::test]
async fn aws_runs_in_the_sandbox() {
    let package = "proofport-connector-aws";
    let sqs = json!({ "sqs": { "queues_at": "https://sqs.example/1" } });
    let entries = json!([{ "id": "a", "message": "1" }, { "id": "b", "message": "2" }]);
    let input = json!({ "queue": "orders", "entries": entries });
    let run = Run::under(package, "sqs_send_batch", &input, &sqs).await;
    let effect = sent_with("access_key", run.next(&[]).await, Role::Effect, "POST /");
    let answer = json!({
        "Successful": [{ "Id": "a", "MessageId": "m-1" }],
        "Failed": [{ "Id": "b", "SenderFault": true, "Code": "InvalidMessageContents" }],
    });
    let Step::Settle(verdict) = run.next(&answered(&effect, 200, &answer.to_string())).await else {
        panic!("it goes on")
    };
    assert_eq!((verdict.outcome, verdict.reason), (Outcome::Committed, Reason::Partial));
    let children: Vec<_> =
        verdict.children.iter().map(|child| (child.index, child.id.as_str(), child.outcome)).collect();
    assert_eq!(children, [(0, "a", Outcome::Committed), (1, "b", Outcome::Rejected)]);

    let s3 = json!({ "s3": { "bucket": "reports" } });
    let input = json!({ "key": "a/b", "content": "x" });
    let run = Run::under(package, "s3_create_object", &input, &s3).await;
    let effect = sent_with("access_key", run.next(&[]).await, Role::Effect, "PUT /reports/a/b");
    let refused = "<Error><Code>PreconditionFailed</Code><Message>prose</Message></Error>";
    let code = json!({ "code": "PreconditionFailed" });
    let step = run.next(&answered(&effect, 412, refused)).await;
    check(step, Outcome::Rejected, false, Reason::PreconditionFailed, Some(&code));
    let query = sent_with("access_key", run.reconcile(&effect, &[]).await, Role::Query, "HEAD /reports/a/b");
    let step = run.reconcile(&effect, &answered(&query, 404, "")).await;
    check(step, Outcome::Unknown, false, Reason::NotFound, None);

    let input = json!({ "image_id": "ami-12345678", "instance_type": "t3.micro", "count": 1 });
    let run = Run::under(package, "ec2_run_instances", &input, &json!({ "ec2": {} })).await;
    let effect = sent_with("access_key", run.next(&[]).await, Role::Effect, "POST /");
    let instance = |token: &str| {
        format!(
            "<instancesSet><item><instanceId>i-12345678</instanceId><imageId>ami-12345678</imageId>\
             <instanceState><name>pending</name></instanceState><instanceType>t3.micro</instanceType>\
             <clientToken>{token}</clientToken></item></instancesSet>"
        )
    };
    let token = run.call.idempotency_key.as_ref().unwrap().as_str();
    let output = json!({ "instances": [{
        "instance_id": "i-12345678", "state": "pending", "instance_type": "t3.micro", "image_id": "ami-12345678",
    }] });
    let answer = format!("<RunInstancesResponse>{}</RunInstancesResponse>", instance(token));
    let step = run.next(&answered(&effect, 200, &answer)).await;
    check(step, Outcome::Committed, true, Reason::Done, Some(&output));
    let line = format!(
        "GET /?Action=DescribeInstances&Version=2016-11-15&Filter.1.Name=client-token&Filter.1.Value.1={token}"
    );
    let query = sent_with("access_key", run.reconcile(&effect, &[]).await, Role::Query, &line);
    let described = |token: &str| {
        let set = format!("<reservationSet><item>{}</item></reservationSet>", instance(token));
        format!("<DescribeInstancesResponse>{set}</DescribeInstancesResponse>")
    };
    let step = run.reconcile(&effect, &answered(&query, 200, &described(token))).await;
    check(step, Outcome::Committed, true, Reason::Present, Some(&output));
    let step = run.reconcile(&effect, &answered(&query, 200, &described("other"))).await;
    check(step, Outcome::Unknown, false, Reason::NotFound, None);
}

#[tokio::test]
async fn ssh_run_runs_in_the_sandbox() {
    let config = json!({ "commands": {
        "direct": { "argv": ["uptime", { "argument": "how", "prefix": "--" }], "run_once": false,
                    "arguments": { "how": { "type": "one_of", "values": ["pretty"] } } },
        "once": { "argv": ["backup"], "run_once": true },
    } });
    let of = |input: Value| {
        let config = config.clone();
        async move { Run::under("proofport-connector-ssh-run", "run", &input, &config).await }
    };
    let run = of(json!({ "command": "direct", "arguments": { "how": "pretty" } })).await;
    let effect = exec(run.next(&[]).await, Role::Effect);
    let output = json!({ "exit_status": 0, "stdout_bytes": 2, "stdout": "up" });
    check(
        run.next(&ended(&effect, 0, "up", "")).await,
        Outcome::Committed,
        true,
        Reason::Done,
        Some(&output),
    );
    let status = json!({ "exit_status": 120 });
    let step = run.next(&ended(&effect, 120, "", "")).await;
    check(step, Outcome::Committed, false, Reason::RemoteFailed, Some(&status));
    let run = of(json!({ "command": "direct", "arguments": { "how": "; rm -rf /" } })).await;
    let Step::Refuse(fields) = run.next(&[]).await else { panic!("it is sent") };
    assert_eq!(fields, ["/arguments/how"]);

    let run = of(json!({ "command": "once" })).await;
    let reference = run.call.reference.as_str();
    let effect = exec(run.next(&[]).await, Role::Effect);
    let output = json!({ "exit_status": 0, "stdout_bytes": 0, "stdout": "" });
    let step = run.next(&ended(&effect, 0, "", &format!("proofport-finished:{reference} 0\n"))).await;
    check(step, Outcome::Committed, true, Reason::Done, Some(&output));
    let why = json!({ "why": "state" });
    let step = run.next(&ended(&effect, 122, "", &format!("proofport-refused:{reference} state\n"))).await;
    check(step, Outcome::Rejected, false, Reason::Unavailable, Some(&why));
    let query = exec(run.reconcile(&effect, &[]).await, Role::Query);
    let step = run.reconcile(&effect, &ended(&query, 0, "absent\n", "")).await;
    check(step, Outcome::Rejected, false, Reason::Absent, None);
    let step = run.reconcile(&effect, &ended(&query, 0, "running\n", "")).await;
    check(step, Outcome::Unknown, false, Reason::StillRunning, None);
}

#[tokio::test]
async fn ssh_deploy_runs_in_the_sandbox() {
    let config = json!({ "root": "/srv/app" });
    let package = "proofport-connector-ssh-deploy";
    let run = Run::under(package, "current", &json!({}), &config).await;
    let query = exec(run.next(&[]).await, Role::Query);
    let output = json!({ "current": null, "releases": [] });
    let step = run.next(&ended(&query, 0, "current -\n", "")).await;
    check(step, Outcome::Committed, true, Reason::Done, Some(&output));

    let sha256 = "0".repeat(64);
    let input = json!({ "id": "r1", "sha256": sha256, "archive": "AAAA" });
    let run = Run::under(package, "release", &input, &config).await;
    let effect = exec(run.next(&[]).await, Role::Effect);
    let output = json!({ "id": "r1", "sha256": sha256, "current": true });
    let step = run.next(&ended(&effect, 0, &format!("current r1 {sha256}\n"), "")).await;
    check(step, Outcome::Committed, true, Reason::Done, Some(&output));
    let why = json!({ "why": "conflict" });
    let step = run.next(&ended(&effect, 105, "refused conflict\n", "")).await;
    check(step, Outcome::Rejected, false, Reason::Conflict, Some(&why));
    let step = run.next(&ended(&effect, 105, "", "")).await;
    check(step, Outcome::Committed, false, Reason::RemoteFailed, None);
    let query = exec(run.reconcile(&effect, &[]).await, Role::Query);
    let step = run.reconcile(&effect, &ended(&query, 0, "absent r1\n", "")).await;
    check(step, Outcome::Rejected, false, Reason::Absent, None);
}
