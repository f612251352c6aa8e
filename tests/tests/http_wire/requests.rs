//! What leaves, and what is said of a request that did not leave whole.

use crate::{CA, Call, EGRESS, exchange, header, outgoing, target};
use proofport_core::evidence::{Cause, Completion};
use proofport_core::secret::Secret;
use proofport_egress::{Injection, Watch, WirePoint};
use proofport_tests::peer::{Act, Peer, Script};
use std::sync::{Arc, Mutex};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

#[tokio::test]
async fn the_request_is_exactly_this() {
    let call = Call {
        path: "/v1/charges?expand=a%20b",
        headers: vec![header("content-type", "application/x-www-form-urlencoded")],
        extra: vec![header("idempotency-key", "k-1")],
        injection: Some(Injection::Bearer(Secret::new(b"canary-canary".to_vec()))),
        ..Call::default()
    };
    let peer = Peer::http(Script::answer(OK));
    let exchange = exchange(&peer, &call).await;
    let expected = format!(
        "POST /v1/charges?expand=a%20b HTTP/1.1\r\n\
         host: 127.0.0.1:{}\r\n\
         content-type: application/x-www-form-urlencoded\r\n\
         accept-encoding: identity\r\n\
         user-agent: proofport/{}\r\n\
         content-length: 10\r\n\
         idempotency-key: k-1\r\n\
         authorization: Bearer canary-canary\r\n\
         \r\n\
         amount=100",
        peer.port(),
        env!("CARGO_PKG_VERSION"),
    );
    peer.wait_ended(1);
    assert_eq!(String::from_utf8(peer.received().remove(0)).unwrap(), expected);
    assert_eq!(exchange.evidence.bytes_offered, expected.len() as u64);
    assert_eq!(exchange.evidence.bytes_read, OK.len() as u64);
    assert!(exchange.evidence.request_complete && exchange.evidence.from_origin);
    assert!(exchange.diagnostic.started_at <= exchange.diagnostic.ended_at);
}

/// The peer goes away after every number of request bytes: none of it proves anything.
#[tokio::test]
async fn a_peer_that_leaves_early_proves_nothing() {
    let call = Call { body: Some(b"a".repeat(20)), ..Call::default() };
    let whole = Peer::http(Script::answer(OK));
    let length = usize::try_from(exchange(&whole, &call).await.evidence.bytes_offered).unwrap();
    for (end, tls) in [(Act::Close, false), (Act::Reset, false), (Act::Leave, false), (Act::Leave, true)] {
        let script = |read: usize| Script(vec![Act::Read(read), end.clone()]);
        // Over TLS nothing can be sent before the handshake, which reading makes.
        let from = usize::from(tls);
        let scripts: Vec<Script> = (from..=length).map(script).collect();
        let peer = if tls { Peer::https(scripts, &CA) } else { Peer::http(scripts) };
        for read in from..=length {
            let setup = EGRESS.connect(&target(peer.origin()), 1).await;
            let Ok(ready) = setup.result else {
                // Gone before anything could be dispatched.
                assert_eq!(read, 0);
                continue;
            };
            let loaded = ready.load(outgoing(peer.origin(), &call)).unwrap();
            let seen = loaded.exchange(&call.options, Arc::new(()), None).await.evidence;
            let what = format!("{end:?}, tls {tls}, after {read} of {length}: {seen:?}");
            assert_eq!((seen.status, seen.completion, seen.bytes_read), (None, None, 0), "{what}");
            let cause = seen.cause.unwrap();
            assert!([Cause::ConnectionClosed, Cause::ConnectionReset].contains(&cause), "{what}");
            assert!(seen.bytes_offered >= read as u64, "{what}");
            if read == length {
                assert!(seen.request_complete, "{what}");
            }
        }
        assert_eq!(peer.accepted(), length + 1 - from, "nothing was sent twice");
    }
}

#[tokio::test]
async fn a_reset_after_the_whole_request_is_seen_as_one() {
    for _ in 0..20 {
        let script = Script(vec![Act::ReadRequest, Act::Effect, Act::Reset]);
        for peer in [Peer::http(script.clone()), Peer::https(script, &CA)] {
            let evidence = exchange(&peer, &Call::default()).await.evidence;
            assert_eq!(evidence.cause, Some(Cause::ConnectionReset));
            assert!(evidence.request_complete);
            assert_eq!((peer.effects(), peer.accepted()), (1, 1));
        }
    }
}

/// The peer speaks before it was spoken to. Whatever that answers, it is not this request.
#[tokio::test]
async fn an_answer_to_nothing_is_no_answer() {
    let peer = Peer::http(vec![Act::Send(OK.to_vec()), Act::Effect, Act::ReadRequest]);
    let ready = EGRESS.connect(&target(peer.origin()), 1).await.result.unwrap();
    peer.wait_effects(1);
    let loaded = ready.load(outgoing(peer.origin(), &Call::default())).unwrap();
    let evidence = loaded.exchange(&Call::default().options, Arc::new(()), None).await.evidence;
    // hyper may or may not have seen it before the request left; both are no proof of a refusal.
    assert!(evidence.completion.is_none() || evidence.request_complete, "{evidence:?}");
}

struct Points(Mutex<Vec<WirePoint>>);

impl Watch for Points {
    fn at(&self, point: WirePoint) {
        self.0.lock().unwrap().push(point);
    }
}

async fn points(script: Script) -> Vec<WirePoint> {
    let points = Arc::new(Points(Mutex::default()));
    let call = Call { watch: Arc::<Points>::clone(&points), ..Call::default() };
    exchange(&Peer::https(script, &CA), &call).await;
    let points = points.0.lock().unwrap();
    points.clone()
}

#[tokio::test]
async fn the_watch_is_told_once_and_in_order() {
    assert_eq!(points(Script::answer(OK)).await, WirePoint::ALL);
    assert_eq!(points(Script::answer(&OK[..20])).await, WirePoint::ALL[..3]);
    assert_eq!(points(Script(vec![Act::ReadRequest, Act::Reset])).await, WirePoint::ALL[..2]);
}

#[tokio::test]
async fn a_large_request_and_a_large_response_pass() {
    let body = vec![b'z'; 3 << 20];
    let mut answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len()).into_bytes();
    answer.extend_from_slice(&body);
    for peer in [Peer::http(Script::answer(answer.clone())), Peer::https(Script::answer(answer), &CA)] {
        let mut call = Call { body: Some(body.clone()), ..Call::default() };
        call.options.max_response_bytes = body.len();
        let exchange = exchange(&peer, &call).await;
        assert_eq!(exchange.evidence.completion, Some(Completion::ContentLength));
        assert!(exchange.evidence.request_complete);
        assert_eq!(exchange.response.unwrap().body, body);
        assert!(peer.received().remove(0).ends_with(&body));
    }
}

/// The peer of a resumed session is the one that its first handshake verified.
#[tokio::test]
async fn a_resumed_session_binds_its_peer() {
    let peer = Peer::https(Script::answer(OK), &CA);
    let mut seen = Vec::new();
    for _ in 0..3 {
        let ready = EGRESS.connect(&target(peer.origin()), 1).await.result.unwrap();
        seen.push(ready.peer().clone());
        let call = Call::default();
        let loaded = ready.load(outgoing(peer.origin(), &call)).unwrap();
        assert!(loaded.exchange(&call.options, Arc::clone(&call.watch), None).await.response.is_some());
    }
    assert_eq!((peer.effects(), peer.resumed()), (3, 2));
    assert!(seen.iter().all(|peer| peer.certificate.is_some() && *peer == seen[0]));
}

#[tokio::test]
async fn a_request_goes_to_its_own_origin_only() {
    let (first, second) = (Peer::http(Script::answer(OK)), Peer::http(Script::answer(OK)));
    let call = Call::default();
    let ready = EGRESS.connect(&target(first.origin()), 1).await.result.unwrap();
    assert!(ready.load(outgoing(second.origin(), &call)).is_err());
    first.wait_ended(1);
    assert_eq!(first.received(), [b""]);
    assert_eq!(second.accepted(), 0);
}
