//! `proofport mcp`, and a host that dies while it carries a call (field case 32).

use crate::{OK, fields, held, setting, until, wait_effects};
use proofport_gateway::mcp::Options;
use proofport_tests::mcp::{Revision, SocketWay, Stdio};
use proofport_tests::peer::Script;
use serde_json::{Value, json};

/// A client's messages over lines in one revision.
struct Lines {
    revision: Revision,
    next: u64,
}

impl Lines {
    const fn new(revision: Revision) -> Self {
        Self { revision, next: 1 }
    }

    fn message(&mut self, method: &str, mut params: Value) -> Value {
        self.next += 1;
        if self.revision == Revision::New {
            let meta = &mut params["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = json!(self.revision.version());
            meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
        }
        json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params })
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.message("tools/call", json!({ "name": tool, "arguments": arguments }))
    }
}

async fn hello(stdio: &mut Stdio, revision: Revision) -> Value {
    match revision {
        Revision::Old => stdio.shake_hands().await,
        Revision::New => {
            let discover = Lines::new(revision).message("server/discover", json!({}));
            stdio.ask(&discover).await
        }
    }
}

/// The socket is gone in the middle of a call, and there again.
async fn check(revision: Revision) {
    let (peer, rig, host) = setting("good", vec![held(), Script::answer(OK)], Options::default()).await;
    let socket = rig.dir.path().join("agent.sock");
    let way = SocketWay::open(&socket, host.address);
    let (mut stdio, mut lines) = (Stdio::start(&socket), Lines::new(revision));
    let said = hello(&mut stdio, revision).await;
    assert!(said["result"]["capabilities"]["tools"].is_object(), "{said}");

    // The client wants progress as well, so that the test knows when the carrier has heard the id.
    let mut call = lines.call("c__act", json!({ "amount": 1 }));
    call["params"]["_meta"]["progressToken"] = json!("mine");
    stdio.say(&call);
    let named = loop {
        let heard = stdio.hear().await;
        if let Some(id) = heard.pointer("/params/_meta").and_then(|meta| meta.get("proofport/request_id")) {
            break id.clone();
        }
    };
    wait_effects(&peer, 1);
    way.die().await;
    let answer = stdio.answer(&call["id"]).await;
    let envelope = &answer["result"]["structuredContent"];
    let names = ["code", "outcome", "action", "retryable", "request_id", "operation"];
    let expected = [
        json!("OUTCOME_UNKNOWN"),
        json!("unknown"),
        json!("inspect_outcome"),
        json!(false),
        named.clone(),
        json!("c.act"),
    ];
    assert_eq!(fields(envelope, names), expected, "{revision:?}: {answer}");
    assert_eq!(answer["result"]["isError"], true);

    // While there is no host, nothing is sent, and that is said.
    let again = lines.call("c__act", json!({ "amount": 1 }));
    let answer = stdio.ask(&again).await;
    let envelope = &answer["result"]["structuredContent"];
    assert_eq!(
        fields(envelope, ["outcome", "retryable"]),
        [json!("not_attempted"), json!(false)],
        "{answer}"
    );
    assert!(envelope["message"].as_str().unwrap().starts_with("No Proofport host is running"));
    let list = lines.message("tools/list", json!({}));
    let answer = stdio.ask(&list).await;
    assert!(answer["error"]["message"].as_str().unwrap().contains("proofport serve"), "{answer}");

    // With the next message it is looked for again, and the call meets the first.
    let way = SocketWay::open(&socket, host.address);
    peer.release();
    let waited = lines.call("wait", json!({ "request_id": named }));
    let waited = stdio.ask(&waited).await;
    assert_eq!(waited["result"]["structuredContent"]["ok"], true, "{waited}");
    let again = lines.call("c__act", json!({ "amount": 1 }));
    let again = stdio.ask(&again).await;
    let got = fields(&again["result"]["structuredContent"], ["ok", "repeated", "request_id"]);
    assert_eq!(got, [json!(true), json!(true), named], "{again}");
    assert_eq!(peer.effects(), 1);
    let (_, status) = stdio.end().await;
    assert_eq!(status, Some(0));
    way.die().await;
    host.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_on_which_the_way_broke_is_unknown_under_its_id() {
    for revision in Revision::BOTH {
        check(revision).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_lost_before_it_has_an_id_has_none() {
    // It takes every connection, and never answers.
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("agent.sock");
    let listener = tokio::net::UnixListener::bind(&socket).unwrap();
    let (mut stdio, mut lines) = (Stdio::start(&socket), Lines::new(Revision::New));
    let call = lines.call("c__act", json!({}));
    stdio.say(&call);
    let (mut stream, _) = listener.accept().await.unwrap();
    let asked = until(&mut stream, "c__act").await;
    assert!(asked.contains("mcp-name: c__act") && asked.contains("proofport-shim-"), "{asked}");
    drop(stream);
    let answer = stdio.answer(&call["id"]).await;
    let got = fields(&answer["result"]["structuredContent"], ["outcome", "retryable", "request_id"]);
    assert_eq!(got, [json!("unknown"), json!(false), Value::Null], "{answer}");
    // A call's end of which half is there is no answer.
    let call = lines.call("c__act", json!({}));
    stdio.say(&call);
    let (mut stream, _) = listener.accept().await.unwrap();
    until(&mut stream, "c__act").await;
    let half =
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 90\r\n\r\n{\"result\":{}}";
    tokio::io::AsyncWriteExt::write_all(&mut stream, half.as_bytes()).await.unwrap();
    drop(stream);
    let answer = stdio.answer(&call["id"]).await;
    assert_eq!(answer["result"]["structuredContent"]["outcome"], "unknown", "{answer}");
    drop(stdio);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_over_lines_cancels_by_a_word_and_not_by_leaving() {
    for revision in Revision::BOTH {
        let (peer, rig, host) = setting("good", vec![held(), held()], Options::default()).await;
        let socket = rig.dir.path().join("agent.sock");
        let way = SocketWay::open(&socket, host.address);
        let kinds = |id: &Value| {
            let id = proofport_core::id::RequestId::parse(id.as_str().unwrap()).unwrap();
            let events = host.host.broker().timeline(&id).unwrap();
            events.iter().map(|recorded| recorded.event.kind().to_string()).collect::<Vec<_>>()
        };
        let client = host.client(revision);
        for (n, cancels) in [(1, true), (2, false)] {
            let (mut stdio, mut lines) = (Stdio::start(&socket), Lines::new(revision));
            hello(&mut stdio, revision).await;
            let call = lines.call("c__act", json!({ "n": n }));
            stdio.say(&call);
            wait_effects(&peer, n);
            let met = client.call("c__act", json!({ "n": n })).await;
            let id = met.envelope()["request_id"].clone();
            if cancels {
                let params = json!({ "requestId": call["id"] });
                let word = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
                stdio.say(&word);
                while !kinds(&id).iter().any(|kind| kind == "CANCEL_REQUESTED") {
                    tokio::task::yield_now().await;
                }
            }
            // The process is gone with the call under way.
            drop(stdio);
            let met = client.call("c__act", json!({ "n": n })).await;
            assert_eq!(met.envelope()["request_id"], id);
            assert_eq!(kinds(&id).iter().any(|kind| kind == "CANCEL_REQUESTED"), cancels, "{revision:?}");
        }
        peer.release();
        way.die().await;
        host.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_message_is_answered_and_harms_none() {
    let folder = tempfile::tempdir().unwrap();
    let mut stdio = Stdio::start(&folder.path().join("agent.sock"));
    for line in [json!([]), json!("text"), json!({ "id": 7 })] {
        stdio.say(&line);
        assert_eq!(stdio.hear().await["error"]["code"], -32600, "{line}");
    }
    stdio.say(&json!({ "text": "a".repeat(5 * 1024 * 1024) }));
    assert_eq!(stdio.hear().await["error"]["code"], -32600);
    let list = Lines::new(Revision::New).message("tools/list", json!({}));
    assert_eq!(stdio.ask(&list).await["error"]["code"], -32603);
    assert_eq!(stdio.end().await, (Vec::new(), Some(0)));
}
