//! What a call costs on disk.

use proofport_tests::peer::{Peer, Script, Scripts};
use proofport_tests::rig::{Rig, Wanted};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";

fn always(answer: &str) -> Scripts {
    Scripts { each: Default::default(), default: Some(Script::answer(answer)) }
}

/// Runs `warm` calls first, so that the file has grown, then counts.
async fn check(operation: &str, commits: u64) {
    let peer = Peer::http(always(OK));
    let rig = Rig::new(&Wanted::new("good", peer.origin(), "key")).await;
    let open = rig.open().await;
    for i in 0..20 {
        assert!(open.call_with(operation, "{}", Some(&format!("warm-{i}"))).await.ok());
    }
    for i in 0..10 {
        let (before, synced) = (open.broker.journal().stats(), open.syncs.count());
        let envelope = open.call_with(operation, "{}", Some(&format!("call-{i}"))).await;
        assert!(envelope.ok(), "{envelope:?}");
        let after = open.broker.journal().stats();
        assert_eq!(after.commits - before.commits, commits, "{operation}");
        // Two-phase commit: two syncs each, and one more when the file grows.
        let syncs = open.syncs.count() - synced;
        assert!((2 * commits..=3 * commits).contains(&syncs), "{operation}: {syncs} syncs");
    }
    let steady = {
        let synced = open.syncs.count();
        assert!(open.call_with(operation, "{}", Some("steady")).await.ok());
        open.syncs.count() - synced
    };
    assert!(steady <= 3 * commits);
    open.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_costs_two_durable_commits() {
    check("act", 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_costs_one() {
    check("look", 1).await;
}
