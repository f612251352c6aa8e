//! The connector as a plain function: a call and the service's answers in, a step out.

#![allow(clippy::panic, reason = "a test says what it expects by panicking")]

use proofport_example_charges::Charges;
use proofport_sdk::{
    Call, Connector, Evidence, Exchange, Fault, HttpRequest, HttpResponse, Outcome, Reason, ReconcileStep,
    Request, Response, Role, Step, Value, Verdict, json, types::Send,
};

fn call(operation: &str, input: &Value) -> Call {
    Call {
        operation: operation.to_owned(),
        input: input.to_string(),
        config: "{}".to_owned(),
        reference: "ppref".to_owned(),
        idempotency_key: None,
        accepted_at: 0,
    }
}

fn create() -> Call {
    call("create_charge", &json!({ "amount": 1000, "currency": "eur" }))
}

fn answered(role: Role, status: u16, body: &str) -> Vec<Exchange> {
    let request = Request::Http(HttpRequest::get("/"));
    let response = HttpResponse { status, headers: Vec::new(), body: body.as_bytes().to_vec(), stored: None };
    vec![Exchange { role, request, response: Response::Http(response) }]
}

fn charge(reference: &str) -> Value {
    json!({ "id": "ch_1", "amount": 1000, "currency": "eur", "status": "succeeded", "reference": reference })
}

fn check_request(send: Send, role: Role, request: HttpRequest) {
    assert_eq!((send.role, send.request), (role, Request::Http(request.credential("api_key"))));
}

#[test]
fn each_operation_sends_its_request() {
    let Ok(Step::Send(send)) = Charges::next(&create(), &[]) else { panic!("it sends nothing") };
    assert_eq!(send.summary, "Charge 1000 in the smallest unit of eur");
    let body = json!({ "amount": 1000, "currency": "eur", "reference": "ppref" });
    check_request(send, Role::Effect, HttpRequest::post("/v1/charges").json(&body));

    let Ok(Step::Send(send)) = Charges::next(&call("get_charge", &json!({ "id": "a/../b" })), &[]) else {
        panic!("it sends nothing");
    };
    check_request(send, Role::Query, HttpRequest::get("/v1/charges/a%2F..%2Fb"));

    assert_eq!(Charges::next(&call("get_charge", &json!({ "id": ".." })), &[]), Err(Fault::field("")));
    assert_eq!(Charges::next(&call("refund", &json!({})), &[]), Err(Fault::no_such_operation()));
}

#[test]
fn each_answer_has_its_verdict() {
    let check = |status, body: &str, expected: Result<Verdict, Fault>| {
        let step = Charges::next(&create(), &answered(Role::Effect, status, body));
        assert_eq!(step, expected.map(Step::from), "{status} {body}");
    };
    let found = charge("ppref");
    check(201, &found.to_string(), Ok(Verdict::committed(found.clone())));
    let mut more = found.clone();
    more["card"] = json!("4242");
    check(201, &more.to_string(), Ok(Verdict::committed(found)));
    check(201, "<html>", Err(Fault::Unreadable));
    check(402, r#"{"error":{"code":"card_declined"}}"#, Ok(Verdict::rejected(Reason::Conflict)));
    check(401, "", Ok(Verdict::rejected(Reason::Unauthenticated)));
    check(500, "", Ok(Verdict::failed(Reason::RemoteFailed)));
    check(503, "", Ok(Verdict::unknown(Reason::Unavailable)));
}

#[test]
fn a_lost_answer_is_looked_up() {
    let evidence = Evidence {
        first_dispatched_at: 0,
        last_dispatched_at: 0,
        now: 1,
        attempts: 1,
        request: Request::Http(HttpRequest::get("/")),
    };
    let Ok(ReconcileStep::Send(send)) = Charges::reconcile(&create(), &evidence, &[]) else {
        panic!("it asks nothing");
    };
    check_request(send, Role::Query, HttpRequest::get("/v1/charges?reference=ppref"));

    let check = |status, body: &Value, expected: (Outcome, Reason)| {
        let history = answered(Role::Query, status, &body.to_string());
        let Ok(ReconcileStep::Settle(verdict)) = Charges::reconcile(&create(), &evidence, &history) else {
            panic!("it does not settle");
        };
        assert_eq!((verdict.outcome, verdict.reason), expected, "{status} {body}");
    };
    check(200, &json!({ "data": [charge("ppref")] }), (Outcome::Committed, Reason::Present));
    check(200, &json!({ "data": [] }), (Outcome::Rejected, Reason::Absent));
    // A service that ignores the filter shows everybody's.
    check(200, &json!({ "data": [charge("ppother")] }), (Outcome::Rejected, Reason::Absent));
    check(401, &json!({}), (Outcome::Unknown, Reason::Unavailable));
    check(500, &json!({}), (Outcome::Unknown, Reason::Unavailable));
    let unread = Charges::reconcile(&create(), &evidence, &answered(Role::Query, 200, "[]"));
    assert_eq!(unread, Err(Fault::Unreadable));
}
