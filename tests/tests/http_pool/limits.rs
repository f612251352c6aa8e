//! How many connections there are, and for how long.

use crate::{KEPT, NEW, OK, ask, options, outgoing, seen, target};
use proofport_core::contract::Stage;
use proofport_core::evidence::Cause;
use proofport_egress::{HttpEgress, HttpTarget, PoolLimits};
use proofport_tests::peer::{Act, Peer, Script, Scripts};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::block_in_place;

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_is_kept_for_as_long_as_it_may_be_idle() {
    let cases = [(Duration::ZERO, false), (Duration::from_nanos(1), false), (Duration::from_secs(600), true)];
    for (idle, kept) in cases {
        let peer = Peer::http(Script::keep_alive(9, OK));
        let egress = HttpEgress::new();
        let target = HttpTarget { pool: PoolLimits { per_origin: 8, idle }, ..target(peer.origin()) };
        assert_eq!(ask(&egress, &target).await.attempts(), NEW, "{idle:?}");
        let again = ask(&egress, &target).await.attempts();
        assert_eq!(again, if kept { KEPT } else { NEW }, "{idle:?}");
        assert_eq!(peer.accepted(), if kept { 1 } else { 2 }, "{idle:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_connections_are_open_than_may_be() {
    for most in [1, 3] {
        let hold =
            [Act::ReadRequest, Act::Hold, Act::Send(OK.into()), Act::ReadRequest, Act::Send(OK.into())];
        let peer = Peer::http(Script(hold.to_vec()));
        let egress = Arc::new(HttpEgress::new());
        let pool = PoolLimits { per_origin: most, idle: Duration::from_secs(600) };
        let target = HttpTarget { pool, ..target(peer.origin()) };
        let busy: Vec<_> = (0..most)
            .map(|_| {
                let (egress, target) = (Arc::clone(&egress), target.clone());
                tokio::spawn(async move { ask(&egress, &target).await })
            })
            .collect();
        block_in_place(|| peer.wait_requests(most));

        // One more gives up when its patience ends, with a record of it and nothing on the wire.
        let mut hasty = target.clone();
        hasty.deadlines.pool = Duration::from_millis(1);
        let setup = egress.connect(&hasty, 4).await;
        assert_eq!(seen(&setup.attempts), [(4, Stage::Pool, Some(Cause::PoolExhausted), false)]);
        assert_eq!(setup.result.err().unwrap().cause, Cause::PoolExhausted);
        // Another origin is another matter.
        let other = Peer::http(Script::keep_alive(9, OK));
        let elsewhere = HttpTarget { origin: other.origin(), ..hasty.clone() };
        assert_eq!(ask(&egress, &elsewhere).await.attempts(), NEW);
        // Who waits gets a connection that becomes free.
        let mut waiting = pin!(egress.connect(&target, 1));
        assert!(tokio::time::timeout(Duration::ZERO, &mut waiting).await.is_err(), "{most}");
        assert_eq!(peer.accepted(), most);
        peer.release();
        let setup = waiting.await;
        assert_eq!(seen(&setup.attempts), KEPT);
        let loaded = setup.result.unwrap().load(outgoing(peer.origin(), "GET", None)).unwrap();
        let exchange = loaded.exchange(&options(), Arc::new(()), None).await;
        assert!(exchange.evidence.completion.is_some());
        for busy in busy {
            assert_eq!(busy.await.unwrap().attempts(), NEW);
        }
        assert_eq!(peer.accepted(), most);
    }
}

/// A slot comes back however its connection ends.
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_ends_makes_room() {
    let scripts = Scripts {
        each: [Script(vec![Act::ReadRequest, Act::Reset]), Script(vec![Act::Hold])].into(),
        default: Some(Script::keep_alive(9, OK)),
    };
    let peer = Peer::http(scripts);
    let egress = HttpEgress::new();
    let pool = PoolLimits { per_origin: 1, idle: Duration::from_secs(600) };
    let target = HttpTarget { pool, ..target(peer.origin()) };
    // Reset in an exchange; let go of with a request on it; let go of before.
    assert!(ask(&egress, &target).await.exchange.response.is_none());
    let ready = egress.connect(&target, 1).await.result.unwrap();
    drop(ready.load(outgoing(peer.origin(), "GET", None)).unwrap());
    drop(egress.connect(&target, 1).await.result.unwrap());
    assert_eq!(ask(&egress, &target).await.attempts(), NEW);
    assert_eq!(ask(&egress, &target).await.attempts(), KEPT);
    assert_eq!(peer.accepted(), 4);
}
