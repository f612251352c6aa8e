//! What was announced outlives the host that announced it.

use crate::{Leaping, OK, answered, assert_same_bytes, lost, says, site_of};
use proofport_broker::{Clock, SystemClock};
use proofport_core::code::Code;
use proofport_core::contract::{Outcome, Retry, RetryOwner};
use proofport_core::event::{Event, EventKind};
use proofport_core::id::RequestId;
use proofport_tests::peer::{Act, Peer, Script, Scripts};
use proofport_tests::rig::{self, Open, Rig, caller};
use std::sync::Arc;

const RETRIES: &str = "[connections.c.retries]\nattempts = 3\nfirst_delay_millis = 1000\n";

/// A home whose host died while the effect of this operation was on its way, and what it left.
pub(crate) async fn killed_on_the_way(
    operation: &str,
    more: &str,
    then: Vec<Script>,
) -> (Peer, Rig, Open, RequestId) {
    killed_at(None, operation, more, then).await
}

/// The same by this clock; none: by one that leaps.
async fn killed_at(
    clock: Option<Arc<dyn Clock>>,
    operation: &str,
    more: &str,
    then: Vec<Script>,
) -> (Peer, Rig, Open, RequestId) {
    let silent = Script(vec![Act::ReadRequest, Act::Effect, Act::Signal, Act::Hold, Act::Close]);
    let before = (operation == "prepared").then(|| says("ok"));
    let each: Vec<Script> = before.into_iter().chain([silent]).chain(then).collect();
    let scripts = Scripts { each: each.into(), default: None };
    let (peer, mut rig, leaping) = site_of("inquires", scripts, more).await;
    rig.clock = clock.unwrap_or(leaping);
    let open = Arc::new(rig.open().await);
    let calling = tokio::spawn({
        let (open, operation) = (Arc::clone(&open), operation.to_owned());
        async move { open.call(&operation, "{}").await }
    });
    tokio::task::block_in_place(|| peer.wait_signals(1));
    let copy = rig.as_if_killed();
    // The one that was killed goes no further.
    open.broker.cancel_all();
    let successor = rig::open(&copy, Arc::clone(&rig.clock), Arc::clone(&rig.probe)).await;
    peer.release();
    let _ = calling.await.unwrap();
    let [id] = successor.broker.journal().invocations(2).unwrap()[..] else { panic!("not one invocation") };
    (peer, rig, successor, id)
}

/// Nothing is sent merely because the host came back; what it then does by itself is announced.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_comes_back_announces_and_then_carries_out() {
    let check = async |operation: &str, more: &str, then: Vec<Script>, retry: Retry, writes: usize| {
        let (peer, _rig, open, id) = killed_on_the_way(operation, more, then).await;
        let before = peer.accepted();
        let found = open.result(&id);
        let said = (found.outcome(), found.retry(), found.retry_owner());
        assert_eq!(said, (Some(Outcome::Unknown), retry, RetryOwner::Host), "{operation}: {found:?}");
        let envelope = open.broker.wait(&id, &caller()).await.envelope;
        assert!(envelope.ok(), "{operation}: {envelope:?}");
        assert_eq!(peer.accepted(), before + 1, "{operation}");
        let received: Vec<_> = peer.received().into_iter().filter(|r| r.starts_with(b"POST")).collect();
        assert_eq!(received.len(), writes, "{operation}");
        assert!(received.iter().all(|request| *request == received[0]), "{operation}: other bytes");
        open.close();
    };
    check("same", RETRIES, vec![answered(OK)], Retry::Backoff, 2).await;
    check("keyed", RETRIES, vec![answered(OK)], Retry::SameIdempotencyKey, 2).await;
    check("once", RETRIES, vec![says("yes")], Retry::Reconcile, 1).await;
    check("keyed", "", vec![says("yes")], Retry::Reconcile, 1).await;
    // What was learnt before the effect is gone with the host, so that only a question is left.
    check("prepared", RETRIES, vec![says("yes")], Retry::Reconcile, 1).await;
}

/// An announced repeat waits for its time in the journal, not in the caller's call.
#[tokio::test(flavor = "multi_thread")]
async fn an_announced_repeat_is_made_by_the_next_host_at_its_time() {
    let retries = "[connections.c.retries]\nfirst_delay_millis = 3600000\nlongest_delay_millis = 3600000\ntotal_seconds = 86400\n";
    let (peer, mut rig, leaping) = site_of("inquires", vec![lost(), answered(OK)].into(), retries).await;
    let real: Arc<dyn Clock> = Arc::new(SystemClock);
    rig.clock = real;
    let open = Arc::new(rig.open().await);
    let calling = tokio::spawn({
        let open = Arc::clone(&open);
        async move { open.call("keyed", "{}").await }
    });
    tokio::task::block_in_place(|| peer.wait_effects(1));
    open.broker.stop().await;
    let id = calling.await.unwrap().request_id().unwrap();
    Arc::into_inner(open).unwrap().close();
    rig.clock = Arc::<Leaping>::clone(&leaping);
    let open = rig.open().await;
    let found = open.result(&id);
    assert_eq!((found.retry_owner(), peer.accepted()), (RetryOwner::Host, 1), "{found:?}");
    assert!(open.broker.wait(&id, &caller()).await.envelope.ok());
    assert_eq!(peer.accepted(), 2);
    assert_same_bytes(&peer, "after a restart");
    open.close();
}

/// A connection that is not what the effect was bound to gets no repeat of it, and the record says so.
#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_under_another_binding_is_taken_back() {
    let (peer, rig, open, id) = killed_on_the_way("same", RETRIES, vec![answered(OK)]).await;
    drop(open);
    let home = rig.dir.path().join("copy");
    let toml = std::fs::read_to_string(home.join("proofport.toml")).unwrap();
    std::fs::write(
        home.join("proofport.toml"),
        toml.replacen("addresses", "repeat = \"none\"\naddresses", 1).replace(RETRIES, ""),
    )
    .unwrap();
    let open = rig::open(&home, Arc::clone(&rig.clock), Arc::clone(&rig.probe)).await;
    let envelope = open.broker.wait(&id, &caller()).await.envelope;
    // The questions that come instead get no answer: the peer resets.
    assert_eq!(envelope.outcome(), Some(Outcome::Unknown), "{envelope:?}");
    assert_eq!(envelope.retry_owner(), RetryOwner::Operator, "{envelope:?}");
    let timeline = open.broker.timeline(&id).unwrap();
    let taken_back = timeline.iter().any(|recorded| {
        matches!(&recorded.event, Event::AttemptEnded(end) if end.code == Some(Code::FingerprintMismatch))
    });
    assert!(taken_back);
    assert_eq!(peer.received().iter().filter(|request| request.starts_with(b"POST")).count(), 1);
    open.close();
}

/// Several of the host's own hands, an operator and a waiting caller: each move is made once.
#[tokio::test(flavor = "multi_thread")]
async fn many_hands_make_each_move_once() {
    // By a real clock: one that leaps would spend the budget while they stand in each other's way.
    let soon = "[connections.c.retries]\nattempts = 3\nfirst_delay_millis = 10\n";
    for _ in 0..4 {
        let then = vec![lost(), answered(OK), answered(OK), answered(OK)];
        let real: Arc<dyn Clock> = Arc::new(SystemClock);
        let (peer, _rig, open, id) = killed_at(Some(real), "keyed", soon, then).await;
        let open = Arc::new(open);
        let hands: Vec<_> = (0..3)
            .map(|_| {
                let open = Arc::clone(&open);
                tokio::spawn(async move { open.broker.look_after().await })
            })
            .collect();
        let operators: Vec<_> = (0..3)
            .map(|_| {
                let open = Arc::clone(&open);
                tokio::spawn(async move { open.broker.retry(&id).await.is_ok() })
            })
            .collect();
        let waiting: Vec<_> = (0..3)
            .map(|_| {
                let open = Arc::clone(&open);
                tokio::spawn(async move { open.broker.wait(&id, &caller()).await.envelope.ok() })
            })
            .collect();
        for waited in waiting {
            assert!(waited.await.unwrap());
        }
        for operator in operators {
            let _ = operator.await.unwrap();
        }
        open.broker.stop().await;
        for hand in hands {
            hand.await.unwrap();
        }
        // The first, the one that was lost, and the one that was answered.
        let timeline = open.broker.timeline(&id).unwrap();
        let sent = timeline.iter().filter(|r| r.event.kind() == EventKind::DispatchStarted).count();
        assert_eq!((peer.accepted(), sent), (3, 3));
        Arc::into_inner(open).unwrap().close();
    }
}
