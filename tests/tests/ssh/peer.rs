//! What OpenSSH's server never does, through the whole host: what is claimed of each against what came.

use crate::world::{published, record, run};
use proofport_core::code::Code;
use proofport_core::contract::{InjectionMode, Outcome, Source};
use proofport_core::ssh::SshRow;
use proofport_tests::rig::{Rig, Stored};
use proofport_tests::ssh_peer::Step::{
    Close, Disconnect, Drop, Eof, Err, Failure, Finished, Out, Signal, Silence, Status, Success,
};
use proofport_tests::ssh_peer::{PASSWORD, Script, SshPeer, Step};
use serde_json::{Value, json};

/// A home whose connection declares commands, each with whether it runs under the call's reference, that
/// the server runs none of.
pub(crate) async fn home(
    peer: &SshPeer,
    mode: InjectionMode,
    secret: &str,
    ssh: &str,
    commands: &[(&str, bool)],
) -> Rig {
    // Whoever says something about keepalives waits for them.
    let deadline = if ssh.is_empty() { 3 } else { 30 };
    let mut toml = format!(
        "[connections.c]\nconnector = \"DIGEST\"\naddresses = [\"127.0.0.1\"]\n\
         [connections.c.limits]\nsetup_attempts = 1\nconnect_seconds = 2\ndeadline_seconds = {deadline}\n\
         [connections.c.ssh]\nhosts = [\"{}\"]\nhost_keys = [\"{}\"]\n{ssh}\n\
         [connections.c.credentials.login]\nsecret = \"login\"\nmode = \"{mode}\"\n",
        peer.account(),
        peer.host_key(),
    );
    for (name, run_once) in commands {
        toml.push_str(&format!(
            "[connections.c.config.commands.{name}]\nargv = [\"effect\"]\nrun_once = {run_once}\n"
        ));
    }
    let destination = peer.destination();
    let login = Stored { name: "login", value: secret, destination: &destination, mode };
    Rig::declared("proofport-connector-ssh-run", &[login], &toml).await
}

async fn usual(peer: &SshPeer, ssh: &str) -> Rig {
    let commands = [("direct", false), ("once", true)];
    home(peer, InjectionMode::SshPassword, PASSWORD, ssh, &commands).await
}

/// One exec, and what is claimed of it.
struct Case {
    /// Which command is called.
    command: &'static str,
    steps: &'static [&'static [Step]],
    ssh: &'static str,
    outcome: Outcome,
    code: Option<Code>,
    row: SshRow,
    exit: Value,
}

async fn check(case: Case) {
    let Case { command, steps, ssh, outcome, code, row, exit } = case;
    let peer = SshPeer::start(Script::new(steps)).await;
    let rig = usual(&peer, ssh).await;
    let open = rig.open().await;
    let envelope = run(&open, command).await;
    assert_eq!((envelope.outcome(), envelope.code()), (Some(outcome), code), "{steps:?}: {envelope:?}");
    let shown = published(&envelope);
    assert_eq!(shown["exit_status"], exit, "{steps:?}: {shown}");
    assert_eq!(shown["evidence"]["dispatch_started"], true, "{steps:?}: {shown}");
    // Nothing that is not whole is shown, and nothing is whole that did not end.
    let whole = shown["evidence"]["response_complete"] == true;
    assert!(whole || shown.get("result").is_none_or(Value::is_null), "{steps:?}: {shown}");
    assert_eq!(envelope.ok(), code.is_none(), "{steps:?}: {shown}");
    let state = record(&open, &envelope);
    assert_eq!(state.attempts.len(), 1, "{steps:?}");
    let end = state.attempts[0].end.as_ref().unwrap();
    assert_eq!(SshRow::of(end.evidence.ssh().unwrap()), row, "{steps:?}: {end:?}");
    assert_eq!(peer.came().execs.len(), 1, "{steps:?}: it was asked once");
    // The same call is met, whatever is claimed, unless it was refused.
    if outcome != Outcome::Rejected {
        let again = run(&open, command).await;
        let same = (again.repeated(), again.request_id(), again.outcome());
        assert_eq!(same, (true, envelope.request_id(), Some(outcome)), "{steps:?}: {again:?}");
        assert_eq!(peer.came().execs.len(), 1, "{steps:?}: it was asked again");
    }
    open.close();
}

/// A direct command that is claimed to have ended.
fn direct(steps: &'static [&'static [Step]], code: Option<Code>, row: SshRow, exit: Value) -> Case {
    Case { command: "direct", steps, ssh: "", outcome: Outcome::Committed, code, row, exit }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_that_was_told_is_claimed() {
    let failed = Some(Code::RemoteFailed);
    let unreadable = Some(Code::ResultUnreadable);
    let status = |status: u32| json!(status);
    for case in [
        direct(&[&[Success, Out("a"), Eof, Status(0), Close]], None, SshRow::Success, status(0)),
        // In another order.
        direct(&[&[Success, Status(0), Out("late"), Eof, Close]], None, SshRow::Success, status(0)),
        direct(&[&[Success, Eof, Status(7), Close]], failed, SshRow::Status, status(7)),
        direct(&[&[Success, Status(255), Eof, Close]], failed, SshRow::Status, status(255)),
        direct(&[&[Success, Status(u32::MAX), Eof, Close]], failed, SshRow::Status, status(u32::MAX)),
        direct(&[&[Success, Signal("KILL"), Eof, Close]], failed, SshRow::Signal, Value::Null),
        // And then the output is cut.
        direct(&[&[Success, Out("a"), Status(0), Drop]], unreadable, SshRow::OutputCut, status(0)),
        direct(&[&[Success, Out("a"), Status(0), Close]], unreadable, SshRow::OutputCut, status(0)),
        direct(&[&[Success, Out("a"), Status(9), Drop]], failed, SshRow::Status, status(9)),
        // The script's own word of its end, and no status.
        Case {
            command: "once",
            ..direct(&[&[Success, Out("a"), Finished(0), Eof, Close]], None, SshRow::Marker, Value::Null)
        },
        Case {
            command: "once",
            ..direct(&[&[Success, Finished(3), Eof, Close]], failed, SshRow::Marker, Value::Null)
        },
        Case {
            command: "once",
            ..direct(&[&[Success, Out("a"), Finished(0), Drop]], unreadable, SshRow::Marker, Value::Null)
        },
    ] {
        check(case).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_that_nobody_told_is_unknown() {
    let (lost, silent) = (Some(Code::RemoteResultIncomplete), Some(Code::OutcomeUnknown));
    let unknown =
        |steps, code, row| Case { outcome: Outcome::Unknown, ..direct(steps, code, row, Value::Null) };
    let asking = "keepalive_seconds = 1";
    for case in [
        unknown(&[&[Success, Close]], lost, SshRow::ClosedWithoutEnd),
        unknown(&[&[Success, Out("a"), Err("b"), Eof, Close]], lost, SshRow::ClosedWithoutEnd),
        unknown(&[&[Success, Drop]], lost, SshRow::TransportLost),
        unknown(&[&[Success, Out("a"), Disconnect]], lost, SshRow::TransportLost),
        unknown(&[&[Close]], silent, SshRow::ClosedWithoutReply),
        // Gone with the answer to a question for a sign of life.
        Case { ssh: asking, ..unknown(&[&[Drop]], silent, SshRow::TransportLost) },
        // Alive, and silent about the command.
        unknown(&[&[]], silent, SshRow::NoReply),
        unknown(&[&[Success]], lost, SshRow::Deadline),
        // A black hole.
        unknown(&[&[Silence]], silent, SshRow::NoReply),
        Case { ssh: asking, ..unknown(&[&[Success, Silence]], lost, SshRow::Keepalive) },
        // It says two things.
        unknown(&[&[Out("a"), Failure]], lost, SshRow::Contradiction),
        unknown(&[&[Success, Status(0), Status(1), Eof, Close]], lost, SshRow::Contradiction),
        // The end of another command's reference is nobody's.
        unknown(&[&[Success, Err("proofport-finished:ppother 0\n"), Drop]], lost, SshRow::TransportLost),
    ] {
        check(case).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_one_and_nothing_ran() {
    let refused = Some(Code::RemoteRejected);
    let rejected =
        |steps| Case { outcome: Outcome::Rejected, ..direct(steps, refused, SshRow::Refused, Value::Null) };
    check(rejected(&[&[Failure]])).await;
    check(rejected(&[&[Failure, Close]])).await;
}

/// A server that never lets it come to an exec.
#[tokio::test(flavor = "multi_thread")]
async fn before_the_exec_nothing_was_attempted() {
    let ends: &[&[Step]] = &[&[Success, Status(0), Eof, Close]];
    let check = async |script: Script, code: Code| {
        let peer = SshPeer::start(script).await;
        let rig = usual(&peer, "").await;
        let open = rig.open().await;
        let envelope = run(&open, "direct").await;
        let claim = (envelope.outcome(), envelope.code());
        assert_eq!(claim, (Some(Outcome::NotAttempted), Some(code)), "{script:?}: {envelope:?}");
        assert!(peer.came().execs.is_empty() && record(&open, &envelope).attempts.is_empty());
        assert_eq!(published(&envelope)["evidence"]["dispatch_started"], false);
        open.close();
    };
    check(Script { banner: 100_000, ..Script::new(ends) }, Code::ConnectFailed).await;
    check(Script { channel: false, ..Script::new(ends) }, Code::ConnectFailed).await;
}

/// Input that the server's window never lets through.
#[tokio::test(flavor = "multi_thread")]
async fn a_window_that_never_opens_is_waited_for_in_vain() {
    let peer = SshPeer::start(Script { window: 0, ..Script::new(&[&[Success]]) }).await;
    let toml = format!(
        "[connections.c]\nconnector = \"DIGEST\"\naddresses = [\"127.0.0.1\"]\n\
         [connections.c.limits]\ndeadline_seconds = 2\n\
         [connections.c.ssh]\nhosts = [\"{}\"]\nhost_keys = [\"{}\"]\n\
         [connections.c.credentials.login]\nsecret = \"login\"\nmode = \"ssh_password\"\n",
        peer.account(),
        peer.host_key(),
    );
    let (destination, mode) = (peer.destination(), InjectionMode::SshPassword);
    let login = Stored { name: "login", value: PASSWORD, destination: &destination, mode };
    let rig = Rig::declared("execs", &[login], &toml).await;
    let open = rig.open().await;
    let envelope = open.call("exec", r#"{"argv":["effect"],"bytes":1000}"#).await;
    let claim = (envelope.outcome(), envelope.code());
    assert_eq!(claim, (Some(Outcome::Unknown), Some(Code::RemoteResultIncomplete)), "{envelope:?}");
    let state = record(&open, &envelope);
    let evidence = state.attempts[0].end.as_ref().unwrap().evidence.ssh().unwrap().clone();
    assert_eq!(SshRow::of(&evidence), SshRow::Deadline, "{evidence:?}");
    assert_eq!((evidence.stdin_bytes, evidence.stdin_complete, peer.came().input), (0, false, 0));
    open.close();
}

/// What a lost command came to is what the remote answers, once it answers.
#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_is_settled_by_what_the_remote_answers() {
    use Outcome::{Committed, Unknown};
    const LOST: &[Step] = &[Success, Drop];
    let check = async |answer: &'static [Step], outcome, code: Option<Code>| {
        let execs: &'static [&'static [Step]] = Box::leak(Box::new([LOST, answer]));
        let peer = SshPeer::start(Script::new(execs)).await;
        let rig = usual(&peer, "").await;
        let open = rig.open().await;
        let lost = run(&open, "once").await;
        assert_eq!(lost.outcome(), Some(Unknown), "{lost:?}");
        let id = lost.request_id().unwrap();
        let _ = open.broker.reconcile(&id).await;
        let found = open.result(&id);
        assert_eq!((found.outcome(), found.code()), (Some(outcome), code), "{answer:?}: {found:?}");
        let shown = published(&found);
        let asked = shown["evidence"]["source"] == Source::RemoteQuery.as_str();
        assert_eq!(asked, outcome != Unknown, "{answer:?}: {shown}");
        let came = peer.came().execs;
        assert_eq!(came.len(), 2, "{answer:?}: {came:?}");
        assert!(came[0].contains("'run' 'pp") && came[1].contains("'status' 'pp"), "{came:?}");
        open.close();
    };
    let (failed, lost) = (Some(Code::RemoteFailed), Some(Code::RemoteResultIncomplete));
    check(&[Success, Out("finished 0\nstdout - -\n"), Eof, Status(0), Close], Committed, None).await;
    check(&[Success, Out("finished 4\nstdout - -\n"), Eof, Status(0), Close], Committed, failed).await;
    check(&[Success, Out("signalled 9\nstdout - -\n"), Eof, Status(0), Close], Committed, failed).await;
    // Too early to be believed, still at work, or no answer to the question.
    check(&[Success, Out("absent\n"), Eof, Status(0), Close], Unknown, lost).await;
    check(&[Success, Out("running\n"), Eof, Status(0), Close], Unknown, lost).await;
    check(&[Success, Out("finished 0\n"), Eof, Status(0), Close], Unknown, lost).await;
    check(&[Success, Out("finished 0\nstdout - -\n"), Eof, Status(1), Close], Unknown, lost).await;
    // Cut, refused, or without an end.
    check(&[Success, Out("finished 0\nstdout - -\n"), Status(0), Drop], Unknown, lost).await;
    check(&[Success, Out("finished 0\nstdout - -\n"), Eof, Close], Unknown, lost).await;
    check(&[Failure, Close], Unknown, lost).await;
}
