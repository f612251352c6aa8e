//! An operator settles what nothing else has, finds what waits for that, and may ask the remote all the
//! same.

use super::reconcile::Hand;
use proofport_broker::{AttestError, ReconcileError};
use proofport_core::attestation::{AttestedOutcome, AttestedReason};
use proofport_core::code::Code;
use proofport_core::contract::{Outcome, RetryOwner, Source};
use proofport_core::event::{Event, EventKind};
use proofport_core::id::RequestId;
use proofport_core::time::UnixMillis;
use proofport_core::unknown::NextStep;
use proofport_tests::peer::{Act, Peer, Script, Scripts};
use proofport_tests::rig::{Open, Rig, Wanted, caller};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
const REFUSED: &str = "HTTP/1.1 422 Unprocessable Content\r\ncontent-length: 2\r\n\r\n{}";
const WHY: &str = "the ledger export of Monday says so";

fn reason() -> AttestedReason {
    AttestedReason::parse(WHY).unwrap()
}

fn lost() -> Script {
    Script(vec![Act::ReadRequest, Act::Effect, Act::Close])
}

fn held() -> Script {
    Script(vec![Act::ReadRequest, Act::Effect, Act::Hold, Act::Send(OK.into()), Act::Close])
}

async fn rig(guest: &'static str, each: Vec<Script>) -> (Peer, Rig) {
    let peer = Peer::http(Scripts { each: each.into(), default: Some(Script::answer(OK)) });
    let rig = Rig::new(&Wanted::new(guest, peer.origin(), "key").limits("setup_attempts = 1")).await;
    (peer, rig)
}

async fn attest(open: &Open, id: &RequestId, outcome: AttestedOutcome) -> Result<Option<Code>, AttestError> {
    let attested = open.broker.attest(id, outcome, reason()).await;
    attested.map(|delivery| delivery.envelope.code())
}

/// What is claimed afterwards, also after a restart, and what the same call does then.
async fn check(attested: AttestedOutcome, code: Code, status: u8, tried_anew: bool) {
    let (peer, rig) = rig("good", vec![lost()]).await;
    let open = rig.open().await;
    let id = open.call("act", "{}").await.request_id().unwrap();
    let before = open.broker.timeline(&id).unwrap();
    let commits = open.broker.journal().stats().commits;
    let delivery = open.broker.attest(&id, attested, reason()).await.unwrap();
    assert_eq!(open.broker.journal().stats().commits, commits + 1, "it is durable before the answer");
    let envelope = delivery.envelope.clone();
    delivery.confirmed();
    assert_eq!((envelope.outcome(), envelope.code()), (Some(attested.outcome()), Some(code)));
    assert_eq!((envelope.ok(), envelope.exit_status_of_program()), (false, status));
    assert_eq!((peer.effects(), peer.accepted()), (1, 1), "nothing is sent");
    // The second word is refused, whatever it is.
    for again in AttestedOutcome::ALL {
        let refused = attest(&open, &id, *again).await;
        assert!(matches!(refused, Err(AttestError::NotUnknown(known)) if known == attested.outcome()));
    }
    open.close();

    let open = rig.open().await;
    let after = open.broker.timeline(&id).unwrap();
    assert_eq!(after[..before.len()], before, "what was recorded stays");
    let ended = |event: &Event| {
        if let Event::AttemptEnded(end) = event { Some((end.outcome, end.source)) } else { None }
    };
    let ends: Vec<_> = after.iter().filter_map(|recorded| ended(&recorded.event)).collect();
    assert_eq!(ends, [(Outcome::Unknown, Source::TransportObserved)]);
    let kinds: Vec<EventKind> = after[before.len()..].iter().map(|recorded| recorded.event.kind()).collect();
    let added = [EventKind::OutcomeSettled, EventKind::ResultCommitted, EventKind::ResultDelivered];
    assert_eq!(kinds, added);
    let Event::OutcomeSettled(settlement) = &after[before.len()].event else { panic!("{after:?}") };
    assert_eq!(settlement.source, Source::OperatorAttested);
    assert_eq!(settlement.attested_reason.as_deref(), Some(WHY));
    let stored = open.result(&id);
    assert_eq!((stored.outcome(), stored.code()), (envelope.outcome(), envelope.code()));
    let shown = serde_json::to_string(&stored).unwrap();
    assert!(shown.contains("operator_attested") && !shown.contains(WHY), "{shown}");
    open.broker.journal().verify().unwrap();

    let again = open.call("act", "{}").await;
    assert_eq!((again.repeated(), again.ok()), (!tried_anew, tried_anew), "{again:?}");
    assert_eq!(again.request_id() == Some(id), !tried_anew);
    assert_eq!(peer.effects(), if tried_anew { 2 } else { 1 });
    open.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_word_settles_an_unknown_once() {
    check(AttestedOutcome::Rejected, Code::RemoteRejected, 11, true).await;
    check(AttestedOutcome::Committed, Code::ResultUnavailable, 15, false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_an_unknown_effect_is_attested() {
    type Expected = fn(&AttestError) -> bool;
    let check = async |operation: &str, script: Script, expected: Expected| {
        let (peer, rig) = rig("good", vec![script.clone(), script]).await;
        let open = rig.open().await;
        let id = open.call(operation, "{}").await.request_id().unwrap();
        let before = open.broker.timeline(&id).unwrap();
        let sent = peer.accepted();
        for outcome in AttestedOutcome::ALL {
            let refused = attest(&open, &id, *outcome).await.unwrap_err();
            assert!(expected(&refused), "{operation}: {refused:?}");
        }
        assert_eq!(open.broker.timeline(&id).unwrap(), before);
        assert_eq!(peer.accepted(), sent);
        open.close();
    };
    let answer = |text: &str| Script(vec![Act::ReadRequest, Act::Send(text.into()), Act::Close]);
    check("act", answer(OK), |error| matches!(error, AttestError::NotUnknown(Outcome::Committed))).await;
    check("act", answer(REFUSED), |error| matches!(error, AttestError::NotUnknown(Outcome::Rejected))).await;
    let unsupported = |error: &AttestError| matches!(error, AttestError::NotUnknown(Outcome::NotAttempted));
    check("nothing", answer(OK), unsupported).await;
    check("look", lost(), |error| matches!(error, AttestError::NothingDispatched)).await;
    let (_peer, rig) = rig("good", vec![]).await;
    let open = rig.open().await;
    let stranger = RequestId::from_random([9; 16]);
    let refused = attest(&open, &stranger, AttestedOutcome::Committed).await;
    assert!(matches!(refused, Err(AttestError::NoSuchInvocation)));
    open.close();
}

/// Its own answer, or a query's, may still settle it.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_under_way_is_not_attested() {
    let (peer, rig) = rig("finds-nothing", vec![held()]).await;
    let open = Arc::new(rig.open().await);
    let call = tokio::spawn({
        let open = Arc::clone(&open);
        async move { open.call("act", "{}").await }
    });
    tokio::task::block_in_place(|| peer.wait_effects(1));
    let listed = open.broker.unknowns().unwrap();
    let [going] = listed.as_slice() else { panic!("{listed:?}") };
    assert_eq!((going.code, going.next.as_slice()), (Some(Code::InProgress), [NextStep::Wait].as_slice()));
    let refused = attest(&open, &going.request_id, AttestedOutcome::Rejected).await;
    assert!(matches!(refused, Err(AttestError::UnderWay)), "{refused:?}");
    peer.release();
    assert!(call.await.unwrap().ok());
    assert!(open.broker.unknowns().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_asked_about_is_not_attested() {
    let (peer, rig) = rig("finds-nothing", vec![lost(), held()]).await;
    let open = Arc::new(rig.open().await);
    let id = open.call("act", "{}").await.request_id().unwrap();
    let asking = tokio::spawn({
        let open = Arc::clone(&open);
        async move { open.broker.reconcile(&id).await.map(|delivery| delivery.envelope.code()) }
    });
    tokio::task::block_in_place(|| peer.wait_effects(2));
    let refused = attest(&open, &id, AttestedOutcome::Committed).await;
    assert!(matches!(refused, Err(AttestError::UnderWay)), "{refused:?}");
    peer.release();
    assert_eq!(asking.await.unwrap().unwrap(), Some(Code::ConfirmedAbsent));
    let refused = attest(&open, &id, AttestedOutcome::Committed).await;
    assert!(matches!(refused, Err(AttestError::NotUnknown(Outcome::Rejected))), "{refused:?}");
}

/// The host waits before it sends it once more, and somebody knows better meanwhile. Then nothing is sent,
/// and losing interest in it changes nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_word_ends_the_wait_for_another_attempt() {
    let peer = Peer::http(Scripts { each: [lost()].into(), default: Some(Script::answer(OK)) });
    let mut wanted = Wanted::new("promises", peer.origin(), "key").limits("setup_attempts = 1");
    wanted.more.push_str(
        "[connections.c.retries]\nfirst_delay_millis = 3600000\nlongest_delay_millis = 3600000\n\
         total_seconds = 86400\n",
    );
    let rig = Rig::new(&wanted).await;
    let open = Arc::new(rig.open().await);
    let calling = tokio::spawn({
        let open = Arc::clone(&open);
        async move { open.call("same", "{}").await }
    });
    tokio::task::block_in_place(|| peer.wait_effects(1));
    let id = loop {
        if let [resting] = open.broker.unknowns().unwrap().as_slice()
            && resting.retry_owner == RetryOwner::Host
        {
            assert_eq!(resting.next, [NextStep::Wait, NextStep::Repeat, NextStep::Attest]);
            break resting.request_id;
        }
        tokio::task::yield_now().await;
    };
    attest(&open, &id, AttestedOutcome::Committed).await.unwrap();
    assert!(open.broker.unknowns().unwrap().is_empty());
    open.broker.cancel(&id, &caller()).await;
    let answer = calling.await.unwrap();
    assert_eq!((answer.outcome(), answer.code()), (Some(Outcome::Committed), Some(Code::ResultUnavailable)));
    assert_eq!((peer.effects(), peer.accepted()), (1, 1));
    let kinds: Vec<EventKind> =
        open.broker.timeline(&id).unwrap().iter().map(|recorded| recorded.event.kind()).collect();
    assert!(!kinds.contains(&EventKind::CancelRequested), "{kinds:?}");
    // The record can still be read.
    Arc::into_inner(open).unwrap().close();
    let open = rig.open().await;
    assert_eq!(open.result(&id).outcome(), Some(Outcome::Committed));
    open.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_vault_takes_nobodys_word() {
    let (_peer, rig) = rig("good", vec![lost()]).await;
    let open = rig.open().await;
    let id = open.call("act", "{}").await.request_id().unwrap();
    open.vault.write().unwrap().lock();
    let refused = attest(&open, &id, AttestedOutcome::Committed).await;
    assert!(matches!(refused, Err(AttestError::VaultLocked)), "{refused:?}");
    assert_eq!(open.result(&id).outcome(), Some(Outcome::Unknown));
    open.close();
}

/// What is found later stands beside the operator's word, and changes nothing that is claimed.
#[tokio::test(flavor = "multi_thread")]
async fn the_remote_may_be_asked_after_a_word() {
    // The guest finds that nothing happened.
    for (attested, code) in [
        (AttestedOutcome::Rejected, Code::RemoteRejected),
        (AttestedOutcome::Committed, Code::ResultUnavailable),
    ] {
        let (peer, rig) = rig("finds-nothing", vec![lost()]).await;
        let open = rig.open().await;
        let id = open.call("act", "{}").await.request_id().unwrap();
        attest(&open, &id, attested).await.unwrap();
        let before = open.broker.timeline(&id).unwrap();
        let delivery = open.broker.reconcile(&id).await.unwrap();
        assert_eq!(delivery.attached(), Some(Outcome::Rejected));
        let envelope = &delivery.envelope;
        assert_eq!((envelope.outcome(), envelope.code()), (Some(attested.outcome()), Some(code)));
        drop(delivery);
        assert_eq!(peer.accepted(), 2, "one effect and one query");
        open.close();

        let open = rig.open().await;
        let after = open.broker.timeline(&id).unwrap();
        assert_eq!(after[..before.len()], before);
        let kinds: Vec<EventKind> = after[before.len()..].iter().map(|r| r.event.kind()).collect();
        let added = [EventKind::ConnectionAttempted, EventKind::QueryExchanged, EventKind::EvidenceAttached];
        assert_eq!(kinds, added);
        let attached = Event::EvidenceAttached {
            source: Source::RemoteQuery,
            source_sequence: 1,
            outcome: Outcome::Rejected,
            child: None,
        };
        assert_eq!(after.last().map(|recorded| &recorded.event), Some(&attached));
        let record = open.broker.diagnostic(&id).unwrap().unwrap();
        assert_eq!(record.state().attached, [Outcome::Rejected]);
        assert_eq!(open.result(&id).outcome(), Some(attested.outcome()));
        open.broker.journal().verify().unwrap();
        open.close();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_without_an_answer_attaches_nothing() {
    let query = Script(vec![Act::ReadRequest, Act::Close]);
    let (_peer, rig) = rig("finds-nothing", vec![lost(), query]).await;
    let open = rig.open().await;
    let id = open.call("act", "{}").await.request_id().unwrap();
    attest(&open, &id, AttestedOutcome::Committed).await.unwrap();
    let asked = open.broker.reconcile(&id).await;
    assert!(matches!(asked, Err(ReconcileError::NothingLearnt(_))));
    assert!(open.broker.diagnostic(&id).unwrap().unwrap().state().attached.is_empty());
    assert_eq!(open.result(&id).outcome(), Some(Outcome::Committed));
    open.close();
}

/// The newest first, each with what can be done, until something settles it.
#[tokio::test(flavor = "multi_thread")]
async fn unknowns_are_found_until_they_are_settled() {
    const START: u64 = 1_700_000_000_000;
    let answer = Script(vec![Act::ReadRequest, Act::Send(OK.into()), Act::Close]);
    let refused = Script(vec![Act::ReadRequest, Act::Send(REFUSED.into()), Act::Close]);
    let (_peer, mut rig) = rig("finds-nothing", vec![lost(), answer, lost(), refused]).await;
    let hand = Arc::new(Hand(AtomicU64::new(START)));
    rig.clock = Arc::<Hand>::clone(&hand);
    let at = |seconds: u64| hand.0.store(START + seconds * 1000, Ordering::Relaxed);
    let open = rig.open().await;
    assert!(open.broker.unknowns().unwrap().is_empty());
    let first = open.call("act", "{}").await.request_id().unwrap();
    assert!(open.call_with("act", "{}", Some("answered")).await.ok());
    at(1000);
    let second = open.call("slow", "{}").await.request_id().unwrap();
    assert_eq!(open.call_with("slow", "{}", Some("refused")).await.outcome(), Some(Outcome::Rejected));
    at(1500);
    let look = |open: &Open| {
        let found = open.broker.unknowns().unwrap();
        let seen = |effect: &proofport_core::unknown::UnknownEffect| {
            assert_eq!((effect.code, effect.retry_owner), (Some(Code::OutcomeUnknown), RetryOwner::Operator));
            assert_eq!(effect.next.last(), Some(&NextStep::Attest));
            (effect.request_id, effect.operation.to_string(), effect.age_seconds, effect.next[0])
        };
        found.iter().map(seen).collect::<Vec<_>>()
    };
    let ask = |seconds: u64| {
        let absence_counts_from = Some(UnixMillis(START + seconds * 1000));
        NextStep::Reconcile { absence_counts_from }
    };
    let slow = (second, "c.slow".to_owned(), 500, ask(1300));
    let act = (first, "c.act".to_owned(), 1500, ask(0));
    assert_eq!(look(&open), [slow.clone(), act.clone()]);
    open.close();

    let open = rig.open().await;
    assert_eq!(look(&open), [slow.clone(), act], "a restart forgets none");
    assert!(open.broker.reconcile(&first).await.is_ok());
    assert_eq!(look(&open), [slow]);
    attest(&open, &second, AttestedOutcome::Rejected).await.unwrap();
    assert!(look(&open).is_empty());
    open.close();
}
