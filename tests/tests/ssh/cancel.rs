//! A caller who cancels: what the remote command gets to hear, and what is claimed of it.

use crate::world::{Declared, Terms, appears, declaring, head, home, published, record, runs};
use proofport_core::code::Code;
use proofport_core::contract::Outcome;
use proofport_core::event::EventKind;
use proofport_core::ssh::SshRow;
use proofport_tests::rig::{Open, Rig, caller};
use proofport_tests::sshd::Sshd;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// Counts itself, says that it has begun, and waits until it is let go.
const HELD: &str = "echo ran >>HERE/runs; : >HERE/began; while [ ! -e HERE/go ]; do sleep 0.05; done;";

struct Expected {
    claims: &'static [(Outcome, Code)],
    /// What the server told of the end: one of these, since some login shells turn a signal into a status.
    exit: &'static [Option<u64>],
    confirmed: Option<bool>,
    rows: &'static [SshRow],
}

/// Its end was told, by a signal or as a status.
const STOPPED: Expected = Expected {
    claims: &[(Outcome::Committed, Code::RemoteFailed)],
    exit: &[None, Some(143)],
    confirmed: Some(true),
    rows: &[SshRow::Signal, SshRow::Status],
};

/// Nobody knows.
const UNKNOWN: Expected = Expected {
    claims: &[(Outcome::Unknown, Code::CallerCancelled)],
    exit: &[None],
    confirmed: None,
    rows: &[SshRow::Cancelled],
};

/// Cancels a call whose command has begun; says whether the command was let run on.
async fn check(sshd: &Sshd, rig: &Rig, operation: &'static str, input: String, expected: Expected) -> Open {
    let open = Arc::new(rig.open().await);
    let calling = tokio::spawn({
        let open = Arc::clone(&open);
        let input = input.clone();
        async move { open.call(operation, &input).await }
    });
    appears(sshd, "began").await;
    let id = open.broker.journal().invocations(2).unwrap()[0];
    let told = open.broker.cancel(&id, &caller()).await.envelope;
    let envelope = calling.await.unwrap();
    let what = format!("{operation} {input}: {envelope:?}");
    let claim = (envelope.outcome().unwrap(), envelope.code().unwrap());
    assert!(expected.claims.contains(&claim), "{what}");
    // What is proved when it is asked: nothing yet, or already the end.
    assert!([Some(Outcome::Unknown), Some(claim.0)].contains(&told.outcome()), "{told:?}");
    let shown = published(&envelope);
    assert!(expected.exit.contains(&shown["exit_status"].as_u64()), "{what}");
    let confirmed = expected.confirmed.map_or(Value::Null, Value::Bool);
    assert_eq!(shown["evidence"]["stop_confirmed"], confirmed, "{what}");
    let state = record(&open, &envelope);
    let row = SshRow::of(state.attempts[0].end.as_ref().unwrap().evidence.ssh().unwrap());
    assert!(expected.rows.contains(&row), "{what}: {row}");
    // What the caller wants is on record before anything is done about it.
    let kinds: Vec<_> = open.broker.timeline(&id).unwrap().iter().map(|r| r.event.kind()).collect();
    let at = |kind: EventKind| kinds.iter().position(|known| *known == kind).unwrap();
    assert!(at(EventKind::DispatchStarted) < at(EventKind::CancelRequested), "{kinds:?}");
    assert!(at(EventKind::CancelRequested) < at(EventKind::AttemptEnded), "{kinds:?}");
    // It was sent once, and calling again sends nothing.
    let again = open.call(operation, &input).await;
    assert_eq!((again.request_id(), again.repeated()), (Some(id), true), "{what}");
    assert_eq!(runs(sshd), 1, "{what}");
    Arc::into_inner(open).unwrap()
}

fn script(sshd: &Sshd, script: &str) -> String {
    let script = script.replace("HERE/", &sshd.path("").display().to_string());
    serde_json::json!({ "argv": ["sh", "-c", script] }).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_may_be_stopped_is_asked_first() {
    let check = async |text: String, expected: Expected| {
        let sshd = Sshd::start_apart();
        let terms = Terms::of(&sshd);
        let rig = home("execs", &sshd, &terms, &head(&sshd, &terms)).await;
        check(&sshd, &rig, "stoppable", script(&sshd, &text), expected).await.close();
    };
    check(HELD.to_owned(), STOPPED).await;
    // What it makes of the signal is its own affair, and is what is told.
    let orderly = Expected { exit: &[None, Some(9)], ..STOPPED };
    check(format!("trap 'exit 9' TERM; {HELD}"), orderly).await;
    // A login shell that stays around dies in its place: that is not the command's end.
    let deaf = Expected { confirmed: Some(false), ..UNKNOWN };
    check(format!("trap : TERM; {HELD}"), deaf).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_may_not_be_stopped_runs_on() {
    let sshd = Sshd::start_apart();
    let terms = Terms::of(&sshd);
    let rig = home("execs", &sshd, &terms, &head(&sshd, &terms)).await;
    let text = format!("trap '' HUP PIPE; {HELD} : >HERE/done");
    let open = check(&sshd, &rig, "exec", script(&sshd, &text), UNKNOWN).await;
    assert!(!sshd.path("done").exists());
    std::fs::write(sshd.path("go"), "").unwrap();
    appears(&sshd, "done").await;
    open.close();
}

/// The command is in a session of its own, and hears it all the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_under_a_reference_passes_the_word_on() {
    let sshd = Sshd::start_apart();
    let rig = declaring(&sshd, &Terms::of(&sshd), &[Declared("held", HELD, true)]).await;
    let open = check(&sshd, &rig, "run", "{\"command\":\"held\"}".to_owned(), STOPPED).await;
    // The remote remembers how it ended.
    let state = sshd.path("state").join("proofport");
    let reference = std::fs::read_dir(&state).unwrap().next().unwrap().unwrap().path();
    let result = std::fs::read_to_string(reference.join("result")).unwrap();
    assert!(result.starts_with("signalled 15 ") || result.starts_with("finished 143 "), "{result}");
    let pid = std::fs::read_to_string(reference.join("command")).unwrap();
    let pid = pid.split(' ').next().unwrap();
    assert!(!Path::new("/proc").join(pid).join("exe").exists(), "it runs on");
    open.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_ends_with_its_channel() {
    let sshd = Sshd::start_apart();
    let terms = Terms::of(&sshd);
    let rig = home("execs", &sshd, &terms, &head(&sshd, &terms)).await;
    let open = Arc::new(rig.open().await);
    let input = serde_json::json!({ "argv": [sshd.path("look").display().to_string()] }).to_string();
    let calling = tokio::spawn({
        let open = Arc::clone(&open);
        async move { open.call("look", &input).await }
    });
    appears(&sshd, "look.began").await;
    open.broker.cancel_all();
    let envelope = calling.await.unwrap();
    let got = (envelope.outcome(), envelope.code());
    assert_eq!(got, (Some(Outcome::Unknown), Some(Code::RemoteResultIncomplete)), "{envelope:?}");
    let state = record(&open, &envelope);
    assert!(state.cancel_requested && state.queries.len() == 1, "{state:?}");
    assert_eq!(SshRow::of(state.queries[0].evidence.ssh().unwrap()), SshRow::Cancelled);
    std::fs::write(sshd.path("look.go"), "").unwrap();
    Arc::into_inner(open).unwrap().close();
}
