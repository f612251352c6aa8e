//! Connections that are not kept.

use crate::{CA, NEW, OK, ask, exchange, first, target};
use proofport_egress::HttpEgress;
use proofport_tests::peer::{Act, Peer};

/// One exchange with a peer that does this, and one more: on a new connection.
async fn check(what: &str, tls: bool, acts: Vec<Act>, complete: bool, body: Option<Vec<u8>>) {
    let scripts = first(acts);
    let peer = if tls { Peer::https(scripts, &CA) } else { Peer::http(scripts) };
    let (egress, target) = (HttpEgress::new(), target(peer.origin()));
    let done = exchange(&egress, &target, "POST", body).await;
    assert_eq!(done.exchange.evidence.completion.is_some(), complete, "{what}: {:?}", done.exchange.evidence);
    let again = ask(&egress, &target).await;
    assert_eq!(again.attempts(), NEW, "{what}");
    assert_eq!(again.body(), Some(b"ok".as_slice()), "{what}");
    assert_eq!(peer.accepted(), 2, "{what}");
}

fn says(answer: impl Into<Vec<u8>>) -> Vec<Act> {
    vec![Act::ReadRequest, Act::Effect, Act::Send(answer.into()), Act::Hold]
}

fn ends(answer: impl Into<Vec<u8>>, end: Act) -> Vec<Act> {
    vec![Act::ReadRequest, Act::Effect, Act::Send(answer.into()), end]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_may_not_be_used_again_is_not_kept() {
    let with = |version: &str, field: &str| {
        says(format!("HTTP/{version} 200 OK\r\n{field}content-length: 2\r\n\r\nok"))
    };
    let small = || Some(b"a=1".to_vec());
    for tls in [false, true] {
        check("close", tls, with("1.1", "connection: close\r\n"), true, small()).await;
        check("close among others", tls, with("1.1", "Connection: x-y , Close\r\n"), true, small()).await;
        check(
            "close in a second field",
            tls,
            with("1.1", "connection: x\r\nconnection: close\r\n"),
            true,
            small(),
        )
        .await;
        check("1.0", tls, with("1.0", ""), true, small()).await;
        check("1.0 that would stay", tls, with("1.0", "connection: keep-alive\r\n"), true, small()).await;
        check("more than the answer", tls, says(OK.repeat(2)), true, small()).await;
        check("one byte more", tls, says(format!("{OK}\n")), true, small()).await;
        check("half an answer", tls, ends(&OK.as_bytes()[..OK.len() - 1], Act::Close), false, small()).await;
        check("an answer that is reset", tls, ends(&OK.as_bytes()[..20], Act::Reset), false, small()).await;
        check("what is no HTTP", tls, says("SSH-2.0-OpenSSH_9.9\r\n"), false, small()).await;
        let both = "content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
        check("two framings", tls, says(format!("HTTP/1.1 200 OK\r\n{both}")), false, small()).await;
        check("too much", tls, says("HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n"), false, small()).await;
        // The content was never asked for, so that the request is not whole.
        let early = "HTTP/1.1 413 Content Too Large\r\ncontent-length: 2\r\n\r\nno";
        let early = vec![Act::ReadHead, Act::Send(early.into()), Act::Hold];
        check("an answer before the content", tls, early, true, Some(vec![b'x'; 4 << 20])).await;
    }
    check("ended by close_notify", true, ends("HTTP/1.1 200 OK\r\n\r\nok", Act::Close), true, small()).await;
    check("ended by FIN alone", false, ends("HTTP/1.1 200 OK\r\n\r\nok", Act::Close), false, small()).await;
}
