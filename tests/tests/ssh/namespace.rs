//! A network that is cut while a command runs: nobody says a word, and the command runs on.

use crate::world::{Declared, Terms, appears, declaring, published, record, run, runs};
use proofport_core::code::Code;
use proofport_core::contract::{Outcome, Source};
use proofport_core::ssh::SshRow;
use proofport_tests::cable::{Cable, is_alone};
use proofport_tests::sshd::Sshd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Runs until it is let go, or the test is over, and tells that it ended.
const HELD: &str = "echo ran >>RUNS; : >HERE/began; while [ -e HERE/began ] && [ ! -e HERE/go ]; do sleep 0.05; done; printf out; : >HERE/ended";

/// What may take longer than it is allowed: the host's own work and a slow machine's.
const SLACK: Duration = Duration::from_secs(10);

/// What a host does about silence.
struct Patience {
    /// Its keepalives.
    ssh: &'static str,
    /// Its deadline.
    limits: &'static str,
    /// How long it may take to give up.
    most: Duration,
    /// What it saw.
    row: SshRow,
}

async fn check(cable: &Cable, patience: &Patience) {
    let sshd = Sshd::at(cable.far_end(), "");
    let usual = Terms::of(&sshd);
    let host_keys = format!("{}\n{}", usual.host_keys, patience.ssh);
    let terms = Terms { host_keys, limits: patience.limits.to_owned(), ..usual };
    let rig = declaring(&sshd, &terms, &[Declared("held", HELD, true)]).await;
    let open = Arc::new(rig.open().await);
    let calling = tokio::spawn({
        let open = Arc::clone(&open);
        async move { run(&open, "held").await }
    });
    appears(&sshd, "began").await;
    cable.cut();
    let since = Instant::now();
    let lost = calling.await.unwrap();
    assert!(since.elapsed() < patience.most + SLACK, "{:?}", since.elapsed());
    // The server had taken the command on.
    let expected = (Some(Outcome::Unknown), Some(Code::RemoteResultIncomplete));
    assert_eq!((lost.outcome(), lost.code()), expected, "{lost:?}");
    let shown = published(&lost);
    for (field, value) in
        [("dispatch_started", true), ("command_accepted", true), ("response_complete", false)]
    {
        assert_eq!(shown["evidence"][field], value, "{shown}");
    }
    assert_eq!(shown["exit_status"], serde_json::Value::Null, "{shown}");
    let state = record(&open, &lost);
    let end = state.attempts[0].end.as_ref().unwrap();
    let evidence = end.evidence.ssh().unwrap();
    assert_eq!(SshRow::of(evidence), patience.row, "{evidence:?}");
    assert!(!sshd.path("ended").exists(), "it was told to end before it was let go");

    // It ends while nobody can see it, and the answer stays what it was.
    std::fs::write(sshd.path("go"), "").unwrap();
    appears(&sshd, "ended").await;
    let id = lost.request_id().unwrap();
    let again = run(&open, "held").await;
    assert_eq!((again.request_id(), again.repeated()), (Some(id), true), "{again:?}");
    assert_eq!(again.outcome(), Some(Outcome::Unknown));
    assert!(open.broker.reconcile(&id).await.is_err(), "nobody can be asked through a cut cable");

    cable.mend();
    let settled = loop {
        match open.broker.reconcile(&id).await {
            Ok(delivery) if delivery.envelope.outcome() != Some(Outcome::Unknown) => break delivery.envelope,
            // The cable is there before its carrier is, and the script may still write down the end.
            Ok(_) | Err(_) => tokio::task::yield_now().await,
        }
    };
    assert!(settled.ok() && settled.outcome() == Some(Outcome::Committed), "{settled:?}");
    let shown = published(&settled);
    assert_eq!(shown["evidence"]["source"], Source::RemoteQuery.as_str(), "{shown}");
    assert_eq!(shown["result"]["stdout_bytes"], 3, "{shown}");
    assert_eq!(runs(&sshd), 1, "it ran once");
    Arc::into_inner(open).unwrap().close();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_network_leaves_a_command_unknown_until_it_is_asked_for() {
    if !is_alone("namespace::a_cut_network_leaves_a_command_unknown_until_it_is_asked_for") {
        return;
    }
    let cable = Cable::lay();
    // Three questions for a sign of life, a second apart.
    let keepalive = Patience {
        ssh: "keepalive_seconds = 1",
        limits: "deadline_seconds = 60\nconnect_seconds = 1",
        most: Duration::from_secs(5),
        row: SshRow::Keepalive,
    };
    check(&cable, &keepalive).await;
    let deadline = Patience {
        ssh: "",
        limits: "deadline_seconds = 3\nconnect_seconds = 1",
        most: Duration::from_secs(3),
        row: SshRow::Deadline,
    };
    check(&cable, &deadline).await;
}

/// A cut that is shorter than the host's patience is nobody's loss.
#[tokio::test(flavor = "multi_thread")]
async fn a_short_cut_is_waited_out() {
    if !is_alone("namespace::a_short_cut_is_waited_out") {
        return;
    }
    let cable = Cable::lay();
    let sshd = Sshd::at(cable.far_end(), "");
    let rig = declaring(&sshd, &Terms::of(&sshd), &[Declared("held", HELD, false)]).await;
    let open = Arc::new(rig.open().await);
    let calling = tokio::spawn({
        let open = Arc::clone(&open);
        async move { run(&open, "held").await }
    });
    appears(&sshd, "began").await;
    cable.cut();
    std::fs::write(sshd.path("go"), "").unwrap();
    appears(&sshd, "ended").await;
    assert!(!calling.is_finished(), "its end is not seen through a cut cable");
    cable.mend();
    let envelope = calling.await.unwrap();
    assert!(envelope.ok(), "{envelope:?}");
    assert_eq!(envelope.result().unwrap()["stdout"], "out");
    assert_eq!((record(&open, &envelope).attempts.len(), runs(&sshd)), (1, 1));
    Arc::into_inner(open).unwrap().close();
}
