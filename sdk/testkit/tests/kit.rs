//! The kit finds what is wrong: each of these cases holds, and none holds once it or the connector differs.

#![allow(clippy::unwrap_used, reason = "a test says what it expects by panicking")]

use proofport_sdk::{
    BatchContract, BatchMode, Call, ChildVerdict, Connector, Evidence, Exchange, Fault, HttpRequest,
    Manifest, Operation, Reason, ReconcileStep, Repeat, Step, Terms, Verdict,
};
use proofport_testkit::Cases;
use serde_json::{Value, json};
use std::panic::catch_unwind;

/// Writes a list, and looks for what it wrote by a request that the test chooses.
struct Lists;

impl Connector for Lists {
    fn describe(_config: &str) -> Manifest {
        let list = json!({ "type": "object", "required": ["items"] });
        let output = json!({ "type": "object", "required": ["n"] });
        let batch = BatchContract::new("/items", "/id", BatchMode::Independent, 2);
        let write = Operation::write("write", Repeat::None).input(&list).output(&output).batch(batch);
        Manifest::new("lists", "1.0.0", "Lists.").operation(write.reconcile(None, false))
    }

    fn next(call: &Call, history: &[Exchange]) -> Result<Step, Fault> {
        let Some(exchange) = history.last() else {
            let request = HttpRequest::post("/lists").header("x-list", "1").credential("key");
            return Ok(request.json(&call.input()?).as_effect("Write a list"));
        };
        let response = exchange.http()?;
        let verdict = response.verdict(Terms::NONE);
        if !verdict.success {
            return Ok(verdict.into());
        }
        let answer: Value = response.json()?;
        let id = answer["id"].as_str().unwrap_or_default().to_owned();
        let child = ChildVerdict::committed(0, id);
        Ok(verdict.output(answer["output"].clone()).children(vec![child]).into())
    }

    fn reconcile(call: &Call, _: &Evidence, history: &[Exchange]) -> Result<ReconcileStep, Fault> {
        let input: Value = call.input()?;
        match history {
            [] if input["post"] == true => Ok(HttpRequest::post("/lists").credential("key").as_query("Ask")),
            [] => Ok(HttpRequest::get("/lists").credential("key").as_query("Ask")),
            [_, ..] => Ok(Verdict::unknown(Reason::NotFound).into()),
        }
    }
}

/// A case of each kind, both of which hold.
fn sound() -> Value {
    json!([
        {
            "about": "written",
            "operation": "write",
            "input": { "items": [{ "id": "a" }] },
            "exchanges": [{
                "effect": "POST /lists",
                "sends": { "x-list": "1" },
                "json": { "items": [{ "id": "a" }] },
                "status": 200,
                "answer": { "id": "a", "output": { "n": 1 } },
            }],
            "ends": { "settles": {
                "outcome": "committed", "success": true, "reason": "done", "output": { "n": 1 },
                "children": [{ "index": 0, "id": "a", "outcome": "committed", "success": true, "reason": "done" }],
            } },
        },
        {
            "about": "looked for",
            "operation": "write",
            "input": { "items": [] },
            "reconcile": true,
            "exchanges": [{ "query": "GET /lists", "status": 404 }],
            "ends": { "settles": { "outcome": "unknown", "reason": "not_found" } },
        },
    ])
}

fn holds(cases: &Value) -> bool {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("cases.json"), cases.to_string()).unwrap();
    catch_unwind(|| Cases::of(folder.path()).credential("key").check::<Lists>()).is_ok()
}

#[test]
fn every_difference_is_found() {
    assert!(holds(&sound()));
    let check = |pointer: &str, value: Value| {
        let mut cases = sound();
        *cases.pointer_mut(pointer).unwrap() = value;
        assert!(!holds(&cases), "{pointer}");
    };
    check("/0/operation", json!("other"));
    check("/0/input", json!({}));
    check("/0/exchanges/0/effect", json!("POST /other"));
    check("/0/exchanges/0/sends", json!({}));
    check("/0/exchanges/0/sends/x-list", json!("2"));
    check("/0/exchanges/0/json/items", json!([]));
    check("/0/exchanges/0/status", json!(400));
    // The connector's output breaks its schema, and its child is not the input's.
    check("/0/exchanges/0/answer/output", json!({}));
    check("/0/exchanges/0/answer/id", json!("b"));
    check("/0/ends/settles/outcome", json!("rejected"));
    check("/0/ends/settles/success", json!(false));
    check("/0/ends/settles/reason", json!("accepted"));
    check("/0/ends/settles/output/n", json!(2));
    check("/0/ends/settles/children", json!([]));
    check("/0/ends", json!("unreadable"));
    check("/0/ends", json!("invalid_input"));
    check("/0/ends", json!({ "refuses": [""] }));
    check("/1/exchanges", json!([]));
    check("/1/exchanges/0/query", json!("HEAD /lists"));
    // A reconciliation that is not tried.
    check("/1/reconcile", json!(false));
    // One that asks by a request that the host would not take for a query.
    let mut cases = sound();
    cases[1]["input"]["post"] = json!(true);
    cases[1]["exchanges"][0]["query"] = json!("POST /lists");
    assert!(!holds(&cases));
    // Without either of them an operation, or its reconciliation, has no case.
    assert!(!holds(&json!([sound()[0]])));
    assert!(!holds(&json!([sound()[1]])));
    assert!(!holds(&json!([])));
}

#[test]
fn the_shared_headers_and_credential_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("cases.json"), sound().to_string()).unwrap();
    let cases = || Cases::of(folder.path());
    let fails = |cases: Cases| catch_unwind(|| cases.check::<Lists>()).is_err();
    assert!(!fails(cases().credential("key")));
    assert!(fails(cases()));
    assert!(fails(cases().credential("other")));
    assert!(fails(cases().credential("key").header("x-version", "1")));
}
