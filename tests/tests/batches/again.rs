//! Sending children once more: only those whose own records permit it, each from one place.

use super::*;
use proofport_broker::{Authority, Caller, Clock};
use proofport_core::time::UnixMillis;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Field case 13: a retry sends the third child only, as an invocation of its own, once.
#[tokio::test(flavor = "multi_thread")]
async fn a_retry_sends_the_third_child_only() {
    let (peer, rig) = rig(vec![applied(bulk(&MIXED)), applied(bulk(&[(0, "c", 201)]))]).await;
    let host = rig.open().await;
    let first = host.call("same", INPUT).await;
    let id = first.request_id().unwrap();
    let second = retry(&host, &id).await.unwrap();
    assert!(second.ok() && !second.repeated(), "{second:?}");
    assert_eq!(rows(&second, &["c"]), [DONE]);
    assert_eq!(second.children()[0].result().unwrap()["ref"], "ref-c");
    assert_eq!(
        (sent_ids(&peer, 0), sent_ids(&peer, 1)),
        (vec!["a".into(), "b".into(), "c".into()], vec!["c".into()])
    );
    // Linked, with an id of its own; the first record is what it was.
    let linked = second.request_id().unwrap();
    assert_ne!(linked, id);
    let record = host.broker.diagnostic(&linked).unwrap().unwrap();
    let continues = record.state().accepted.continues.clone().unwrap();
    assert_eq!((continues.parent, continues.unknown.len()), (id, 0));
    assert_eq!(rows(&host.result(&id), &["a", "b", "c"]), [DONE, REFUSED, WAITS]);
    // Asked again, now and after a restart, nothing more is sent.
    let again = retry(&host, &id).await.unwrap();
    host.close();
    let host = rig.open().await;
    let restarted = retry(&host, &id).await.unwrap();
    for repeated in [&again, &restarted] {
        assert!(repeated.repeated() && repeated.ok(), "{repeated:?}");
        assert_eq!(repeated.request_id(), Some(linked));
    }
    // A caller that sends the same child by itself meets it, too.
    let own = host.call("same", r#"{"items":[{"id":"c"}]}"#).await;
    assert!(own.repeated() && own.request_id() == Some(linked), "{own:?}");
    assert!(matches!(retry(&host, &linked).await, Err(RetryBatchError::Nothing)));
    assert_eq!((peer.effects(), peer.accepted()), (2, 2));
    host.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_not_be_sent_again_is_not() {
    let check = async |what: &str, operation: &str, script: Script| {
        let (peer, rig) = rig(vec![script]).await;
        let host = rig.open().await;
        let id = host.call(operation, INPUT).await.request_id().unwrap();
        assert!(matches!(retry(&host, &id).await, Err(RetryBatchError::Nothing)), "{what}");
        host.close();
        let host = rig.open().await;
        assert!(matches!(retry(&host, &id).await, Err(RetryBatchError::Nothing)), "{what}, restarted");
        assert_eq!((peer.effects(), peer.accepted()), (1, 1), "{what}");
        host.close();
    };
    check("all done", "same", applied(bulk(&[(0, "a", 201), (1, "b", 201), (2, "c", 201)]))).await;
    check("no promise", "send", applied(bulk(&MIXED))).await;
    check("unknown without a contract", "send", applied(bulk(&[(0, "a", 201)]))).await;
    check("unknown under the request's own key", "header", applied(bulk(&[(0, "a", 201)]))).await;
    check("a lost answer", "send", lost()).await;
    // That may be repeated whole, and is not divided beside it.
    check("a lost answer, idempotent", "same", lost()).await;
    check("atomic", "atomic", applied("HTTP/1.1 429 X\r\nretry-after: 0\r\ncontent-length: 2\r\n\r\n{}"))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_its_own_caller_divides_a_batch() {
    let (peer, rig) = rig(vec![applied(bulk(&MIXED))]).await;
    let host = rig.open().await;
    let id = host.call("same", INPUT).await.request_id().unwrap();
    let stranger = Caller {
        principal: "somebody".to_owned(),
        session: "one".to_owned(),
        authority: Authority::Operator,
    };
    let got = host.broker.retry_batch(&id, &stranger).await;
    assert!(matches!(got, Err(RetryBatchError::NoSuchInvocation)));
    let none = RequestId::from_random([9; 16]);
    assert!(matches!(retry(&host, &none).await, Err(RetryBatchError::NoSuchInvocation)));
    host.vault.write().unwrap().lock();
    assert!(matches!(retry(&host, &id).await, Err(RetryBatchError::VaultLocked)));
    assert_eq!(peer.accepted(), 1);
}

/// A clock that can be set.
struct Hand(AtomicU64);

impl Clock for Hand {
    fn now(&self) -> UnixMillis {
        UnixMillis(self.0.load(Ordering::Relaxed))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_remote_that_asks_to_wait_is_waited_for() {
    const START: u64 = 1_700_000_000_000;
    let delayed = bulk_with("retry-after: 30\r\n", &MIXED);
    let (peer, mut rig) = rig(vec![applied(delayed), applied(bulk(&[(0, "c", 201)]))]).await;
    let hand = Arc::new(Hand(AtomicU64::new(START)));
    rig.clock = Arc::<Hand>::clone(&hand);
    let host = rig.open().await;
    let id = host.call("send", INPUT).await.request_id().unwrap();
    for seconds in [0, 29] {
        hand.0.store(START + seconds * 1000, Ordering::Relaxed);
        let got = retry(&host, &id).await;
        let Err(RetryBatchError::TooEarly { until }) = got else { panic!("{got:?}") };
        assert!(until.0 > START + 29_000, "{until:?}");
    }
    assert_eq!(peer.accepted(), 1);
    // The exchange itself took a moment of real time.
    hand.0.store(START + 3_600_000, Ordering::Relaxed);
    assert!(retry(&host, &id).await.unwrap().ok());
    assert_eq!(sent_ids(&peer, 1), ["c"]);
    host.close();
}

/// What is unknown goes out again under the very key that it had, and a refusal of that proves nothing.
#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_child_keeps_its_key() {
    let unclear = [(0, "a", 201), (1, "b", 0), (2, "c", 429)];
    let refused = [(0, "b", 409), (1, "c", 201)];
    let (peer, rig) = rig(vec![applied(bulk(&unclear)), applied(bulk(&refused))]).await;
    let host = rig.open().await;
    let first = host.call("keyed", INPUT).await;
    assert_eq!(rows(&first, &["a", "b", "c"]), [DONE, open(Retry::SameIdempotencyKey), WAITS]);
    let second = retry(&host, &first.request_id().unwrap()).await.unwrap();
    assert_eq!(sent(&peer, 1)["items"][0], sent(&peer, 0)["items"][1]);
    assert_eq!(sent(&peer, 1)["items"][1], sent(&peer, 0)["items"][2]);
    assert_eq!(rows(&second, &["b", "c"]), [open(Retry::SameIdempotencyKey), DONE]);
    assert_eq!(second.code(), Some(Code::Partial));
    host.close();
}

/// What was refused goes out under a new key: the old one may be answered with the refusal.
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_child_gets_a_new_key() {
    let key_of = |peer: &Peer, connection: usize| {
        let text = String::from_utf8(peer.received().swap_remove(connection)).unwrap();
        let line = text.lines().find(|line| line.starts_with("idempotency-key: ")).map(str::to_owned);
        line.unwrap()
    };
    let check = async |operation: &str, third: Entry, key: &dyn Fn(&Peer, usize) -> String| {
        let answers = [applied(bulk(&[(0, "a", 201), (1, "b", 0), third])), applied(bulk(&[(0, "c", 201)]))];
        let (peer, rig) = rig(answers.into()).await;
        let host = rig.open().await;
        let first = host.call(operation, INPUT).await;
        assert!(retry(&host, &first.request_id().unwrap()).await.unwrap().ok());
        assert_eq!(sent_ids(&peer, 1), ["c"]);
        assert_ne!(key(&peer, 0), key(&peer, 1));
        host.close();
    };
    check("header", (2, "c", 429), &key_of).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_divided_once_at_a_time() {
    let held =
        [Act::ReadRequest, Act::Effect, Act::Hold, Act::Send(bulk(&[(0, "c", 201)]).into()), Act::Close];
    let (peer, rig) = rig(vec![applied(bulk(&MIXED)), Script(held.into())]).await;
    let host = Arc::new(rig.open().await);
    let id = host.call("same", INPUT).await.request_id().unwrap();
    let first = tokio::spawn({
        let host = Arc::clone(&host);
        async move { retry(&host, &id).await }
    });
    tokio::task::block_in_place(|| peer.wait_effects(2));
    assert!(matches!(retry(&host, &id).await, Err(RetryBatchError::UnderWay)));
    peer.release();
    let first = first.await.unwrap().unwrap();
    assert!(first.ok());
    let second = retry(&host, &id).await.unwrap();
    assert!(second.repeated() && second.request_id() == first.request_id());
    assert_eq!((peer.effects(), peer.accepted()), (2, 2));
}

/// A linked invocation that was refused is gone on from itself; never from two places.
#[tokio::test(flavor = "multi_thread")]
async fn a_child_is_sent_again_from_one_place() {
    let later = applied("HTTP/1.1 429 X\r\ncontent-length: 2\r\n\r\n{}");
    let (peer, rig) = rig(vec![applied(bulk(&MIXED)), later, applied(bulk(&[(0, "c", 201)]))]).await;
    let host = rig.open().await;
    let id = host.call("same", INPUT).await.request_id().unwrap();
    let second = retry(&host, &id).await.unwrap();
    assert_eq!(rows(&second, &["c"]), [WAITS]);
    let met = retry(&host, &id).await.unwrap();
    assert!(met.repeated() && met.request_id() == second.request_id());
    assert_eq!(peer.accepted(), 2);
    let third = retry(&host, &second.request_id().unwrap()).await.unwrap();
    assert!(third.ok() && !third.repeated(), "{third:?}");
    let met = retry(&host, &second.request_id().unwrap()).await.unwrap();
    assert!(met.repeated() && met.request_id() == third.request_id());
    assert_eq!((peer.effects(), peer.accepted()), (3, 3));
    host.close();
}
