//! The Tasks extension of the newer revision: a task is a call's record under another name.

use crate::{OK, held, lost, setting, wait_effects};
use proofport_gateway::mcp::{Options, Patience};
use proofport_tests::mcp::{McpHost, Revision};
use proofport_tests::peer::Script;
use serde_json::{Value, json};
use std::time::Duration;

/// A host that keeps nobody waiting: whatever has an id and goes on is a task, or is answered as it stands.
fn hasty() -> Options {
    let patience =
        Patience { task_after: Duration::ZERO, answer_after: Duration::ZERO, ..Patience::default() };
    Options { patience, ..Options::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_runs_long_is_a_task_that_survives_a_restart() {
    let (peer, rig, host) = setting("good", vec![held()], hasty()).await;
    let client = host.client(Revision::New).with_tasks();
    let task = client.call("c__act", json!({})).await;
    let task = task.result().clone();
    assert_eq!((&task["resultType"], &task["status"]), (&json!("task"), &json!("working")), "{task}");
    let id = task["taskId"].as_str().unwrap().to_owned();
    assert!(id.starts_with("act_"));
    wait_effects(&peer, 1);
    let get = json!({ "taskId": id });
    let standing = client.request("tasks/get", get.clone()).await;
    assert_eq!(standing.result()["status"], "working", "{standing:?}");
    // The same call again is the same task.
    let again = client.call("c__act", json!({})).await;
    assert_eq!(again.result()["taskId"], id.as_str());
    // It is its owner's.
    for (token, error) in [("other/one", Some(-32602)), ("waiting", Some(-32602)), ("tester/two", None)] {
        let who = host.client(Revision::New).with_tasks().as_whom(token);
        for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
            if error.is_some() {
                let params = json!({ "taskId": id, "inputResponses": {} });
                assert_eq!(who.request(method, params).await.error(), error, "{token} {method}");
            }
        }
        assert_eq!(who.request("tasks/get", get.clone()).await.error(), error, "{token}");
    }
    peer.release();
    let done = client.call("wait", json!({ "request_id": id })).await;
    drop(done);
    host.close().await;

    let host = McpHost::serve(&rig, hasty()).await;
    let client = host.client(Revision::New).with_tasks();
    let over = client.request("tasks/get", get).await;
    let over = over.result();
    assert_eq!(over["status"], "completed", "{over}");
    let envelope = &over["result"]["structuredContent"];
    assert_eq!((&envelope["ok"], &envelope["request_id"]), (&json!(true), &json!(id)));
    assert_eq!(over["result"]["isError"], false);
    assert_eq!(peer.effects(), 1);
    host.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_takes_no_tasks_is_told_to_wait() {
    for revision in Revision::BOTH {
        let (peer, _rig, host) = setting("good", vec![held()], hasty()).await;
        let client = host.client(revision);
        let reply = client.call("c__act", json!({})).await;
        assert_eq!(reply.envelope()["code"], "IN_PROGRESS", "{revision:?}");
        let said = reply.result()["content"][0]["text"].as_str().unwrap();
        assert!(said.contains("Call `wait` with this request_id"), "{said}");
        // Nor may it ask for tasks.
        let asked = client.request("tasks/get", json!({ "taskId": reply.envelope()["request_id"] })).await;
        assert_eq!(asked.error(), Some(-32021), "{revision:?} {asked:?}");
        peer.release();
        host.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_task_is_over_and_says_so() {
    let (peer, _rig, host) =
        setting("finds-nothing", vec![lost(), Script::answer(OK)], Options::default()).await;
    let client = host.client(Revision::New).with_tasks();
    let reply = client.call("c__act", json!({})).await;
    assert_eq!(reply.envelope()["outcome"], "unknown");
    let get = json!({ "taskId": reply.envelope()["request_id"] });
    let check = |task: &Value, code: &str| {
        assert_eq!(task["status"], "completed", "{task}");
        let result = &task["result"];
        assert_eq!((&result["isError"], &result["structuredContent"]["code"]), (&json!(true), &json!(code)));
    };
    check(client.request("tasks/get", get.clone()).await.result(), "OUTCOME_UNKNOWN");
    let id = reply.envelope()["request_id"].clone();
    client.call("inspect_outcome", json!({ "request_id": id })).await;
    check(client.request("tasks/get", get).await.result(), "CONFIRMED_ABSENT");
    for id in ["act_", "", "act_aaaaaaaaaaaaaaaaaaaaaaaaaa"] {
        assert_eq!(client.request("tasks/get", json!({ "taskId": id })).await.error(), Some(-32602));
    }
    assert_eq!(peer.effects(), 2);
    host.close().await;
}
