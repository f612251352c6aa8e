//! Nobody waits any more: what ends then, and what goes on.

use crate::{CA, OK, Site, record, says};
use proofport_broker::{Authority, Caller};
use proofport_core::code::Code;
use proofport_core::contract::{Action, Outcome, Phase};
use proofport_core::evidence::Cause;
use proofport_core::id::RequestId;
use proofport_core::origin::Origin;
use proofport_tests::peer::{Act, Peer, Script, Scripts};
use proofport_tests::rig::{self, Open, Rig, caller};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::{JoinHandle, block_in_place};

/// A peer whose first connection reads, applies the effect, and answers only when it is released.
fn holding() -> Peer {
    let held = Script(vec![Act::ReadRequest, Act::Effect, Act::Hold, Act::Send(OK.into()), Act::Close]);
    Peer::http(Scripts { each: [held].into(), default: Some(Script::answer(OK)) })
}

async fn open(peer: &Peer) -> (Rig, Arc<Open>) {
    let rig = Site::of(peer.origin()).make().await;
    let open = Arc::new(rig.open().await);
    (rig, open)
}

fn call(open: &Arc<Open>, operation: &'static str) -> JoinHandle<proofport_core::envelope::Envelope> {
    let open = Arc::clone(open);
    tokio::spawn(async move { open.call(operation, "{}").await })
}

/// The only invocation on record.
fn only(open: &Open) -> RequestId {
    let all = open.broker.journal().invocations(2).unwrap();
    assert_eq!(all.len(), 1);
    all[0]
}

#[tokio::test(flavor = "multi_thread")]
async fn before_the_dispatch_nothing_of_the_effect_leaves() {
    // In a query before the effect; in the handshake of the effect's connection.
    let query = Peer::http(Script(vec![Act::ReadRequest, Act::Signal, Act::Hold]));
    let handshake = Peer::http(Script(vec![Act::Read(5), Act::Signal, Act::Hold]));
    let mute = Origin::parse(&format!("https://127.0.0.1:{}", handshake.port())).unwrap();
    for (what, peer, origin, operation) in
        [("query", &query, query.origin(), "prepared"), ("handshake", &handshake, mute, "act")]
    {
        let rig = Site::of(origin).make().await;
        let open = Arc::new(rig.open().await);
        let called = call(&open, operation);
        block_in_place(|| peer.wait_signals(1));
        open.broker.cancel_all();
        let envelope = called.await.unwrap();
        let got = (envelope.code(), envelope.outcome());
        assert_eq!(got, (Some(Code::CallerCancelled), Some(Outcome::NotAttempted)), "{what}: {envelope:?}");
        let state = record(&open, &envelope);
        assert!(state.cancel_requested && state.attempts.is_empty(), "{what}: {state:?}");
        // What was seen on the way stays on record, and the phase is the last boundary's.
        let seen: Vec<_> = state.queries.iter().map(|query| query.evidence.cause()).collect();
        let (phase, queries) = match operation {
            "prepared" => (Phase::RemoteExecution, vec![Some(Cause::Cancelled)]),
            _ => (Phase::ConnectionSetup, vec![]),
        };
        assert_eq!((envelope.phase(), seen), (Some(phase), queries.clone()), "{what}: {envelope:?}");
        assert_eq!(state.setup.len(), queries.len(), "{what}: {state:?}");
        assert_eq!((peer.accepted(), peer.effects()), (1, 0), "{what}");
        let received = String::from_utf8_lossy(&peer.received()[0]).into_owned();
        assert!(!received.contains("POST") && !received.contains("amount"), "{what}: {received}");
        // It is over: the same is answered to whoever asks again, and to a second cancellation.
        let id = envelope.request_id().unwrap();
        let again = open.broker.cancel(&id, &caller()).await.envelope;
        assert_eq!((again.code(), again.outcome()), got, "{what}");
        // What was never sent may be tried anew.
        peer.release();
    }
}

/// A read whose query is out has been received, perhaps. It goes on to its own end, like an effect.
#[tokio::test(flavor = "multi_thread")]
async fn a_read_that_is_out_goes_on() {
    let answered = Script(vec![Act::ReadRequest, Act::Signal, Act::Hold, Act::Send(OK.into()), Act::Close]);
    let lost = Script(vec![Act::ReadRequest, Act::Signal, Act::Hold, Act::Reset]);
    for (script, outcome) in [(answered, Outcome::Committed), (lost, Outcome::Unknown)] {
        let peer = Peer::http(script);
        let (_rig, open) = open(&peer).await;
        let called = call(&open, "look");
        block_in_place(|| peer.wait_signals(1));
        open.broker.cancel_all();
        peer.release();
        let envelope = called.await.unwrap();
        assert_eq!(envelope.outcome(), Some(outcome), "{envelope:?}");
        let state = record(&open, &envelope);
        assert!(state.cancel_requested && state.queries.len() == 1, "{state:?}");
        assert_eq!(peer.accepted(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_dispatch_the_answer_still_settles() {
    let peer = holding();
    let (rig, open) = open(&peer).await;
    let called = call(&open, "act");
    block_in_place(|| peer.wait_effects(1));
    let id = only(&open);

    // Another's invocation is as unknown as none, and nothing is cancelled by asking.
    let other = Caller {
        principal: "somebody else".to_owned(),
        session: "one".to_owned(),
        authority: Authority::Operator,
    };
    let refused = open.broker.cancel(&id, &other).await.envelope;
    assert_eq!((refused.code(), refused.request_id()), (Some(Code::NoSuchInvocation), None));
    let none = RequestId::from_random([7; 16]);
    assert_eq!(open.broker.cancel(&none, &caller()).await.envelope.code(), Some(Code::NoSuchInvocation));
    let state = open.broker.diagnostic(&id).unwrap().unwrap().state().clone();
    assert!(!state.cancel_requested);

    let cancelled = open.broker.cancel(&id, &caller()).await.envelope;
    assert_eq!(cancelled.code(), Some(Code::CallerCancelled), "{cancelled:?}");
    assert_eq!(cancelled.outcome(), Some(Outcome::Unknown));
    assert_eq!(cancelled.action(), Some(Action::InspectOutcome));
    assert_eq!(cancelled.request_id(), Some(id));
    // Losing interest twice is losing it once.
    let twice = open.broker.cancel(&id, &caller()).await.envelope;
    assert_eq!((twice.code(), twice.outcome()), (cancelled.code(), cancelled.outcome()));
    // A successor of this host, were it killed here, knows no more and sends nothing.
    let successor = rig::open(&rig.as_if_killed(), Arc::clone(&rig.clock), Arc::clone(&rig.probe)).await;
    let restarted = successor.result(&id);
    assert_eq!((restarted.code(), restarted.outcome()), (Some(Code::OutcomeUnknown), Some(Outcome::Unknown)));
    assert!(record(&successor, &restarted).cancel_requested);
    // Calling again meets it, and sends nothing.
    let met = successor.call("act", "{}").await;
    assert_eq!((met.request_id(), met.repeated(), met.outcome()), (Some(id), true, Some(Outcome::Unknown)));
    successor.close();
    assert_eq!((peer.accepted(), peer.effects()), (1, 1));

    peer.release();
    let late = called.await.unwrap();
    assert!(late.ok(), "{late:?}");
    let settled = open.result(&id);
    assert_eq!((settled.ok(), settled.outcome()), (true, Some(Outcome::Committed)));
    let state = record(&open, &settled);
    assert!(state.cancel_requested && state.attempts.len() == 1, "{state:?}");
    // Cancelling what is over is asking for its result.
    let over = open.broker.cancel(&id, &caller()).await.envelope;
    assert_eq!((over.ok(), over.result()), (true, settled.result()));
    assert_eq!(open.broker.cancel(&id, &other).await.envelope.code(), Some(Code::NoSuchInvocation));
    assert_eq!((peer.accepted(), peer.effects()), (1, 1));
}

/// The answer never comes: cancelled or not, it is unknown.
#[tokio::test(flavor = "multi_thread")]
async fn after_the_dispatch_a_lost_answer_stays_unknown() {
    let lost = Script(vec![Act::ReadRequest, Act::Effect, Act::Hold, Act::Reset]);
    let peer = Peer::http(Scripts { each: [lost].into(), default: Some(Script::answer(OK)) });
    let (_rig, open) = open(&peer).await;
    let called = call(&open, "act");
    block_in_place(|| peer.wait_effects(1));
    let id = only(&open);
    assert_eq!(open.broker.cancel(&id, &caller()).await.envelope.outcome(), Some(Outcome::Unknown));
    peer.release();
    let late = called.await.unwrap();
    assert_eq!(
        (late.code(), late.outcome()),
        (Some(Code::OutcomeUnknown), Some(Outcome::Unknown)),
        "{late:?}"
    );
    assert_eq!((peer.accepted(), peer.effects()), (1, 1));
}

/// Between two hops of a redirect nothing is under way, and the first's refusal is what is proved.
#[tokio::test(flavor = "multi_thread")]
async fn between_two_hops_the_refusal_stands() {
    let mute = Peer::http(Script(vec![Act::Read(5), Act::Signal, Act::Hold]));
    let to = Origin::parse(&format!("https://127.0.0.1:{}", mute.port())).unwrap();
    let sends_on = format!("HTTP/1.1 307 X\r\nlocation: {to}/on\r\ncontent-length: 0\r\n\r\n");
    let first = Peer::https(says(sends_on), &CA);
    let more = format!("redirect_origins = [\"{to}\"]");
    let rig = Site { also: vec![to], more, ..Site::of(first.origin()) }.make().await;
    let open = Arc::new(rig.open().await);
    let called = call(&open, "act");
    block_in_place(|| mute.wait_signals(1));
    let cancelled = open.broker.cancel(&only(&open), &caller()).await.envelope;
    let got = (cancelled.code(), cancelled.outcome());
    assert_eq!(got, (Some(Code::RemoteRejected), Some(Outcome::Rejected)), "{cancelled:?}");
    let called = called.await.unwrap();
    assert_eq!((called.code(), called.outcome()), got);
    assert_eq!((first.accepted(), mute.accepted()), (1, 1));
    assert!(!String::from_utf8_lossy(&mute.received()[0]).contains("amount"));
}

/// The caller's future is only a way to hear of it.
#[tokio::test(flavor = "multi_thread")]
async fn going_away_cancels_nothing() {
    let peer = holding();
    let (_rig, open) = open(&peer).await;
    {
        let mut called = pin!(open.deliver("act", "{}", None));
        assert!(tokio::time::timeout(Duration::ZERO, &mut called).await.is_err());
    }
    block_in_place(|| peer.wait_effects(1));
    let id = only(&open);
    peer.release();
    open.broker.stop().await;
    let settled = open.result(&id);
    assert!(settled.ok(), "{settled:?}");
    assert!(!record(&open, &settled).cancel_requested);
    assert_eq!((peer.accepted(), peer.effects()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_host_finishes_and_begins_nothing() {
    let peer = holding();
    let (_rig, open) = open(&peer).await;
    let called = call(&open, "act");
    block_in_place(|| peer.wait_effects(1));
    let id = only(&open);
    let mut stop = pin!(open.broker.stop());
    assert!(tokio::time::timeout(Duration::ZERO, &mut stop).await.is_err(), "one is under way");
    for operation in ["act", "look"] {
        let refused = open.call_with(operation, "{\"n\":2}", Some("another")).await;
        let got = (refused.ok(), refused.request_id(), refused.outcome());
        assert!(!got.0 && got.1.is_none(), "{operation}: {refused:?}");
        assert_ne!(got.2, Some(Outcome::Unknown), "{operation}: nothing was sent");
    }
    assert_eq!(only(&open), id);
    peer.release();
    stop.await;
    assert!(called.await.unwrap().ok());
    assert_eq!((peer.accepted(), peer.effects()), (1, 1));
}
