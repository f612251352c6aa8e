//! Unknown children are found, and a person settles them one by one.

use super::*;
use proofport_broker::AttestError;
use proofport_core::attestation::{AttestedOutcome, AttestedReason};
use proofport_core::batch::{NoSingleChild, Which, WhyUnknown};
use proofport_core::contract::Source;
use proofport_core::event::Event;
use proofport_core::unknown::NextStep;

const WHY: &str = "it is in the queue";

async fn attest(
    host: &Open,
    id: &RequestId,
    child: &str,
    outcome: AttestedOutcome,
) -> Result<Envelope, AttestError> {
    let reason = AttestedReason::parse(WHY).unwrap();
    let delivery = host.broker.attest_child(id, &Which::new(child), outcome, reason).await?;
    Ok(delivery.envelope.clone())
}

/// The unknown children that are listed.
fn listed(host: &Open) -> Vec<(String, WhyUnknown)> {
    let found = host.broker.unknowns().unwrap();
    let children = found.iter().flat_map(|effect| &effect.children);
    children.map(|child| (child.id.as_str().to_owned(), child.why)).collect()
}

const ATTESTED: Row = (Outcome::Committed, Some(Code::ResultUnavailable), Retry::Never);

#[tokio::test(flavor = "multi_thread")]
async fn the_children_of_a_settled_batch_are_settled_one_by_one() {
    let (peer, rig) = rig(vec![applied(bulk(&[(0, "a", 201)])), asked(bulk(&[(1, "b", 404)]))]).await;
    let host = rig.open().await;
    let id = host.call("send", INPUT).await.request_id().unwrap();
    let (b, c) = (("b".to_owned(), WhyUnknown::NotInAnswer), ("c".to_owned(), WhyUnknown::NotInAnswer));
    assert_eq!(listed(&host), [b, c.clone()]);
    let found = host.broker.unknowns().unwrap();
    assert_eq!((found[0].request_id, found[0].next.last()), (id, Some(&NextStep::AttestChildren)));
    let before = host.broker.timeline(&id).unwrap();
    let envelope = attest(&host, &id, "b", AttestedOutcome::Committed).await.unwrap();
    assert_eq!(rows(&envelope, &["a", "b", "c"]), [DONE, ATTESTED, open(Retry::Reconcile)]);
    assert_eq!((envelope.code(), envelope.outcome()), (Some(Code::Partial), Some(Outcome::Committed)));
    host.close();
    let host = rig.open().await;
    assert_eq!(listed(&host), [c]);
    assert_eq!(rows(&host.result(&id), &["a", "b", "c"])[1], ATTESTED);
    let after = host.broker.timeline(&id).unwrap();
    assert_eq!(after[..before.len()], before, "what was recorded stays");
    let Event::ChildSettled(told) = &after.last().unwrap().event else { panic!("{after:?}") };
    assert_eq!((told.source, told.attested_reason.as_deref()), (Source::OperatorAttested, Some(WHY)));
    assert!(!serde_json::to_string(&host.result(&id)).unwrap().contains(WHY));
    // The remote may be asked all the same, and what it says of that child stands beside the word.
    let delivery = host.broker.reconcile(&id).await.unwrap();
    let [(child, known, said)] = &delivery.attached_children()[..] else { panic!("nothing was attached") };
    assert_eq!((child.as_str(), *known, *said), ("b", Outcome::Committed, Outcome::Rejected));
    assert_eq!(rows(&delivery.envelope, &["a", "b", "c"]), [DONE, ATTESTED, open(Retry::Reconcile)]);
    let last = attest(&host, &id, "index:2", AttestedOutcome::Rejected).await.unwrap();
    assert_eq!(rows(&last, &["a", "b", "c"])[2], REFUSED_BY_WORD);
    assert!(listed(&host).is_empty() && host.broker.unknowns().unwrap().is_empty());
    host.broker.journal().verify().unwrap();
    assert_eq!((peer.effects(), peer.accepted()), (1, 2));
    host.close();
}

const REFUSED_BY_WORD: Row = (Outcome::Rejected, Some(Code::RemoteRejected), Retry::AfterCorrection);

/// The last word settles a whole whose answer was lost, and the same call is then met or made anew.
#[tokio::test(flavor = "multi_thread")]
async fn the_last_word_settles_a_lost_batch() {
    use AttestedOutcome::{Committed, Rejected};
    let check = async |words: [AttestedOutcome; 3], outcome: Outcome, code: Code| {
        let all = bulk(&[(0, "a", 201), (1, "b", 201), (2, "c", 201)]);
        let (peer, rig) = rig(vec![lost(), applied(all)]).await;
        let host = rig.open().await;
        let id = host.call("send", INPUT).await.request_id().unwrap();
        assert_eq!(listed(&host).len(), 3);
        for (child, word) in ["a", "b", "c"].into_iter().zip(words) {
            assert_eq!(host.result(&id).outcome(), Some(Outcome::Unknown));
            attest(&host, &id, child, word).await.unwrap();
        }
        host.close();
        let host = rig.open().await;
        let settled = host.result(&id);
        assert_eq!((settled.outcome(), settled.code(), settled.ok()), (Some(outcome), Some(code), false));
        assert!(host.broker.unknowns().unwrap().is_empty());
        let again = host.call("send", INPUT).await;
        assert_eq!(again.repeated(), outcome == Outcome::Committed, "{again:?}");
        assert_eq!(peer.effects(), if outcome == Outcome::Committed { 1 } else { 2 });
        host.close();
    };
    check([Rejected; 3], Outcome::Rejected, Code::RemoteRejected).await;
    check([Rejected, Committed, Rejected], Outcome::Committed, Code::Partial).await;
    check([Committed; 3], Outcome::Committed, Code::ResultUnavailable).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_one_unknown_child_is_attested() {
    type Expected = fn(&AttestError) -> bool;
    let check = async |operation: &str, script: Script, child: &str, expected: Expected| {
        let (peer, rig) = rig(vec![script]).await;
        let host = rig.open().await;
        let id = host.call(operation, INPUT).await.request_id().unwrap();
        let before = host.broker.timeline(&id).unwrap();
        for outcome in AttestedOutcome::ALL {
            let refused = attest(&host, &id, child, *outcome).await.unwrap_err();
            assert!(expected(&refused), "{operation} {child}: {refused:?}");
        }
        assert_eq!((host.broker.timeline(&id).unwrap(), peer.accepted()), (before, 1));
        host.close();
    };
    let partly = || applied(bulk(&[(0, "a", 201), (1, "b", 409)]));
    check("send", partly(), "a", |error| matches!(error, AttestError::NotUnknown(Outcome::Committed))).await;
    check("send", partly(), "1", |error| matches!(error, AttestError::NotUnknown(Outcome::Rejected))).await;
    check("send", partly(), "d", |error| matches!(error, AttestError::NoSingleChild(NoSingleChild::None)))
        .await;
    check("atomic", lost(), "a", |error| matches!(error, AttestError::Atomic)).await;
}
