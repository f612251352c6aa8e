//! The host's own hands: what is announced is carried out by them alone, at its time, and not after it was
//! taken back.

use crate::returning::killed_on_the_way;
use crate::{Leaping, OK, answered, lost, says, site_of, taken_on};
use proofport_broker::{Point, Probe, SystemClock};
use proofport_core::contract::{Outcome, RetryOwner};
use proofport_core::event::EventKind;
use proofport_core::id::RequestId;
use proofport_tests::peer::{Peer, Script};
use proofport_tests::rig::{Open, Rig, caller};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const RETRIES: &str = "[connections.c.retries]\nattempts = 3\nfirst_delay_millis = 1000\n";

/// A repeat that is announced for much later.
const LATER: &str = "[connections.c.retries]\nfirst_delay_millis = 3600000\nlongest_delay_millis = 3600000\ntotal_seconds = 86400\n";

/// Lets the host's hands work alone, until the peer has this many connections and nobody's move is the host's.
async fn alone(open: Open, peer: &Peer, id: RequestId, connections: usize) -> Open {
    let open = Arc::new(open);
    let hands = tokio::spawn({
        let open = Arc::clone(&open);
        async move { open.broker.look_after().await }
    });
    let done = async {
        while peer.accepted() < connections || open.result(&id).retry_owner() == RetryOwner::Host {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), done).await.expect("the hands are idle");
    open.broker.stop().await;
    hands.await.unwrap();
    Arc::into_inner(open).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn hands_alone_repeat_ask_and_look() {
    let cases = [
        ("keyed", RETRIES, vec![answered(OK)]),
        ("same", RETRIES, vec![answered(OK)]),
        // A repeat that is lost, too, leaves the next one announced.
        ("keyed", RETRIES, vec![lost(), answered(OK)]),
        ("once", "", vec![says("yes")]),
        ("once", "", vec![says("?"), says("?"), says("yes")]),
    ];
    for (operation, more, then) in cases {
        let connections = 1 + then.len();
        let (peer, _rig, open, id) = killed_on_the_way(operation, more, then).await;
        let open = alone(open, &peer, id, connections).await;
        assert!(open.result(&id).ok(), "{operation}: {:?}", open.result(&id));
        open.close();
    }
    let scripts = vec![taken_on(), says("pending"), says("done")];
    let (peer, rig, _) = site_of("inquires", scripts.into(), "[connections.c.following]\n").await;
    let open = rig.open().await;
    let id = open.call("submit", "{}").await.request_id().unwrap();
    let open = alone(open, &peer, id, 3).await;
    assert_eq!(peer.effects(), 1);
    open.close();
}

/// A call whose repeat is announced for in an hour, after a restart.
async fn announced(guest: &'static str, then: Vec<Script>) -> (Peer, Rig, Open, RequestId, Arc<Leaping>) {
    let scripts: Vec<Script> = [lost()].into_iter().chain(then).collect();
    let (peer, mut rig, leaping) = site_of(guest, scripts.into(), LATER).await;
    rig.clock = Arc::new(SystemClock);
    let open = Arc::new(rig.open().await);
    let calling = tokio::spawn({
        let open = Arc::clone(&open);
        async move { open.call("keyed", "{}").await }
    });
    tokio::task::block_in_place(|| peer.wait_effects(1));
    open.broker.stop().await;
    let id = calling.await.unwrap().request_id().unwrap();
    Arc::into_inner(open).unwrap().close();
    let open = rig.open().await;
    assert_eq!(open.result(&id).retry_owner(), RetryOwner::Host);
    (peer, rig, open, id, leaping)
}

/// Whoever has lost interest takes back what nobody is making yet. Asking what became of it changes nothing.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_announced_can_be_cancelled() {
    for (guest, owner) in [("promises", RetryOwner::Operator), ("inquires", RetryOwner::Host)] {
        let (peer, rig, open, id, _) = announced(guest, vec![answered(OK)]).await;
        let cancelled = open.broker.cancel(&id, &caller()).await.envelope;
        let got = (cancelled.outcome(), cancelled.retry_owner());
        assert_eq!(got, (Some(Outcome::Unknown), owner), "{guest}: {cancelled:?}");
        open.close();
        let open = rig.open().await;
        let writes = |peer: &Peer| peer.received().iter().filter(|r| r.starts_with(b"POST")).count();
        assert_eq!((open.result(&id).retry_owner(), writes(&peer)), (owner, 1), "{guest}");
        // It is nobody else's to cancel.
        let stranger = proofport_broker::Caller {
            principal: "x".to_owned(),
            session: "one".to_owned(),
            authority: proofport_broker::Authority::Operator,
        };
        assert!(open.broker.cancel(&id, &stranger).await.envelope.request_id().is_none());
        open.close();
    }
}

/// A host that stops keeps nobody waiting for what is announced for later, and begins nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_stops_leaves_it_announced() {
    let (peer, _rig, open, id, _) = announced("promises", vec![answered(OK)]).await;
    let open = Arc::new(open);
    let waiting = tokio::spawn({
        let open = Arc::clone(&open);
        async move { open.broker.wait(&id, &caller()).await.envelope }
    });
    tokio::task::yield_now().await;
    open.broker.stop().await;
    let envelope = waiting.await.unwrap();
    assert_eq!(envelope.retry_owner(), RetryOwner::Host, "{envelope:?}");
    assert_eq!(peer.accepted(), 1);
    // Also when it is due by now: a stopped host is asked in vain.
    assert!(open.broker.wait(&id, &caller()).await.envelope.outcome() == Some(Outcome::Unknown));
    Arc::into_inner(open).unwrap().close();
}

/// Law 13: a clock that was ahead once, and is set back, holds up nothing for longer than was announced.
#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_set_back_holds_up_nothing() {
    let check = async |operation: &str, more: &str, scripts: Vec<Script>| {
        let (peer, rig, clock) = site_of("inquires", scripts.into(), more).await;
        clock.set(7200);
        let open = rig.open().await;
        let id = open.call(operation, "{}").await.request_id().unwrap();
        clock.set(0);
        let envelope = open.broker.wait(&id, &caller()).await.envelope;
        assert!(envelope.ok(), "{operation}: {envelope:?}");
        assert!(clock.seconds() < 60, "{operation}: it waited for {} s", clock.seconds());
        assert_eq!(peer.accepted(), 4, "{operation}");
        open.close();
    };
    check("once", "", vec![lost(), says("?"), says("?"), says("yes")]).await;
    let job = vec![taken_on(), says("pending"), says("pending"), says("done")];
    check("submit", "[connections.c.following]\n", job).await;
}

/// A job is looked at where it was submitted, and nowhere else.
#[tokio::test(flavor = "multi_thread")]
async fn a_job_of_another_binding_is_looked_at_no_more() {
    let following = "[connections.c.following]\n";
    let (peer, rig, _) = site_of("inquires", vec![taken_on(), says("done")].into(), following).await;
    let open = rig.open().await;
    let id = open.call("submit", "{}").await.request_id().unwrap();
    open.close();
    let toml = std::fs::read_to_string(rig.home().join("proofport.toml")).unwrap();
    let changed = toml.replacen("\"]\naddresses", "\", \"https://api.example.com\"]\naddresses", 1);
    assert_ne!(toml, changed);
    std::fs::write(rig.home().join("proofport.toml"), changed).unwrap();
    let open = rig.open().await;
    let refused = open.broker.follow(&id, &caller()).await.err();
    assert!(matches!(refused, Some(proofport_broker::FollowError::BindingChanged)), "{refused:?}");
    assert!(open.broker.wait(&id, &caller()).await.envelope.ok(), "the submission stays what it was");
    assert_eq!(peer.accepted(), 1);
    open.close();
}

/// Pauses the host, as far as its clock is concerned, right after the commit that permits the dispatch.
struct Pauses {
    clock: Arc<Leaping>,
    seconds: u64,
    done: AtomicBool,
}

impl Probe for Pauses {
    fn at(&self, point: Point) {
        if point == Point::AfterCommit(EventKind::DispatchStarted) && !self.done.swap(true, Ordering::SeqCst)
        {
            self.clock.set(self.seconds);
        }
    }
}

/// Case 21: whoever was paused until its lease was over is stopped before its first byte.
#[tokio::test(flavor = "multi_thread")]
async fn a_paused_holder_is_stopped_before_its_first_byte() {
    let check = async |operation: &str, more: &str, seconds: u64, sent: usize, then: Option<Outcome>| {
        let scripts = vec![answered(OK), answered(OK)];
        let (peer, mut rig, clock) = site_of("promises", scripts.into(), more).await;
        rig.probe = Arc::new(Pauses { clock, seconds, done: AtomicBool::new(false) });
        let open = rig.open().await;
        let envelope = open.call(operation, "{}").await;
        assert_eq!(envelope.outcome(), then, "{operation} {seconds}: {envelope:?}");
        let received = peer.received().iter().filter(|request| !request.is_empty()).count();
        assert_eq!((received, peer.effects()), (sent, sent), "{operation} {seconds}");
        open.close();
    };
    // A lease is as long as the exchange and its setup may take.
    check("act", "", 1, 1, Some(Outcome::Committed)).await;
    check("act", "", 7200, 0, Some(Outcome::Unknown)).await;
    check("keyed", "", 7200, 0, Some(Outcome::Unknown)).await;
    // What the contract and the budget permit goes on with a lease of its own.
    let long = "[connections.c.retries]\ntotal_seconds = 80000\n";
    check("keyed", long, 7200, 1, Some(Outcome::Committed)).await;
    // By then the remote may have forgotten the key.
    check("keyed", long, 90_000, 0, Some(Outcome::Unknown)).await;
}
