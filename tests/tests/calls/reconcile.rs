//! What a reconciliation may settle, and on what ground.

use proofport_broker::{Clock, ReconcileError};
use proofport_core::code::Code;
use proofport_core::contract::{Outcome, Retry};
use proofport_core::id::RequestId;
use proofport_core::time::UnixMillis;
use proofport_tests::peer::{Act, Peer, Script, Scripts};
use proofport_tests::rig::{CANARY, Open, Rig, Wanted};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";

/// An effect whose answer is lost, then these answers to queries.
async fn unknown(guest: &'static str, queries: Vec<Script>) -> (Peer, Rig, Arc<Open>, RequestId) {
    let lost = Script(vec![Act::ReadRequest, Act::Effect, Act::Close]);
    let each = std::iter::once(lost).chain(queries).collect();
    let peer = Peer::http(Scripts { each, default: None });
    let rig = Rig::new(&Wanted::new(guest, peer.origin(), "key").limits("setup_attempts = 1")).await;
    let open = Arc::new(rig.open().await);
    let envelope = open.call("act", "{}").await;
    assert_eq!(envelope.outcome(), Some(Outcome::Unknown));
    let id = envelope.request_id().unwrap();
    (peer, rig, open, id)
}

async fn check(what: &str, guest: &'static str, answer: &str, settled: Option<Code>) {
    let query = Script(vec![Act::ReadRequest, Act::Send(answer.into()), Act::Close]);
    let (peer, _rig, open, id) = unknown(guest, vec![query]).await;
    let answered = open.broker.reconcile(&id).await;
    match settled {
        Some(code) => {
            let envelope = answered.unwrap().envelope;
            assert_eq!(envelope.code(), Some(code), "{what}");
        }
        None => {
            assert!(matches!(answered, Err(ReconcileError::NothingLearnt(_))), "{what}");
            assert_eq!(open.result(&id).outcome(), Some(Outcome::Unknown), "{what}");
        }
    }
    assert_eq!(peer.effects(), 1, "{what}");
    // Whatever was learnt, the record can be read, and says the same again.
    let stored = open.result(&id);
    assert_eq!(stored.outcome() == Some(Outcome::Unknown), settled.is_none(), "{what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_needs_ground() {
    let status = |status: u16| format!("HTTP/1.1 {status} X\r\ncontent-length: 2\r\n\r\n{{}}");
    check("a look that found nothing", "finds-nothing", OK, Some(Code::ConfirmedAbsent)).await;
    check("no query at all", "claims-without-asking", OK, None).await;
    check("a cut answer", "finds-nothing", &OK[..OK.len() - 1], None).await;
    for refused in [401, 403, 429, 500, 503] {
        check(&refused.to_string(), "finds-nothing", &status(refused), None).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_at_a_time_asks() {
    let held = Script(vec![Act::ReadRequest, Act::Effect, Act::Hold, Act::Send(OK.into()), Act::Close]);
    let (peer, _rig, open, id) = unknown("finds-nothing", vec![held]).await;
    let first = tokio::spawn({
        let open = Arc::clone(&open);
        async move { open.broker.reconcile(&id).await.map(|delivery| delivery.envelope) }
    });
    tokio::task::block_in_place(|| peer.wait_effects(2));
    assert!(matches!(open.broker.reconcile(&id).await, Err(ReconcileError::UnderWay)));
    peer.release();
    let envelope = first.await.unwrap().unwrap();
    assert_eq!((envelope.code(), envelope.retry()), (Some(Code::ConfirmedAbsent), Retry::Backoff));
    assert!(matches!(open.broker.reconcile(&id).await, Err(ReconcileError::NotUnknown(Outcome::Rejected))));
    assert_eq!(open.result(&id).code(), Some(Code::ConfirmedAbsent));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_vault_asks_nothing() {
    let (peer, _rig, open, id) = unknown("finds-nothing", vec![Script::answer(OK)]).await;
    open.vault.write().unwrap().lock();
    assert!(matches!(open.broker.reconcile(&id).await, Err(ReconcileError::VaultLocked)));
    assert_eq!(peer.accepted(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_to_a_query_without_a_credential_may_not_carry_the_secret_either() {
    let body = format!("{{\"log\":\"{CANARY}\"}}");
    let echo = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let query = Script(vec![Act::ReadRequest, Act::Send(echo.into_bytes()), Act::Close]);
    let (_peer, _rig, open, id) = unknown("finds-nothing", vec![query]).await;
    // Withheld from the connector as well, so nothing was learnt.
    assert!(matches!(open.broker.reconcile(&id).await, Err(ReconcileError::NothingLearnt(_))));
    let record = serde_json::to_string(&open.broker.diagnostic(&id).unwrap()).unwrap();
    assert!(!record.contains(CANARY));
}

/// A clock that can be set.
pub(super) struct Hand(pub(super) AtomicU64);

impl Clock for Hand {
    fn now(&self) -> UnixMillis {
        UnixMillis(self.0.load(Ordering::Relaxed))
    }
}

/// Absence proves something when its time has passed, and a clock that was ahead once is no proof of that.
#[tokio::test(flavor = "multi_thread")]
async fn absence_is_no_proof_before_its_time() {
    const START: u64 = 1_700_000_000_000;
    const DAY: u64 = 24 * 3600 * 1000;
    let lost = Script(vec![Act::ReadRequest, Act::Effect, Act::Close]);
    let peer = Peer::http(Scripts { each: [lost].into(), default: Some(Script::answer(OK)) });
    let mut rig = Rig::new(&Wanted::new("finds-nothing", peer.origin(), "key")).await;
    let hand = Arc::new(Hand(AtomicU64::new(START)));
    rig.clock = Arc::<Hand>::clone(&hand);
    let open = rig.open().await;
    let id = open.call("slow", "{}").await.request_id().unwrap();
    // For a moment it is tomorrow, and something else is put on record.
    hand.0.store(START + DAY, Ordering::Relaxed);
    assert!(open.call_with("slow", "{}", Some("other")).await.ok());
    for (seconds, settled) in [(1, false), (299, false), (300, true)] {
        hand.0.store(START + seconds * 1000, Ordering::Relaxed);
        let envelope = open.broker.reconcile(&id).await.unwrap().envelope;
        let expected = if settled { Outcome::Rejected } else { Outcome::Unknown };
        assert_eq!(envelope.outcome(), Some(expected), "after {seconds} s: {envelope:?}");
    }
    open.close();
}
