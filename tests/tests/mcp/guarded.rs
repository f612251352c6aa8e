//! Who is let in: no page in somebody's browser, and nothing too long.

use crate::{OK, setting};
use proofport_gateway::mcp::Options;
use proofport_tests::mcp::Revision;
use proofport_tests::peer::Script;
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_not_let_in() {
    let (peer, _rig, host) = setting("good", vec![Script::answer(OK)], Options::default()).await;
    for revision in Revision::BOTH {
        for origin in ["http://evil.test", "null", "http://localhost", "not an origin"] {
            let mut client = host.client(revision);
            client.headers.push(("origin", origin.to_owned()));
            let reply = client.call("c__act", json!({})).await;
            assert_eq!((reply.status, reply.messages.len()), (403, 0), "{origin}");
        }
        // A second host header is no way around, either.
        let mut client = host.client(revision);
        client.headers.push(("host", "evil.test".to_owned()));
        assert_ne!(client.call("c__act", json!({})).await.status, 200);
    }
    assert_eq!(peer.effects(), 0);
    host.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_long_is_not_read() {
    let options = Options { most_bytes: 2000, ..Options::default() };
    let (peer, _rig, host) = setting("good", vec![Script::answer(OK)], options).await;
    for revision in Revision::BOTH {
        let reply = host.client(revision).call("c__act", json!({ "text": "a".repeat(2000) })).await;
        assert_eq!(reply.status, 413);
    }
    assert_eq!(peer.effects(), 0);
    host.close().await;
}
