//! Whom a connection believes, and what logs in: each failure before anything ran, and said to the operator
//! in more words than to the caller.

use crate::world::{Declared, Terms, declaring, record, run, runs};
use proofport_core::code::Code;
use proofport_core::contract::{Outcome, Stage};
use proofport_core::event::{CredentialRefusal, StopDetail};
use proofport_core::evidence::{Cause, Hop};
use proofport_tests::sshd::Sshd;

const ONE: [Declared; 1] = [Declared("one", "echo ran >>RUNS", false)];

/// Runs the command under these terms; gives the last stage that was entered, if any was, and why it
/// stopped.
async fn stopped(sshd: &Sshd, terms: &Terms, code: Code) -> (Option<Stage>, StopDetail) {
    let rig = declaring(sshd, terms, &ONE).await;
    let open = rig.open().await;
    let envelope = run(&open, "one").await;
    assert_eq!(
        (envelope.outcome(), envelope.code()),
        (Some(Outcome::NotAttempted), Some(code)),
        "{envelope:?}"
    );
    assert_eq!(runs(sshd), 0);
    let state = record(&open, &envelope);
    assert!(state.attempts.is_empty() && state.setup.len() < 2, "{state:?}");
    open.close();
    (state.setup.last().map(|attempt| attempt.stage), state.stopped.unwrap().detail)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_is_the_one_that_is_known() {
    let sshd = Sshd::start();
    let other = sshd.key("other", "");
    let terms = |host_keys: String| Terms { host_keys, ..Terms::of(&sshd) };
    let unknown = terms(format!("host_keys = [\"{}\"]", other.trim()));
    let (stage, why) = stopped(&sshd, &unknown, Code::PeerUnverified).await;
    assert_eq!(stage, Some(Stage::HostVerified));
    assert_eq!(why, StopDetail::Setup { cause: Cause::HostKeyUnknown });
    let (address, key) = (sshd.destination().replace("ssh://", ""), sshd.host_key());
    let (host, port) = address.split_once(':').unwrap();
    let file = sshd.path("known_hosts");
    std::fs::write(&file, format!("@revoked * {key}\n[{host}]:{port} {key}\n")).unwrap();
    let revoked = terms(format!("known_hosts = \"{}\"", file.display()));
    let (_, why) = stopped(&sshd, &revoked, Code::PeerUnverified).await;
    assert_eq!(why, StopDetail::Setup { cause: Cause::HostKeyRevoked });
    // And by the same file without that line it is known.
    std::fs::write(&file, format!("other.example {other}\n[{host}]:{port} {key}\n")).unwrap();
    let rig = declaring(&sshd, &revoked, &ONE).await;
    let open = rig.open().await;
    assert!(run(&open, "one").await.ok());
    assert_eq!(runs(&sshd), 1);
    open.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_that_fails_runs_nothing() {
    let sshd = Sshd::start();
    sshd.key("stranger", "");
    sshd.keygen(&["-q", "-p", "-N", "open, please", "-f", "user"]);
    let read = |name: &str| std::fs::read_to_string(sshd.path(name)).unwrap();
    let terms = |key: String, passphrase: Option<&str>| Terms {
        key,
        passphrase: passphrase.map(str::to_owned),
        ..Terms::of(&sshd)
    };
    let (stage, why) = stopped(&sshd, &terms(read("stranger"), None), Code::LoginFailed).await;
    assert_eq!(stage, Some(Stage::UserAuth));
    assert_eq!(why, StopDetail::Setup { cause: Cause::LoginRefused });

    let refused = async |terms: Terms, expected: CredentialRefusal| {
        let (stage, why) = stopped(&sshd, &terms, Code::CredentialUnavailable).await;
        assert_eq!(stage, None, "nothing is dialled");
        assert!(matches!(why, StopDetail::Credential { refusal, .. } if refusal == expected), "{why:?}");
    };
    refused(terms(read("user"), Some("open, sesame")), CredentialRefusal::WrongPassphrase).await;
    refused(terms(read("user"), None), CredentialRefusal::WrongPassphrase).await;
    refused(terms("no key at all".to_owned(), None), CredentialRefusal::UnreadableKey).await;
    // A certificate of this very key, whose time is over.
    sshd.key("authority", "");
    sshd.keygen(&["-q", "-s", "authority", "-I", "me", "-n", "root", "-V", "20200101:20200102", "user.pub"]);
    let certificate = format!("certificate = \"{}\"", sshd.path("user-cert.pub").display());
    let expired = Terms { more: certificate, ..terms(read("user"), Some("open, please")) };
    refused(expired, CredentialRefusal::CertificateTime).await;

    let rig = declaring(&sshd, &terms(read("user"), Some("open, please")), &ONE).await;
    let open = rig.open().await;
    assert!(run(&open, "one").await.ok());
    assert_eq!(runs(&sshd), 1);
    open.close();
}

/// Through a jump host, here the same server once more, whose keys and login are judged like the target's.
#[tokio::test(flavor = "multi_thread")]
async fn a_jump_host_leads_there() {
    let sshd = Sshd::start();
    let other = sshd.key("other", "");
    let through = |keys: &str| {
        let known = format!("host_keys = [\"{}\"]", sshd.host_key());
        let jump = format!("host = \"{}\"\nhost_keys = [\"{keys}\"]", sshd.account());
        let login = "secret = \"login\"\nmode = \"ssh_key\"";
        Terms { host_keys: format!("{known}\n[connections.c.ssh.jump]\n{jump}\n{login}"), ..Terms::of(&sshd) }
    };
    let (stage, why) = stopped(&sshd, &through(other.trim()), Code::PeerUnverified).await;
    assert_eq!(stage, Some(Stage::HostVerified));
    assert_eq!(why, StopDetail::Setup { cause: Cause::HostKeyUnknown });
    let rig = declaring(&sshd, &through(&sshd.host_key()), &ONE).await;
    let open = rig.open().await;
    let envelope = run(&open, "one").await;
    assert!(envelope.ok(), "{envelope:?}");
    let hops: Vec<_> = record(&open, &envelope).setup.iter().map(|attempt| attempt.hop).collect();
    assert_eq!((hops, runs(&sshd)), (vec![Hop::Direct, Hop::Tunnel], 1));
    open.close();
}
