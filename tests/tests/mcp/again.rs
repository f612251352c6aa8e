//! A client whose stream was lost sends the same call again under a new JSON-RPC id (field case 31).

use crate::{OK, fields, held, setting, wait_effects};
use proofport_gateway::mcp::Options;
use proofport_tests::mcp::{McpHost, Revision};
use proofport_tests::peer::Script;
use serde_json::{Value, json};

/// Where the stream is cut.
#[derive(Clone, Copy, Debug)]
enum Cut {
    /// While the remote has not answered yet.
    Before,
    /// After so many bytes of the answer.
    During(usize),
    /// After its last byte.
    After,
}

const TOOL: &str = "c__act";

async fn check(revision: Revision, cut: Cut) {
    let (peer, _rig, host) = setting("good", vec![held(), Script::answer(OK)], Options::default()).await;
    let client = host.client(revision);
    let arguments = json!({ "amount": 1 });
    let (first_id, first) = client.message("tools/call", json!({ "name": TOOL, "arguments": arguments }));
    match cut {
        Cut::Before => {
            let stream = client.send(&first).await;
            wait_effects(&peer, 1);
            drop(stream);
            // It is met while it is being carried out.
            let met = client.call(TOOL, arguments.clone()).await;
            let got = fields(met.envelope(), ["code", "outcome", "action", "repeated"]);
            assert_eq!(
                got,
                [json!("IN_PROGRESS"), json!("unknown"), json!("inspect_outcome"), json!(true)],
                "{revision:?}"
            );
            let id = &met.envelope()["request_id"];
            peer.release();
            let waited = client.call("wait", json!({ "request_id": id, "seconds": 20 })).await;
            assert_eq!((&waited.envelope()["ok"], &waited.envelope()["request_id"]), (&json!(true), id));
        }
        Cut::During(bytes) => {
            peer.release();
            assert_eq!(client.cut_after(&first, bytes).await, bytes);
        }
        Cut::After => {
            peer.release();
            assert!(client.post(&first).await.envelope()["ok"] == true);
        }
    }
    let (again_id, again) = client.message("tools/call", json!({ "name": TOOL, "arguments": arguments }));
    assert_ne!(first_id, again_id);
    let again = client.post(&again).await;
    let answer = again.envelope();
    let got = fields(answer, ["ok", "repeated", "outcome", "result"]);
    assert_eq!(
        got,
        [json!(true), json!(true), json!("committed"), json!({ "ok": true })],
        "{revision:?} {cut:?}"
    );
    assert_eq!(peer.effects(), 1, "{revision:?} {cut:?}");

    // A new key is a new intent.
    let with_key = json!({ "amount": 1, "call_key": "again-on-purpose" });
    let second = client.call(TOOL, with_key.clone()).await;
    let second = second.envelope();
    assert_eq!(fields(second, ["ok", "repeated"]), [json!(true), json!(false)], "{second}");
    assert_ne!(second["request_id"], answer["request_id"]);
    assert_eq!(peer.effects(), 2);
    let met = client.call(TOOL, with_key).await;
    let got = fields(met.envelope(), ["request_id", "repeated"]);
    assert_eq!(got, [second["request_id"].clone(), json!(true)]);
    assert_eq!(peer.effects(), 2);
    host.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_sent_again_meets_the_first() {
    for revision in Revision::BOTH {
        for cut in [Cut::Before, Cut::During(1), Cut::During(300), Cut::After] {
            check(revision, cut).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_two_revisions_meet_each_others_calls() {
    let (peer, _rig, host) = setting("good", vec![Script::answer(OK)], Options::default()).await;
    let first = host.client(Revision::Old).call(TOOL, json!({})).await;
    let second = host.client(Revision::New).call(TOOL, json!({})).await;
    assert_eq!(first.envelope()["request_id"], second.envelope()["request_id"]);
    assert_eq!(second.envelope()["repeated"], true);
    // Nothing is promised of a second arrival, so that the rule spans the principal's sessions.
    let elsewhere = host.client(Revision::New).as_whom("tester/two").call(TOOL, json!({})).await;
    assert_eq!(elsewhere.envelope()["request_id"], first.envelope()["request_id"]);
    // Somebody else's intent is another, and so is their call.
    let other = host.client(Revision::New).as_whom("other/one");
    let id = &first.envelope()["request_id"];
    let asked = other.call("fetch_result", json!({ "request_id": id })).await;
    assert_eq!(asked.envelope()["code"], "NO_SUCH_INVOCATION");
    assert_eq!(peer.effects(), 1);
    host.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_whole_answer_counts_as_delivered() {
    let delivered = |host: &McpHost, id: &Value| {
        let id = proofport_core::id::RequestId::parse(id.as_str().unwrap()).unwrap();
        let events = host.host.broker().timeline(&id).unwrap();
        events.iter().any(|recorded| recorded.event.kind().to_string() == "RESULT_DELIVERED")
    };
    for revision in Revision::BOTH {
        let (peer, _rig, host) = setting("good", vec![held()], Options::default()).await;
        let client = host.client(revision);
        let (_, call) = client.message("tools/call", json!({ "name": TOOL, "arguments": {} }));
        let stream = client.send(&call).await;
        wait_effects(&peer, 1);
        drop(stream);
        let met = client.call(TOOL, json!({})).await;
        let id = &met.envelope()["request_id"];
        peer.release();
        // What waits is told of the end; its own answer is given away with the connection.
        let (_, wait) =
            client.message("tools/call", json!({ "name": "wait", "arguments": { "request_id": id } }));
        client.cut_after(&wait, 0).await;
        let whole = client.call("wait", json!({ "request_id": id })).await;
        assert_eq!(whole.envelope()["ok"], true);
        // The mark rides along with a later commit.
        let _ = client.call("c__look", json!({})).await;
        assert!(delivered(&host, id), "{revision:?}");
        host.close().await;
    }
}
