//! Who is let in: no page in somebody's browser, and nothing too long.

use crate::{OK, setting};
use proofport_gateway::mcp::Options;
use proofport_tests::mcp::Revision;
use proofport_tests::peer::Script;
use serde_json::json;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

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

/// Who is not let in yet may say hello, and whoever says it too slowly is left.
#[tokio::test(flavor = "multi_thread")]
async fn little_is_read_of_a_stranger_and_nobody_is_waited_for_long() {
    let options = Options { request_time: Duration::from_millis(100), ..Options::default() };
    let (peer, _rig, host) = setting("good", vec![Script::answer(OK)], options).await;
    for revision in Revision::BOTH {
        let long = json!({ "text": "a".repeat(100_000) });
        let stranger = host.client(revision).as_whom("waiting");
        assert_eq!(stranger.call("c__act", long).await.status, 413);
        assert_eq!(stranger.request("tools/list", json!({})).await.status, 200);
    }
    let mut stream = TcpStream::connect(host.address).await.unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: 9\r\n\r\n{{",
        host.address
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert_eq!(peer.effects(), 0);
    host.close().await;
}
