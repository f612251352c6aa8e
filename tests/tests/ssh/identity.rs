//! Whom a connection believes: what an admin wrote down, and nothing that a server says of itself.

use crate::world::{Declared, Terms, appears, declaring, published, record, run, runs};
use proofport_core::code::Code;
use proofport_core::contract::{Outcome, Stage};
use proofport_core::envelope::Envelope;
use proofport_core::event::StopDetail;
use proofport_core::evidence::Cause;
use proofport_tests::rig::Open;
use proofport_tests::sshd::Sshd;
use std::process::Command;
use std::sync::Arc;

const ONE: [Declared; 1] = [Declared("one", "echo ran >>RUNS", false)];

const UNKNOWN: Option<Cause> = Some(Cause::HostKeyUnknown);
const REVOKED: Option<Cause> = Some(Cause::HostKeyRevoked);
const INVALID: Option<Cause> = Some(Cause::HostCertificateInvalid);

/// Calls under these lines of `[connections.c.ssh]`. Without a cause the server is believed.
async fn check(sshd: &Sshd, lines: &str, cause: Option<Cause>) {
    let (before, logins) = (runs(sshd), sshd.logged("Accepted"));
    let terms = Terms { host_keys: lines.to_owned(), ..Terms::of(sshd) };
    let rig = declaring(sshd, &terms, &ONE).await;
    let open = rig.open().await;
    let envelope = run(&open, "one").await;
    match cause {
        None => assert!(envelope.ok() && runs(sshd) == before + 1, "{lines}: {envelope:?}"),
        Some(cause) => {
            assert_unverified(sshd, &open, &envelope, cause, lines);
            assert_eq!((runs(sshd), sshd.logged("Accepted")), (before, logins), "{lines}");
        }
    }
    open.close();
}

/// The caller learns that the peer is not verified and nothing of what it showed; the operator does.
fn assert_unverified(sshd: &Sshd, open: &Open, envelope: &Envelope, cause: Cause, case: &str) {
    let claim = (envelope.outcome(), envelope.code());
    assert_eq!(claim, (Some(Outcome::NotAttempted), Some(Code::PeerUnverified)), "{case}: {envelope:?}");
    let state = record(open, envelope);
    assert!(state.attempts.is_empty(), "{case}: {state:?}");
    let stages: Vec<_> = state.setup.iter().map(|attempt| (attempt.stage, attempt.cause)).collect();
    assert_eq!(stages, [(Stage::HostVerified, Some(cause))], "{case}: it is tried once");
    assert_eq!(state.stopped.unwrap().detail, StopDetail::Setup { cause }, "{case}");
    let shown = published(envelope).to_string();
    let key = sshd.host_key();
    let fingerprint = fingerprint(sshd, "host.pub");
    let folder = sshd.path("").display().to_string();
    for part in key.split(' ').chain([&fingerprint[..], "SHA256", &folder, &sshd.socket(), "127.0.0.1"]) {
        assert!(!shown.contains(part), "{case}: {part} in {shown}");
    }
}

fn fingerprint(sshd: &Sshd, file: &str) -> String {
    let out = Command::new("/usr/bin/ssh-keygen").args(["-l", "-f"]).arg(sshd.path(file)).output().unwrap();
    String::from_utf8(out.stdout).unwrap().split(' ').nth(1).unwrap().to_owned()
}

fn quoted(lines: &[&str]) -> String {
    let quoted: Vec<String> = lines.iter().map(|line| format!("\"{}\"", line.trim())).collect();
    format!("[{}]", quoted.join(", "))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_believed_where_it_was_written_down() {
    let sshd = Sshd::start();
    let other = sshd.key("other", "");
    let (key, printed) = (sshd.host_key(), fingerprint(&sshd, "host.pub"));
    for (keys, cause) in
        [(&[&key[..]][..], None), (&[&printed], None), (&[&other, &key], None), (&[&other], UNKNOWN)]
    {
        check(&sshd, &format!("host_keys = {}", quoted(keys)), cause).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_known_hosts_file_says_what_it_says_to_ssh() {
    let sshd = Sshd::start();
    let other = sshd.key("other", "");
    let key = sshd.host_key();
    let port = sshd.port();
    let check = async |text: String, hashed: bool, cause: Option<Cause>| {
        let file = sshd.path("known");
        std::fs::write(&file, text).unwrap();
        if hashed {
            sshd.keygen(&["-q", "-H", "-f", "known"]);
            assert!(std::fs::read_to_string(&file).unwrap().starts_with("|1|"));
        }
        check(&sshd, &format!("known_hosts = \"{}\"", file.display()), cause).await;
    };
    let line = format!("[127.0.0.1]:{port} {key}\n");
    check(line.clone(), false, None).await;
    check(line.clone(), true, None).await;
    check(format!("# a comment\n\nother.example {other}\n{line}"), false, None).await;
    check(format!("[127.0.0.1]:{port} {other}"), false, UNKNOWN).await;
    check(format!("[127.0.0.1]:{port} {other}"), true, UNKNOWN).await;
    // Of another port, and of another host.
    let another = format!("[127.0.0.1]:{port} {other}");
    check(format!("127.0.0.1 {key}\n{another}"), false, UNKNOWN).await;
    check(format!("[127.0.0.2]:{port} {key}\n{another}"), false, UNKNOWN).await;
    check(format!("@revoked * {key}\n{line}"), false, REVOKED).await;
    check(format!("{line}@revoked [127.0.0.1]:{port} {key}\n"), false, REVOKED).await;
    check(format!("{line}@revoked * {other}\n"), false, None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authority_speaks_for_the_hosts_that_it_names() {
    let mut sshd = Sshd::start();
    let (authority, stranger) = (sshd.key("authority", ""), sshd.key("stranger", ""));
    let port = sshd.port();
    let trusting = |key: &str| format!("host_authorities = {}", quoted(&[key]));
    let pinned = format!("host_keys = {}", quoted(&[&sshd.host_key()]));
    let here = "127.0.0.1";
    for (by, name, span, lines, cause) in [
        ("authority", here, "-1h:+1h", trusting(&authority), None),
        ("authority", "elsewhere.example", "-1h:+1h", trusting(&authority), INVALID),
        ("authority", here, "-2h:-1h", trusting(&authority), INVALID),
        ("authority", here, "+1h:+2h", trusting(&authority), INVALID),
        ("stranger", here, "-1h:+1h", trusting(&authority), INVALID),
        ("authority", here, "-1h:+1h", trusting(&stranger), INVALID),
        // Its key is known whatever became of the certificate.
        ("authority", here, "-2h:-1h", pinned.clone(), None),
    ] {
        let _ = std::fs::remove_file(sshd.path("host-cert.pub"));
        sshd.keygen(&["-q", "-s", by, "-I", "it", "-h", "-n", name, "-V", span, "host.pub"]);
        sshd.reconfigure(&format!("HostCertificate {}", sshd.path("host-cert.pub").display()));
        check(&sshd, &lines, cause).await;
    }
    // The same from a file.
    sshd.keygen(&["-q", "-s", "authority", "-I", "it", "-h", "-n", here, "-V", "-1h:+1h", "host.pub"]);
    sshd.reconfigure(&format!("HostCertificate {}", sshd.path("host-cert.pub").display()));
    let file = sshd.path("known");
    let from_file = format!("known_hosts = \"{}\"", file.display());
    let another = format!("[127.0.0.1]:{port} {stranger}");
    for (text, cause) in [
        (format!("@cert-authority [127.0.0.1]:{port} {authority}"), None),
        (format!("@cert-authority elsewhere.example {authority}{another}"), UNKNOWN),
        (format!("@cert-authority * {authority}@revoked * {authority}"), REVOKED),
        // The line of a key makes no authority of it.
        (format!("[127.0.0.1]:{port} {authority}"), UNKNOWN),
    ] {
        std::fs::write(&file, text).unwrap();
        check(&sshd, &from_file, cause).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_key_waits_for_the_admins_word() {
    let mut sshd = Sshd::start();
    let rig = declaring(&sshd, &Terms::of(&sshd), &ONE).await;
    let open = rig.open().await;
    let call = async |open: &Open, key: &str| open.call_with("run", r#"{"command":"one"}"#, Some(key)).await;
    assert!(call(&open, "first").await.ok());
    let known = sshd.host_key();
    sshd.change_host_key();
    let changed = call(&open, "second").await;
    assert_unverified(&sshd, &open, &changed, Cause::HostKeyUnknown, "changed");
    // Nothing was learnt by asking, and nothing is by starting again.
    open.close();
    let open = rig.open().await;
    let still = call(&open, "second").await;
    assert_unverified(&sshd, &open, &still, Cause::HostKeyUnknown, "started again");
    open.close();
    assert_eq!((runs(&sshd), sshd.logged("Accepted")), (1, 1));

    let config = rig.home().join("proofport.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    assert!(text.contains(&known));
    std::fs::write(&config, text.replace(&known, &sshd.host_key())).unwrap();
    let open = rig.open().await;
    let again = call(&open, "second").await;
    assert!(again.ok() && !again.repeated(), "{again:?}");
    assert_eq!(runs(&sshd), 2);
    open.close();
}

/// Another host may answer under the name: what became of a command is not asked of it.
#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_is_not_asked_of_a_stranger() {
    const HELD: &str =
        "echo ran >>RUNS; : >HERE/began; while [ -e HERE/began ] && [ ! -e HERE/go ]; do sleep 0.05; done";
    let mut sshd = Sshd::start();
    let rig = declaring(&sshd, &Terms::of(&sshd), &[Declared("held", HELD, true)]).await;
    let open = Arc::new(rig.open().await);
    let calling = tokio::spawn({
        let open = Arc::clone(&open);
        async move { run(&open, "held").await }
    });
    appears(&sshd, "began").await;
    sshd.change_host_key();
    let lost = calling.await.unwrap();
    assert_eq!(lost.outcome(), Some(Outcome::Unknown), "{lost:?}");
    let id = lost.request_id().unwrap();
    let asked = open.broker.reconcile(&id).await;
    assert!(asked.is_err(), "a stranger's word is none");
    assert_eq!(open.result(&id).outcome(), Some(Outcome::Unknown));
    assert_eq!((runs(&sshd), sshd.logged("Accepted")), (1, 1), "nobody logged in to it");
    std::fs::write(sshd.path("go"), "").unwrap();
    Arc::into_inner(open).unwrap().close();
}
