//! A host killed at every durable transition, at every point on the wire and in mid-delivery, and
//! what its successor claims.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects by panicking"
)]

use proofport_broker::Point;
use proofport_core::contract::Outcome;
use proofport_core::event::EventKind;
use proofport_core::state::State;
use proofport_tests::killpoint::{Kill, Scenario};
use proofport_tests::peer::{Peer, Script, Scripts};
use proofport_tests::rig::{Rig, Wanted};
use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
const ACCEPTED: &str = "HTTP/1.1 202 Accepted\r\ncontent-length: 2\r\n\r\n{}";

async fn check(kill: Kill) {
    let what = kill.to_word();
    let scenario = kill.scenario();
    let (guest, operation, answer) = match scenario {
        Scenario::Write | Scenario::NoConnection => ("good", "act", OK),
        Scenario::Read => ("good", "look", OK),
        Scenario::Job => ("submits-job", "act", ACCEPTED),
    };
    let peer = Peer::http(Scripts { each: Default::default(), default: Some(Script::answer(answer)) });
    let origin = match scenario {
        Scenario::NoConnection => {
            let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
            proofport_core::origin::Origin::parse(&format!("http://{free}")).unwrap()
        }
        Scenario::Write | Scenario::Read | Scenario::Job => peer.origin(),
    };
    let rig = Rig::new(&Wanted::new(guest, origin, "key")).await;
    let killed = Command::new(env!("CARGO_BIN_EXE_crash-host"))
        .args([rig.home().as_os_str(), what.as_ref(), operation.as_ref()])
        .output()
        .unwrap();
    assert_eq!(killed.status.signal(), Some(9), "{what}: the host never came here: {killed:?}");
    let writes = matches!(scenario, Scenario::Write | Scenario::Job);

    let open = rig.open().await;
    let journal = open.broker.journal();
    if !journal.invocations(1).unwrap().is_empty() && writes {
        // The dead host's bytes may still be on their way; its connection has an end.
        tokio::task::block_in_place(|| peer.wait_ended(1));
    }
    let effects = peer.effects();
    let mut dispatched = false;
    for id in journal.invocations(10).unwrap() {
        let history = journal.history(&id).unwrap();
        let state = State::replay(history.iter().map(|recorded| &recorded.event)).unwrap().unwrap();
        let started = history.iter().any(|recorded| recorded.event.kind() == EventKind::DispatchStarted);
        dispatched |= started;
        // Law 2: from dispatch on it is never "not attempted" again.
        assert!(!started || state.outcome() != Outcome::NotAttempted, "{what}: {state:?}");
        assert!(started || state.outcome() != Outcome::Unknown, "{what}: unknown without a dispatch");
        // A claim of success is the peer's own.
        let claimed = state.settled.as_ref().is_some_and(|settled| settled.outcome == Outcome::Committed);
        assert!(!claimed || effects == 1, "{what}: committed, and the peer did {effects}");
        // What recovery leaves is finished: nothing is under way any more.
        assert!(state.active().is_none(), "{what}: still under way after recovery");
    }
    // Law 1: whatever the peer saw was on record before.
    assert!(!writes || effects == 0 || dispatched, "{what}: an effect without a dispatch on record");
    assert!(journal.open_invocations().unwrap().is_empty(), "{what}: nothing is left open");

    // The caller never got an answer and calls again.
    let again = open.call(operation, "{}").await;
    if writes {
        let expected = if dispatched { effects } else { effects + 1 };
        assert_eq!(peer.effects(), expected, "{what}: a second effect, or none");
        assert_eq!(again.repeated(), dispatched, "{what}: {again:?}");
        assert_ne!(again.outcome(), Some(Outcome::NotAttempted), "{what}: {again:?}");
    }
    // Law 5: what was handed out, even in part, is there.
    if killed.stdout.len() > 1 && writes {
        assert!(again.ok() && again.result().is_some(), "{what}: {again:?}");
        let stored = open.result(&again.request_id().unwrap());
        assert_eq!(stored.result(), again.result(), "{what}");
    }
    // The whole record is as it was written.
    journal.verify().unwrap();
    open.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_host_claims_only_what_is_proved() {
    let all = Kill::all();
    assert!(all.contains(&Kill::At(Point::AfterCommit(EventKind::DispatchStarted))));
    for kill in all {
        check(kill).await;
    }
}
