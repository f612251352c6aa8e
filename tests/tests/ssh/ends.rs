//! How commands end, and what is claimed of each end.

use crate::world::{Declared, Terms, declaring, published, record, run, runs};
use proofport_core::code::Code;
use proofport_core::contract::Outcome;
use proofport_core::event::EventKind;
use proofport_core::exchange::SshExit;
use proofport_core::ssh::SshRow;
use proofport_tests::canary::assert_absent_below;
use proofport_tests::sshd::Sshd;

#[tokio::test(flavor = "multi_thread")]
async fn each_end_is_claimed_as_it_was() {
    let sshd = Sshd::start();
    let commands = [
        Declared("well", "echo ran >>RUNS; printf hello; printf aside >&2", false),
        Declared("badly", "echo ran >>RUNS; exit 23", false),
        Declared("like-ssh", "echo ran >>RUNS; exit 255", false),
        // What would be a refusal of the wrapper's, were it the wrapper.
        Declared("like-refused", "echo ran >>RUNS; exit 120", false),
        Declared("killed", "echo ran >>RUNS; kill -KILL $$", false),
        Declared("once-well", "echo ran >>RUNS; printf once", true),
        Declared("once-badly", "echo ran >>RUNS; exit 23", true),
    ];
    let rig = declaring(&sshd, &Terms::of(&sshd), &commands).await;
    let open = rig.open().await;
    let mut ran = 0;
    let mut check = async |command: &str, code: Option<Code>, status: &[Option<u32>], row: SshRow| {
        let envelope = run(&open, command).await;
        ran += 1;
        assert_eq!(runs(&sshd), ran, "{command}");
        assert_eq!((envelope.outcome(), envelope.code()), (Some(Outcome::Committed), code), "{envelope:?}");
        let shown = published(&envelope);
        let exit = shown["exit_status"].as_u64().map(|status| u32::try_from(status).unwrap());
        assert!(status.contains(&exit), "{command}: {shown}");
        for field in ["dispatch_started", "response_complete", "command_accepted", "stdout_complete"] {
            assert_eq!(shown["evidence"][field], true, "{command}: {shown}");
        }
        assert_eq!(shown["evidence"]["response_headers_received"], false);
        assert!(envelope.http_status().is_none());
        let state = record(&open, &envelope);
        let end = state.attempts[0].end.as_ref().unwrap();
        assert_eq!(SshRow::of(end.evidence.ssh().unwrap()), row, "{command}: {end:?}");
        assert!(!end.above_ceiling && end.connector_fault.is_none(), "{command}: {end:?}");
        (envelope, state)
    };
    let (well, state) = check("well", None, &[Some(0)], SshRow::Success).await;
    assert_eq!(well.result().unwrap()["stdout"], "hello");
    assert_eq!(state.binding.unwrap().ssh_hosts[0].to_string(), sshd.account());
    let ended = state.attempts[0].end.as_ref().unwrap();
    assert_eq!(ended.evidence.exit(), Some(&SshExit::Status(0)));
    // Acceptance to dispatch in one commit, everything else in the other.
    let id = well.request_id().unwrap();
    let kinds: Vec<_> = open.broker.timeline(&id).unwrap().iter().map(|r| r.event.kind()).collect();
    for kind in [EventKind::DispatchStarted, EventKind::RemoteResponseComplete, EventKind::ResultCommitted] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    let diagnostic = open.broker.diagnostic(&id).unwrap().unwrap();
    let protected = diagnostic.protected().unwrap();
    assert_eq!(protected.destination, Some(format!("ssh://{}", sshd.account())));
    assert_eq!((protected.command.as_deref(), protected.method.as_deref()), (Some("sh"), None));

    let failed = Some(Code::RemoteFailed);
    check("badly", failed, &[Some(23)], SshRow::Status).await;
    check("like-ssh", failed, &[Some(255)], SshRow::Status).await;
    check("like-refused", failed, &[Some(120)], SshRow::Status).await;
    // Some login shells stay around and tell of a signal by a status.
    let (_, state) = {
        let envelope = run(&open, "killed").await;
        assert_eq!((envelope.outcome(), envelope.code()), (Some(Outcome::Committed), failed), "{envelope:?}");
        let exit = published(&envelope)["exit_status"].as_u64();
        assert!(matches!(exit, None | Some(137)), "{envelope:?}");
        let state = record(&open, &envelope);
        (envelope, state)
    };
    let exit = state.attempts[0].end.as_ref().unwrap().evidence.exit().cloned();
    assert!(
        [SshExit::Signal("KILL".to_owned()), SshExit::Status(137)].contains(exit.as_ref().unwrap()),
        "{exit:?}"
    );
    let (once, _) = {
        let envelope = run(&open, "once-well").await;
        let state = record(&open, &envelope);
        (envelope, state)
    };
    assert!(once.ok(), "{once:?}");
    assert_eq!(once.result().unwrap()["stdout"], "once");
    let badly = run(&open, "once-badly").await;
    assert_eq!((badly.code(), published(&badly)["exit_status"].as_u64()), (failed, Some(23)));
    assert_eq!(runs(&sshd), 7);
    // Calling again meets what was done.
    let again = run(&open, "well").await;
    assert!(again.ok() && again.repeated() && again.request_id() == well.request_id(), "{again:?}");
    assert_eq!(runs(&sshd), 7);
    open.close();
}

/// The private key is in no file of the home, and not in an answer that a command prints it into.
#[tokio::test(flavor = "multi_thread")]
async fn the_key_is_nowhere() {
    let sshd = Sshd::start();
    let rig = declaring(
        &sshd,
        &Terms::of(&sshd),
        &[Declared("leak", "cat HERE/user; cat HERE/user >&2", false), Declared("well", "echo well", false)],
    )
    .await;
    let open = rig.open().await;
    assert!(run(&open, "well").await.ok());
    let leaked = run(&open, "leak").await;
    assert_eq!(leaked.outcome(), Some(Outcome::Committed), "{leaked:?}");
    let state = record(&open, &leaked);
    let evidence = state.attempts[0].end.as_ref().unwrap().evidence.clone();
    assert!(evidence.masked() > 0 || evidence.withheld(), "{evidence:?}");
    let told = format!("{leaked:?} {:?}", open.broker.diagnostic(&leaked.request_id().unwrap()).unwrap());
    // The lines in which the key's private numbers stand.
    let key = sshd.user_key();
    let lines: Vec<&str> = key.lines().filter(|line| !line.starts_with("-----")).collect();
    for line in &lines[2..lines.len() - 1] {
        assert!(!told.contains(line), "{told}");
        assert_absent_below(line, &rig.home());
    }
    open.close();
    for line in &lines[2..lines.len() - 1] {
        assert_absent_below(line, &rig.home());
    }
}
