//! Input and output at the admin's limits, and one byte above them.

use crate::world::{Declared, Terms, declaring, head, home, published, record, run, runs};
use proofport_core::code::Code;
use proofport_core::contract::Outcome;
use proofport_core::ssh::SshRow;
use proofport_tests::sshd::{Place, Sshd};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// What an answer may be, and a stored content, in these tests.
const MOST: usize = 256 << 10;

/// Output that is not whole is not shown, and what the status says stands.
#[tokio::test(flavor = "multi_thread")]
async fn output_above_the_limit_is_not_shown_as_whole() {
    let sshd = Sshd::start();
    let terms =
        Terms { limits: format!("response_bytes = {MOST}\ncontent_bytes = {MOST}"), ..Terms::of(&sshd) };
    let (within, limit, above) = (MOST - 1024, MOST, MOST + 1);
    let scripts = [
        ("within", format!("echo ran >>RUNS; head -c {within} /dev/zero | tr '\\0' a"), false),
        ("limit", format!("echo ran >>RUNS; head -c {limit} /dev/zero | tr '\\0' a"), false),
        ("above", format!("echo ran >>RUNS; head -c {above} /dev/zero"), false),
        ("aside", format!("echo ran >>RUNS; head -c {above} /dev/zero >&2"), false),
        ("far", "echo ran >>RUNS; head -c 209715200 /dev/zero".to_owned(), false),
        ("badly", format!("echo ran >>RUNS; head -c {above} /dev/zero; exit 9"), false),
        ("once", format!("echo ran >>RUNS; head -c {above} /dev/zero"), true),
    ];
    let declared: Vec<Declared> = scripts
        .into_iter()
        .map(|(name, script, once)| Declared(name, Box::leak(script.into_boxed_str()), once))
        .collect();
    let rig = declaring(&sshd, &terms, &declared).await;
    let open = rig.open().await;
    let mut ran = 0;
    let mut check = async |command: &str, code: Option<Code>, status: u32, row: SshRow, bytes: u64| {
        let envelope = run(&open, command).await;
        ran += 1;
        let claim = (envelope.outcome(), envelope.code());
        assert_eq!(claim, (Some(Outcome::Committed), code), "{command}: {envelope:?}");
        assert_eq!(runs(&sshd), ran, "{command}");
        let shown = published(&envelope);
        let whole = row == SshRow::Success;
        assert_eq!(
            (envelope.ok(), &shown["exit_status"]),
            (code.is_none(), &json!(status)),
            "{command}: {shown}"
        );
        assert!(envelope.ok() || shown.get("result").is_none_or(Value::is_null), "{command}: {shown}");
        assert_eq!(shown["evidence"]["response_complete"], whole, "{command}: {shown}");
        let state = record(&open, &envelope);
        let evidence = state.attempts[0].end.as_ref().unwrap().evidence.ssh().unwrap().clone();
        assert_eq!(SshRow::of(&evidence), row, "{command}: {evidence:?}");
        // All of it was taken from the wire, so that nothing held the command up.
        assert!(evidence.stdout.bytes.max(evidence.stderr.bytes) >= bytes, "{command}: {evidence:?}");
        envelope.request_id().unwrap()
    };
    let (unread, failed) = (Some(Code::ResultUnreadable), Some(Code::RemoteFailed));
    check("within", None, 0, SshRow::Success, within as u64).await;
    check("limit", None, 0, SshRow::Success, limit as u64).await;
    check("above", unread, 0, SshRow::OutputNotTaken, above as u64).await;
    check("aside", unread, 0, SshRow::OutputNotTaken, above as u64).await;
    check("far", unread, 0, SshRow::OutputNotTaken, 200 << 20).await;
    check("badly", failed, 9, SshRow::Status, above as u64).await;
    check("once", unread, 0, SshRow::OutputNotTaken, above as u64).await;
    open.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn input_up_to_the_limit_arrives_whole() {
    const LIMIT: usize = 8 << 20;
    let sshd = Sshd::at(Place::HERE, "LogLevel VERBOSE");
    let terms = Terms { limits: format!("request_bytes = {LIMIT}"), ..Terms::of(&sshd) };
    let rig = home("execs", &sshd, &terms, &head(&sshd, &terms)).await;
    let open = rig.open().await;
    let check = async |bytes: usize, takes: bool| {
        let made = sshd.path(&format!("made-{bytes}"));
        let argv = ["sh", "-c", "sha256sum | cut -c1-64 >\"$1\"", "sh", made.to_str().unwrap()];
        let connections = sshd.logged("Connection from");
        let envelope = open.call("exec", &json!({ "argv": argv, "bytes": bytes }).to_string()).await;
        let state = record(&open, &envelope);
        if !takes {
            let claim = (envelope.outcome(), envelope.code());
            let expected = (Some(Outcome::NotAttempted), Some(Code::PayloadLimit));
            assert_eq!(claim, expected, "{bytes}: {envelope:?}");
            assert!(!made.exists() && state.attempts.is_empty() && state.setup.is_empty(), "{bytes}");
            assert_eq!(sshd.logged("Connection from"), connections, "{bytes}: it was dialled");
            return;
        }
        assert!(envelope.ok(), "{bytes}: {envelope:?}");
        let evidence = state.attempts[0].end.as_ref().unwrap().evidence.ssh().unwrap().clone();
        assert_eq!((evidence.stdin_bytes, evidence.stdin_complete), (bytes as u64, true), "{bytes}");
        let sent: Vec<u8> = (0..=250).cycle().take(bytes).collect();
        let digest = data_encoding::HEXLOWER.encode(&Sha256::digest(&sent));
        assert_eq!(std::fs::read_to_string(made).unwrap().trim(), digest, "{bytes}");
    };
    for bytes in [0, 1, 32 << 10, (2 << 20) + 1, LIMIT] {
        check(bytes, true).await;
    }
    check(LIMIT + 1, false).await;
    open.close();
}

/// A command that reads none of its input ends as it ends.
#[tokio::test(flavor = "multi_thread")]
async fn input_that_nobody_reads_holds_nothing_up() {
    let sshd = Sshd::start();
    let terms = Terms { limits: format!("request_bytes = {}", 8 << 20), ..Terms::of(&sshd) };
    let rig = home("execs", &sshd, &terms, &head(&sshd, &terms)).await;
    let open = rig.open().await;
    let envelope =
        open.call("exec", &json!({ "argv": ["sh", "-c", "exit 4"], "bytes": 8 << 20 }).to_string()).await;
    let claim = (envelope.outcome(), envelope.code(), published(&envelope)["exit_status"].as_u64());
    assert_eq!(claim, (Some(Outcome::Committed), Some(Code::RemoteFailed), Some(4)), "{envelope:?}");
    let state = record(&open, &envelope);
    let evidence = state.attempts[0].end.as_ref().unwrap().evidence.ssh().unwrap().clone();
    assert!(!evidence.stdin_complete, "{evidence:?}");
    open.close();
}
