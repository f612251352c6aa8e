//! What an operator may have sent once more.

use crate::{OK, answered, assert_same_bytes, lost, site};
use proofport_broker::RetryError;
use proofport_core::contract::{Outcome, RetryOwner};
use proofport_core::id::RequestId;
use proofport_core::retry::Leave;
use proofport_tests::rig::caller;
use std::sync::Arc;

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_keeps_bytes_key_and_credential() {
    for operation in ["same", "keyed"] {
        let (peer, rig, _) = site(vec![lost(), lost(), answered(OK)], "").await;
        let open = rig.open().await;
        let first = open.call(operation, "{}").await;
        assert_eq!(first.outcome(), Some(Outcome::Unknown), "{first:?}");
        let id = first.request_id().unwrap();
        open.close();
        let open = rig.open().await;
        let lost_again = open.broker.retry(&id).await.unwrap().envelope;
        assert_eq!(lost_again.outcome(), Some(Outcome::Unknown), "{lost_again:?}");
        open.close();
        let open = rig.open().await;
        let done = open.broker.retry(&id).await.unwrap().envelope;
        assert!(done.ok(), "{operation}: {done:?}");
        assert_eq!((done.request_id(), peer.accepted()), (Some(id), 3));
        assert_same_bytes(&peer, operation);
        let text = String::from_utf8_lossy(&peer.received()[0]).to_ascii_lowercase();
        assert_eq!(text.matches("idempotency-key:").count(), usize::from(operation == "keyed"), "{text}");
        assert_eq!(open.result(&id).result(), done.result());
        let twice = open.broker.retry(&id).await.err();
        assert!(matches!(twice, Some(RetryError::NotPermitted(Leave::NotUnknown))), "{twice:?}");
        assert_eq!(peer.accepted(), 3);
        open.close();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_contract_permits_is_not_sent() {
    let check = async |operation: &str, seconds: u64, expected: Leave| {
        let (peer, rig, clock) = site(vec![lost(), answered(OK)], "").await;
        let open = rig.open().await;
        let id = open.call(operation, "{}").await.request_id().unwrap();
        clock.set(seconds);
        let refused = open.broker.retry(&id).await.err();
        assert!(
            matches!(refused, Some(RetryError::NotPermitted(leave)) if leave == expected),
            "{operation} {seconds}: {refused:?}"
        );
        let record = open.result(&id);
        assert_eq!((record.outcome(), peer.accepted()), (Some(Outcome::Unknown), 1), "{operation} {seconds}");
        open.close();
    };
    check("act", 0, Leave::NotRepeatable).await;
    // Case 22: the service keeps a key for a day; margins are taken off that.
    check("keyed", 86_400, Leave::KeyExpires).await;
    check("keyed", 86_401, Leave::KeyExpires).await;
    let (_, rig, _) = site(vec![answered(OK)], "").await;
    let open = rig.open().await;
    let stranger = RequestId::from_random([1; 16]);
    assert!(matches!(open.broker.retry(&stranger).await, Err(RetryError::NoSuchInvocation)));
    let id = open.call("same", "{}").await.request_id().unwrap();
    open.vault.write().unwrap().lock();
    assert!(matches!(open.broker.retry(&id).await, Err(RetryError::VaultLocked)));
    open.close();
}

/// Whoever has lost interest takes back what is not sent yet, and nobody sends it beside the one who rests.
#[tokio::test(flavor = "multi_thread")]
async fn one_that_rests_is_cancelled_and_not_overtaken() {
    let retries = "[connections.c.retries]\nfirst_delay_millis = 3600000\nlongest_delay_millis = 3600000\ntotal_seconds = 86400\n";
    let (peer, mut rig, _) = site(vec![lost(), answered(OK)], retries).await;
    rig.clock = Arc::new(proofport_broker::SystemClock);
    let open = Arc::new(rig.open().await);
    let calling = tokio::spawn({
        let open = Arc::clone(&open);
        async move { open.call("same", "{}").await }
    });
    tokio::task::block_in_place(|| peer.wait_effects(1));
    let id = loop {
        if let [id] = open.broker.journal().invocations(2).unwrap()[..]
            && open.result(&id).retry_owner() == RetryOwner::Host
        {
            break id;
        }
        tokio::task::yield_now().await;
    };
    let resting = open.result(&id);
    assert_eq!(resting.outcome(), Some(Outcome::Unknown));
    assert!(resting.retry_after_seconds().is_some_and(|seconds| seconds > 1000), "{resting:?}");
    assert!(matches!(open.broker.retry(&id).await, Err(RetryError::UnderWay)));
    // The same intent meets it.
    let again = open.call("same", "{}").await;
    assert_eq!((again.request_id(), again.repeated()), (Some(id), true));
    open.broker.cancel(&id, &caller()).await;
    let envelope = calling.await.unwrap();
    let got = (envelope.outcome(), envelope.retry_owner());
    assert_eq!(got, (Some(Outcome::Unknown), RetryOwner::Operator), "{envelope:?}");
    assert_eq!(peer.accepted(), 1);
    // Now an operator may.
    assert!(open.broker.retry(&id).await.unwrap().envelope.ok());
    assert_eq!(peer.accepted(), 2);
    Arc::into_inner(open).unwrap().close();
}

/// A host that stops waits for no attempt that is announced for later, and whoever comes after may send it.
#[tokio::test(flavor = "multi_thread")]
async fn one_that_rests_does_not_keep_the_host_from_stopping() {
    let retries = "[connections.c.retries]\nfirst_delay_millis = 3600000\nlongest_delay_millis = 3600000\ntotal_seconds = 86400\n";
    let (peer, mut rig, _) = site(vec![lost(), answered(OK)], retries).await;
    rig.clock = Arc::new(proofport_broker::SystemClock);
    let open = Arc::new(rig.open().await);
    let calling = tokio::spawn({
        let open = Arc::clone(&open);
        async move { open.call("keyed", "{}").await }
    });
    tokio::task::block_in_place(|| peer.wait_effects(1));
    open.broker.stop().await;
    let envelope = calling.await.unwrap();
    let got = (envelope.outcome(), envelope.retry_owner());
    assert_eq!(got, (Some(Outcome::Unknown), RetryOwner::Host), "{envelope:?}");
    let id = envelope.request_id().unwrap();
    Arc::into_inner(open).unwrap().close();
    let open = rig.open().await;
    // What was announced stays so, and an operator may have it at once.
    assert_eq!(open.result(&id).retry_owner(), RetryOwner::Host);
    assert_eq!(peer.accepted(), 1, "nothing is sent because the host came back");
    assert!(open.broker.retry(&id).await.unwrap().envelope.ok());
    assert_eq!(peer.accepted(), 2);
    open.close();
}
