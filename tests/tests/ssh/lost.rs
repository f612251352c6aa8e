//! Commands whose end nobody saw: unknown, never run again, and settled by asking.

use crate::world::{Declared, Terms, appears, declaring, published, record, run, runs};
use proofport_core::code::Code;
use proofport_core::contract::{Outcome, Source};
use proofport_core::ssh::SshRow;
use proofport_tests::sshd::Sshd;
use std::sync::Arc;

/// Runs until it is let go, or the test is over.
const HELD: &str =
    "echo ran >>RUNS; : >HERE/began; while [ -e HERE/began ] && [ ! -e HERE/go ]; do sleep 0.05; done;";

#[tokio::test(flavor = "multi_thread")]
async fn a_command_outlives_its_server_and_is_found() {
    let well = format!("{HELD} printf done");
    let badly = format!("{HELD} exit 3");
    let check = async |script: &str, code: Option<Code>| {
        let mut sshd = Sshd::start();
        let script: &'static str = Box::leak(script.to_owned().into_boxed_str());
        let rig = declaring(&sshd, &Terms::of(&sshd), &[Declared("held", script, true)]).await;
        let open = Arc::new(rig.open().await);
        let calling = tokio::spawn({
            let open = Arc::clone(&open);
            async move { run(&open, "held").await }
        });
        appears(&sshd, "began").await;
        sshd.kill();
        let lost = calling.await.unwrap();
        let incomplete = Some(Code::RemoteResultIncomplete);
        assert_eq!((lost.outcome(), lost.code()), (Some(Outcome::Unknown), incomplete), "{lost:?}");
        assert_eq!(published(&lost)["exit_status"], serde_json::Value::Null);
        let state = record(&open, &lost);
        let end = state.attempts[0].end.as_ref().unwrap();
        assert_eq!(SshRow::of(end.evidence.ssh().unwrap()), SshRow::TransportLost, "{end:?}");
        let id = lost.request_id().unwrap();
        // Calling again sends nothing, and neither does a host that comes back.
        let again = run(&open, "held").await;
        assert_eq!((again.request_id(), again.repeated()), (Some(id), true), "{again:?}");
        Arc::into_inner(open).unwrap().close();
        let open = rig.open().await;
        assert_eq!(open.result(&id).outcome(), Some(Outcome::Unknown));
        assert!(open.broker.reconcile(&id).await.is_err(), "nobody is there to ask");
        sshd.restart();
        let running = open.broker.reconcile(&id).await.unwrap().envelope;
        assert_eq!(running.outcome(), Some(Outcome::Unknown), "{running:?}");
        std::fs::write(sshd.path("go"), "").unwrap();
        let settled = loop {
            let envelope = open.broker.reconcile(&id).await.unwrap().envelope;
            if envelope.outcome() != Some(Outcome::Unknown) {
                break envelope;
            }
        };
        assert_eq!((settled.outcome(), settled.code()), (Some(Outcome::Committed), code), "{settled:?}");
        let shown = published(&settled);
        assert_eq!(shown["evidence"]["source"], Source::RemoteQuery.as_str(), "{shown}");
        // The query's own end is not the command's.
        assert_eq!(shown["exit_status"], serde_json::Value::Null, "{shown}");
        assert_eq!(runs(&sshd), 1, "it ran once");
        let again = run(&open, "held").await;
        assert_eq!((again.request_id(), again.repeated()), (Some(id), true), "{again:?}");
        assert_eq!(runs(&sshd), 1);
        open.close();
    };
    check(&well, None).await;
    check(&badly, Some(Code::RemoteFailed)).await;
}

/// Without a reference at the remote nothing can be asked, and nothing is sent again all the same.
#[tokio::test(flavor = "multi_thread")]
async fn what_nothing_remembers_stays_unknown() {
    let mut sshd = Sshd::start();
    let rig = declaring(&sshd, &Terms::of(&sshd), &[Declared("held", HELD, false)]).await;
    let open = Arc::new(rig.open().await);
    let calling = tokio::spawn({
        let open = Arc::clone(&open);
        async move { run(&open, "held").await }
    });
    appears(&sshd, "began").await;
    sshd.kill();
    let lost = calling.await.unwrap();
    assert_eq!(lost.outcome(), Some(Outcome::Unknown), "{lost:?}");
    sshd.restart();
    let id = lost.request_id().unwrap();
    assert_eq!(open.broker.reconcile(&id).await.unwrap().envelope.outcome(), Some(Outcome::Unknown));
    assert!(run(&open, "held").await.repeated());
    assert_eq!(runs(&sshd), 1);
    std::fs::write(sshd.path("go"), "").unwrap();
    Arc::into_inner(open).unwrap().close();
}
