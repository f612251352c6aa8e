//! What a reconciliation says of children, and what may be sent then.

use super::*;
use proofport_broker::ReconcileError;

#[tokio::test(flavor = "multi_thread")]
async fn a_query_settles_the_children_that_were_not_spoken_of() {
    let first = [(0, "a", 409)];
    // The query speaks of all, and of one that it may not unsay.
    let found = [(0, "a", 200), (1, "b", 200), (2, "c", 404), (3, "d", 200)];
    let scripts = vec![applied(bulk(&first)), asked(bulk(&found)), applied(bulk(&[(0, "c", 201)]))];
    let (peer, rig) = rig(scripts).await;
    let host = rig.open().await;
    let called = host.call("send", INPUT).await;
    let id = called.request_id().unwrap();
    let open = open(Retry::Reconcile);
    assert_eq!(rows(&called, &["a", "b", "c"]), [REFUSED, open, open]);
    host.close();
    // The host may have been restarted in between.
    let host = rig.open().await;
    let settled = host.broker.reconcile(&id).await.unwrap().envelope;
    let absent = (Outcome::Rejected, Some(Code::ConfirmedAbsent), Retry::Backoff);
    for envelope in [&settled, &host.result(&id)] {
        assert_eq!(rows(envelope, &["a", "b", "c"]), [REFUSED, DONE, absent]);
        assert_eq!(envelope.children()[1].result().unwrap()["ref"], "ref-b");
        assert_eq!((envelope.code(), envelope.outcome()), (Some(Code::Partial), Some(Outcome::Committed)));
    }
    let again = host.broker.reconcile(&id).await;
    assert!(matches!(again, Err(ReconcileError::NotUnknown(Outcome::Committed))));
    // What is proved to be absent may be sent once more.
    assert!(retry(&host, &id).await.unwrap().ok());
    assert_eq!(sent_ids(&peer, 2), ["c"]);
    assert_eq!((peer.effects(), peer.accepted()), (2, 3));
    host.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_batch_is_settled_child_by_child() {
    let check = async |found: &[Entry], whole: (Option<Code>, Outcome), children: [Row; 3]| {
        let (peer, rig) = rig(vec![lost(), asked(bulk(found))]).await;
        let host = rig.open().await;
        let called = host.call("send", INPUT).await;
        assert_eq!(rows(&called, &["a", "b", "c"]), [open(Retry::Reconcile); 3]);
        let id = called.request_id().unwrap();
        host.close();
        let host = rig.open().await;
        assert_eq!(rows(&host.result(&id), &["a", "b", "c"]), [open(Retry::Reconcile); 3], "restarted");
        let envelope = host.broker.reconcile(&id).await.unwrap().envelope;
        assert_eq!((envelope.code(), envelope.outcome().unwrap()), whole, "{found:?}");
        assert_eq!(rows(&envelope, &["a", "b", "c"]), children, "{found:?}");
        assert_eq!((peer.effects(), peer.accepted()), (1, 2));
        host.close();
    };
    let absent = (Outcome::Rejected, Some(Code::ConfirmedAbsent), Retry::Backoff);
    let unclear = open(Retry::Reconcile);
    let partly = (Some(Code::Partial), Outcome::Committed);
    let nothing = (Some(Code::OutcomeUnknown), Outcome::Unknown);
    check(&[(0, "a", 200), (1, "b", 404)], partly, [DONE, absent, unclear]).await;
    check(&[(1, "b", 404)], nothing, [unclear, absent, unclear]).await;
    check(&[(2, "a", 200)], nothing, [unclear; 3]).await;
}

/// Asking must not cost what was known: a query that is not answered settles no child.
#[tokio::test(flavor = "multi_thread")]
async fn a_query_without_an_answer_settles_nothing() {
    let found = bulk(&[(1, "b", 200)]);
    let cut = found[..found.len() - 1].to_owned();
    let (peer, rig) = rig(vec![applied(bulk(&[(0, "a", 201)])), asked(cut)]).await;
    let host = rig.open().await;
    let id = host.call("send", INPUT).await.request_id().unwrap();
    assert!(matches!(host.broker.reconcile(&id).await, Err(ReconcileError::NothingLearnt(_))));
    let open = open(Retry::Reconcile);
    assert_eq!(rows(&host.result(&id), &["a", "b", "c"]), [DONE, open, open]);
    assert_eq!((peer.effects(), peer.accepted()), (1, 2));
    host.close();
}
