//! What counts, and against whom.

use crate::{BROKEN, MOST, WITHIN, answered, assert_stopped, call, call_elsewhere, home, lost, peer, spend};
use proofport_core::code::Code;
use proofport_core::contract::Outcome;
use proofport_core::origin::Origin;
use proofport_tests::peer::{Peer, Script, Scripts};
use std::sync::Arc;

/// A looping session is stopped with the failure that it looped over; nobody else is.
async fn check(guest: &'static str, operation: &str, script: Script, code: Code) {
    let what = format!("{operation} {code}");
    let peer = peer(vec![script; MOST]);
    let (rig, _) = home(guest, peer.origin()).await;
    let open = rig.open().await;
    let last = spend(&open, operation, code).await;
    assert_eq!(peer.accepted(), MOST, "{what}");
    for _ in 0..3 {
        assert_stopped(&call(&open, operation).await, &last, WITHIN, &what);
    }
    assert_eq!(peer.accepted(), MOST, "{what}: something was sent");
    let elsewhere = call_elsewhere(&open, operation).await;
    assert!(elsewhere.ok(), "{what}: another session's: {elsewhere:?}");
    let other = if operation == "act" { if guest == "good" { "look" } else { "drop" } } else { "act" };
    let other = call(&open, other).await;
    assert!(other.ok(), "{what}: another operation: {other:?}");
    assert_stopped(&call(&open, operation).await, &last, WITHIN, &what);
    open.broker.journal().verify().unwrap();
    open.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_loops_is_stopped() {
    check("promises", "act", answered(BROKEN), Code::RemoteFailed).await;
    check("promises", "act", lost(), Code::OutcomeUnknown).await;
    check("promises", "keyed", lost(), Code::OutcomeUnknown).await;
    check("promises", "same", answered("400 Bad Request"), Code::RemoteRejected).await;
    check("good", "look", answered(BROKEN), Code::RemoteFailed).await;
    check("good", "look", lost(), Code::OutcomeUnknown).await;
}

/// What fails before its dispatch counts too, once there is something to lose by trying.
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_fails_counts() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let origin = Origin::parse(&format!("http://{free}")).unwrap();
    for (guest, operation) in [("promises", "act"), ("good", "look")] {
        let (rig, _) = home(guest, origin.clone()).await;
        let open = rig.open().await;
        let code = if operation == "look" { Code::PreparationFailed } else { Code::ConnectFailed };
        let mut last = call(&open, operation).await;
        for _ in 1..MOST {
            last = call(&open, operation).await;
        }
        assert_eq!(last.outcome(), Some(Outcome::NotAttempted), "{operation}: {last:?}");
        assert!([Some(code), Some(Code::ConnectFailed)].contains(&last.code()), "{operation}: {last:?}");
        assert_stopped(&call(&open, operation).await, &last, WITHIN, operation);
        open.close();
    }
}

/// An input that is wrong costs nobody anything.
#[tokio::test(flavor = "multi_thread")]
async fn an_input_that_is_refused_does_not_count() {
    let peer = peer(Vec::new());
    let (rig, _) = home("promises", peer.origin()).await;
    let open = rig.open().await;
    for _ in 0..3 * MOST {
        assert_eq!(open.call("act", "[]").await.code(), Some(Code::InvalidInput));
    }
    assert!(call(&open, "act").await.ok());
    open.close();
}

/// Calls at once are in the tally from their dispatch on, and have not failed for that.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_under_way_has_not_failed() {
    let peer = Peer::http(Scripts { each: Default::default(), default: Some(answered(crate::OK)) });
    let (rig, _) = home("promises", peer.origin()).await;
    let open = Arc::new(rig.open().await);
    let calls: Vec<_> = (0..8 * MOST)
        .map(|_| {
            let open = Arc::clone(&open);
            tokio::spawn(async move { call(&open, "act").await })
        })
        .collect();
    for one in calls {
        let envelope = one.await.unwrap();
        assert!(envelope.ok(), "{envelope:?}");
    }
    Arc::into_inner(open).unwrap().close();
}
