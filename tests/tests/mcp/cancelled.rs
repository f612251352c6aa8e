//! What cancels a call, and what doesn't: a word does, a lost stream does not.

use crate::{OK, held, setting, until, wait_effects};
use proofport_gateway::mcp::Options;
use proofport_tests::mcp::{McpHost, Raw, Revision};
use proofport_tests::peer::Script;
use serde_json::{Value, json};

/// The ways in which a client gives up a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Its stream is lost.
    Stream,
    /// `notifications/cancelled`.
    Notification,
    /// The same for another request.
    AnotherNotification,
    /// The host's tool.
    Tool,
    /// `tasks/cancel`.
    Task,
}

async fn give_up(client: &Raw, way: Way, json_rpc_id: u64, id: &Value) {
    let cancelled = |id: u64| {
        let params = json!({ "requestId": id, "reason": "the user lost interest" });
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })
    };
    match way {
        Way::Stream => {}
        Way::Notification => assert_eq!(client.post(&cancelled(json_rpc_id)).await.status, 202),
        Way::AnotherNotification => assert_eq!(client.post(&cancelled(json_rpc_id + 7)).await.status, 202),
        Way::Tool => drop(client.call("cancel", json!({ "request_id": id })).await),
        Way::Task => {
            let acknowledged = client.request("tasks/cancel", json!({ "taskId": id })).await;
            assert_eq!(acknowledged.error(), None);
        }
    }
}

/// Whether the record says that the caller lost interest.
fn is_cancelled(host: &McpHost, id: &Value) -> bool {
    let id = proofport_core::id::RequestId::parse(id.as_str().unwrap()).unwrap();
    let events = host.host.broker().timeline(&id).unwrap();
    events.iter().any(|recorded| recorded.event.kind().to_string() == "CANCEL_REQUESTED")
}

async fn check(revision: Revision, way: Way, cancels: bool) {
    let (peer, _rig, host) = setting("good", vec![held(), Script::answer(OK)], Options::default()).await;
    let client = host.client(revision).with_tasks();
    let params = json!({ "name": "c__act", "arguments": {}, "_meta": { "progressToken": 1 } });
    let (json_rpc_id, call) = client.message("tools/call", params);
    let mut stream = client.send(&call).await;
    let told = until(&mut stream, "proofport/request_id").await;
    let id = json!(&told[told.find("act_").unwrap()..][..30]);
    wait_effects(&peer, 1);
    if way == Way::Stream {
        stream.set_zero_linger().unwrap();
        drop(stream);
    }
    give_up(&client, way, json_rpc_id, &id).await;
    if cancels {
        // The word is on its way; a task's is not waited for.
        while !is_cancelled(&host, &id) {
            tokio::task::yield_now().await;
        }
    }
    peer.release();
    // The effect had left, so that the remote's answer settles it all the same.
    let waited = client.call("wait", json!({ "request_id": id })).await;
    assert_eq!(waited.envelope()["outcome"], "committed", "{revision:?} {way:?}: {waited:?}");
    assert_eq!(is_cancelled(&host, &id), cancels, "{revision:?} {way:?}");
    assert_eq!(peer.effects(), 1);
    host.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_word_cancels_and_a_lost_stream_does_not() {
    for revision in Revision::BOTH {
        check(revision, Way::Stream, false).await;
        check(revision, Way::Notification, true).await;
        check(revision, Way::AnotherNotification, false).await;
        check(revision, Way::Tool, true).await;
    }
    check(Revision::New, Way::Task, true).await;
}
