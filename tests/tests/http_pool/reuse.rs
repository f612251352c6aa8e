//! A kept connection is used again, and is looked at before.

use crate::{CA, KEPT, NEW, OK, STALE, ask, exchange, first, outgoing, seen, target};
use proofport_core::contract::Stage;
use proofport_core::evidence::{Cause, Completion};
use proofport_egress::{HttpEgress, HttpTarget};
use proofport_tests::peer::{Act, Peer, Script, Scripts};
use tokio::task::block_in_place;

fn peer(tls: bool, scripts: impl Into<Scripts>) -> Peer {
    if tls { Peer::https(scripts, &CA) } else { Peer::http(scripts) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_connection_is_used_again() {
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
    let empty = "HTTP/1.1 204 No Content\r\n\r\n";
    let failed = "HTTP/1.1 500 Internal Server Error\r\ncontent-length: 2\r\n\r\nno";
    for answer in [OK, chunked, empty, failed] {
        for tls in [false, true] {
            let peer = peer(tls, Script::keep_alive(3, answer));
            let (egress, target) = (HttpEgress::new(), target(peer.origin()));
            let one = ask(&egress, &target).await;
            let two = exchange(&egress, &target, "POST", Some(b"a=1".to_vec())).await;
            let three = ask(&egress, &target).await;
            let attempts = [one.attempts(), two.attempts(), three.attempts()];
            assert_eq!(attempts, [NEW.to_vec(), KEPT.to_vec(), KEPT.to_vec()], "{answer} {tls}");
            for done in [&one, &two, &three] {
                assert!(done.exchange.evidence.completion.is_some(), "{answer} {tls}");
                assert_eq!(done.peer, one.peer, "the peer of a kept connection is on record too");
            }
            assert_eq!(peer.accepted(), 1, "{answer} {tls}");
            let received = String::from_utf8(peer.received().remove(0)).unwrap();
            assert_eq!(received.matches("HTTP/1.1\r\n").count(), 3, "each went out once: {received}");
        }
    }
}

/// A connection that was asked for anew is a new one, and may be kept itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_fresh_connection_is_not_a_kept_one() {
    let peer = peer(false, Script::keep_alive(9, OK));
    let (egress, kept) = (HttpEgress::new(), target(peer.origin()));
    let fresh = HttpTarget { fresh: true, ..kept.clone() };
    assert_eq!(ask(&egress, &kept).await.attempts(), NEW);
    assert_eq!(ask(&egress, &fresh).await.attempts(), NEW);
    assert_eq!(ask(&egress, &kept).await.attempts(), KEPT);
    assert_eq!(peer.accepted(), 2);
}

/// Case 3: what the peer does while the connection is idle is seen before the next request.
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_died_while_idle_is_not_used() {
    let cases: [(&str, Vec<Act>, bool); 7] = [
        ("FIN", vec![Act::Fin, Act::Signal, Act::Hold], false),
        ("close_notify and FIN", vec![Act::Fin, Act::Signal, Act::Hold], true),
        ("RST", vec![Act::Reset], false),
        ("RST", vec![Act::Reset], true),
        ("a byte", vec![Act::Send(b"H".to_vec()), Act::Signal, Act::Hold], false),
        ("a byte", vec![Act::Send(b"H".to_vec()), Act::Signal, Act::Hold], true),
        ("an answer", vec![Act::Send(OK.into()), Act::Signal, Act::Hold], false),
    ];
    for (what, idle, tls) in cases {
        let resets = idle == [Act::Reset];
        let opening = [Act::ReadRequest, Act::Send(OK.into()), Act::Step];
        let peer = peer(tls, first(opening.into_iter().chain(idle).collect()));
        let (egress, target) = (HttpEgress::new(), target(peer.origin()));
        assert_eq!(ask(&egress, &target).await.attempts(), NEW, "{what}");
        peer.step();
        block_in_place(|| if resets { peer.wait_ended(1) } else { peer.wait_signals(1) });
        let done = exchange(&egress, &target, "POST", Some(b"a=1".to_vec())).await;
        assert_eq!(done.attempts(), STALE, "{what}");
        assert_eq!(done.body(), Some(b"ok".as_slice()), "{what}");
        assert_eq!((peer.accepted(), peer.effects()), (2, 1), "{what}");
        assert!(!peer.received()[0].starts_with(b"POST"), "{what}: nothing went out on the dead one");
    }
}

/// The last look, when the request is loaded already.
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_dies_under_a_loaded_request_is_found() {
    let scripts =
        first(vec![Act::ReadRequest, Act::Send(OK.into()), Act::Step, Act::Fin, Act::Signal, Act::Hold]);
    let peer = peer(false, scripts);
    let (egress, target) = (HttpEgress::new(), target(peer.origin()));
    let done = ask(&egress, &target).await;
    assert_eq!(done.exchange.evidence.completion, Some(Completion::ContentLength));
    let setup = egress.connect(&target, 1).await;
    assert_eq!(seen(&setup.attempts), KEPT);
    let loaded = setup.result.unwrap().load(outgoing(peer.origin(), "POST", None)).unwrap();
    assert!(loaded.found_dead(2).is_none());
    peer.step();
    block_in_place(|| peer.wait_signals(1));
    let found = loaded.found_dead(2).unwrap();
    assert_eq!(seen(&[found]), [(2, Stage::Pool, Some(Cause::ConnectionStale), true)]);

    // The same of a new one.
    let peer = self::peer(false, vec![Act::Step, Act::Fin, Act::Signal, Act::Hold]);
    let target = crate::target(peer.origin());
    let setup = egress.connect(&target, 1).await;
    let loaded = setup.result.unwrap().load(outgoing(peer.origin(), "POST", None)).unwrap();
    peer.step();
    block_in_place(|| peer.wait_signals(1));
    let found = loaded.found_dead(2).unwrap();
    assert_eq!(seen(&[found]), [(2, Stage::HttpHandshake, Some(Cause::ConnectionStale), false)]);
    drop(loaded);
    peer.release();
    block_in_place(|| peer.wait_ended(1));
    assert_eq!(peer.received(), [b""]);
}
