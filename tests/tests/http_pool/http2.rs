//! Kept connections in HTTP/2.

use crate::{CA, KEPT, NAMES, NEW, OK, STALE, ask, exchange, target};
use proofport_core::evidence::{Completion, HttpVersion};
use proofport_core::origin::Origin;
use proofport_egress::{HttpEgress, HttpTarget};
use proofport_tests::peer::h2::{Act, Kind, Script, Scripts, code};
use proofport_tests::peer::{self, Alpn, Peer};
use tokio::task::block_in_place;

fn http2(origin: Origin) -> HttpTarget {
    HttpTarget { http2: true, ..target(origin) }
}

/// Reads a request and answers it.
fn answered() -> [Act; 3] {
    [
        Act::ReadRequest,
        Act::Headers { status: 200, headers: Vec::new(), end_stream: false },
        Act::Data { bytes: b"ok".to_vec(), end_stream: true },
    ]
}

fn script(acts: &[&[Act]]) -> Script {
    Script::opened(acts.concat())
}

/// One connection does this, and all others answer.
fn first(acts: &[&[Act]]) -> Scripts {
    Scripts { each: [script(acts)].into(), default: Some(Script::keep_alive(9, 200, "ok")) }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_share_a_connection() {
    let peer = Peer::https2(Script::keep_alive(3, 200, "ok"), &CA);
    let (egress, target) = (HttpEgress::new(), http2(peer.origin()));
    for n in 0..3 {
        let method = ["GET", "POST", "GET"][n];
        let done = exchange(&egress, &target, method, (method == "POST").then(|| b"a=1".to_vec())).await;
        assert_eq!(done.attempts(), if n == 0 { NEW } else { KEPT });
        let evidence = &done.exchange.evidence;
        assert_eq!((evidence.version, evidence.reused), (HttpVersion::Http2, n > 0));
        assert_eq!(evidence.completion, Some(Completion::EndStream));
        assert!(done.peer.certificate.is_some());
    }
    assert_eq!(peer.accepted(), 1);
    let requests = peer.requests().remove(0);
    let streams: Vec<_> = requests.iter().map(|request| (request.stream, request.ended)).collect();
    assert_eq!(streams, [(1, true), (3, true), (5, true)]);
}

/// While nothing is asked, the peer may still ask whether anybody is there.
#[tokio::test(flavor = "multi_thread")]
async fn an_idle_connection_answers_ping() {
    let idle = [Act::Step, Act::Ping, Act::ReadFrame(Kind::Ping), Act::Signal];
    let peer = Peer::https2(first(&[&answered(), &idle, &answered(), &[Act::Hold]]), &CA);
    let (egress, target) = (HttpEgress::new(), http2(peer.origin()));
    assert_eq!(ask(&egress, &target).await.attempts(), NEW);
    peer.step();
    block_in_place(|| peer.wait_signals(1));
    assert_eq!(ask(&egress, &target).await.attempts(), KEPT);
    assert_eq!(peer.accepted(), 1);
}

/// What ends a connection while it is idle.
#[tokio::test(flavor = "multi_thread")]
async fn an_idle_connection_that_is_ended_is_not_used() {
    let away = |last_stream, code| Act::GoAway { last_stream, code };
    let cases: [(&str, Vec<Act>); 5] = [
        ("a graceful GOAWAY", vec![away(i32::MAX as u32, code::NO_ERROR), Act::Close]),
        ("a GOAWAY", vec![away(1, code::NO_ERROR), Act::Close]),
        ("a GOAWAY in anger", vec![away(1, code::ENHANCE_YOUR_CALM), Act::Close]),
        ("a FIN", vec![Act::Close]),
        ("an RST", vec![Act::ResetTcp]),
    ];
    for (what, idle) in cases {
        let peer = Peer::https2(first(&[&answered(), &[Act::Step], &idle]), &CA);
        let (egress, target) = (HttpEgress::new(), http2(peer.origin()));
        assert_eq!(ask(&egress, &target).await.attempts(), NEW, "{what}");
        peer.step();
        // The peer has seen this end of the connection too, by then.
        block_in_place(|| peer.wait_ended(1));
        let done = ask(&egress, &target).await;
        assert_eq!(done.attempts(), STALE, "{what}");
        assert_eq!(done.body(), Some(b"ok".as_slice()), "{what}");
        let requests: Vec<usize> = peer.requests().iter().map(Vec::len).collect();
        assert_eq!(requests, [1, 1], "{what}: nothing went out on the dead one");
    }
}

/// A GOAWAY alone, while TCP stays open: this side ends the connection.
#[tokio::test]
async fn a_goaway_alone_ends_an_idle_connection() {
    let idle = [
        Act::Step,
        Act::GoAway { last_stream: 1, code: code::NO_ERROR },
        Act::ReadFrame(Kind::GoAway),
        Act::Signal,
        Act::Hold,
    ];
    let peer = std::sync::Arc::new(Peer::https2(first(&[&answered(), &idle]), &CA));
    let (egress, target) = (HttpEgress::new(), http2(peer.origin()));
    assert_eq!(ask(&egress, &target).await.attempts(), NEW);
    peer.step();
    let waiting = std::sync::Arc::clone(&peer);
    tokio::task::spawn_blocking(move || waiting.wait_signals(1)).await.unwrap();
    // Its tasks run on this thread: each gets its turn before the next look.
    for _ in 0..16 {
        tokio::task::yield_now().await;
    }
    assert_eq!(ask(&egress, &target).await.attempts(), STALE);
    assert_eq!(peer.accepted(), 2);
}

/// ALPN chooses, where it was asked.
#[tokio::test(flavor = "multi_thread")]
async fn the_peer_chooses_the_protocol() {
    let check = async |alpn, http2, expected, protocol: Option<&str>| {
        let answers = (peer::Script::keep_alive(9, OK), Script::keep_alive(9, 200, "ok"));
        let peer = Peer::https_either(answers.0, answers.1, CA.server_offering(NAMES, alpn));
        let (egress, target) = (HttpEgress::new(), HttpTarget { http2, ..target(peer.origin()) });
        let done = ask(&egress, &target).await;
        assert_eq!(done.exchange.evidence.version, expected, "{alpn:?} {http2}");
        assert_eq!(done.body(), Some(b"ok".as_slice()), "{alpn:?} {http2}");
        assert_eq!(ask(&egress, &target).await.attempts(), KEPT, "{alpn:?} {http2}");
        let session = peer.sessions().remove(0).unwrap();
        assert_eq!(session.protocol.as_deref(), protocol, "{alpn:?} {http2}");
    };
    use HttpVersion::{Http2, Http11};
    check(Alpn::Either, true, Http2, Some("h2")).await;
    check(Alpn::Http2, true, Http2, Some("h2")).await;
    check(Alpn::Http1, true, Http11, Some("http/1.1")).await;
    check(Alpn::Ignored, true, Http11, None).await;
    check(Alpn::Either, false, Http11, Some("http/1.1")).await;
    check(Alpn::Ignored, false, Http11, None).await;
}
