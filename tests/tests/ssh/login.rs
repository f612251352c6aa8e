//! What logs in, and what an account makes of a command. Who is refused has run nothing, and an account that
//! runs something else is not believed to have run what it was asked for.

use crate::peer::home as peer_home;
use crate::world::{Declared, Terms, declaring, published, record, run, runs};
use proofport_core::code::Code;
use proofport_core::contract::{InjectionMode, Outcome, Stage};
use proofport_core::event::{CredentialRefusal, StopDetail};
use proofport_core::evidence::Cause;
use proofport_tests::canary::{assert_absent, assert_absent_below};
use proofport_tests::ssh_peer::Step::{Close, Eof, Status, Success};
use proofport_tests::ssh_peer::{PASSWORD, Round, Script, SshPeer};
use proofport_tests::sshd::{Place, Sshd};

/// What becomes of a login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Login {
    In,
    /// The server refuses it.
    Refused,
    /// It is not tried, for this reason.
    Unusable(CredentialRefusal),
}

async fn check(sshd: &Sshd, key: &str, passphrase: Option<&str>, more: &str, expected: Login) {
    let text = std::fs::read_to_string(sshd.path(key)).unwrap();
    let passphrase = passphrase.map(str::to_owned);
    let terms = Terms { key: text, passphrase, more: more.to_owned(), ..Terms::of(sshd) };
    let (before, connections) = (runs(sshd), sshd.logged("Connection from"));
    let rig = declaring(sshd, &terms, &[Declared("one", "echo ran >>RUNS", false)]).await;
    let open = rig.open().await;
    let envelope = run(&open, "one").await;
    let claim = (envelope.outcome(), envelope.code());
    let state = record(&open, &envelope);
    let detail = state.stopped.as_ref().map(|stopped| stopped.detail.clone());
    let not = |code| (Some(Outcome::NotAttempted), Some(code));
    match expected {
        Login::In => {
            assert_eq!(claim, (Some(Outcome::Committed), None), "{key}: {envelope:?}");
            assert_eq!(runs(sshd), before + 1, "{key}");
        }
        Login::Refused => {
            assert_eq!(claim, not(Code::LoginFailed), "{key}: {envelope:?}");
            assert_eq!(detail, Some(StopDetail::Setup { cause: Cause::LoginRefused }), "{key}");
            assert_eq!((state.setup.len(), state.setup[0].stage), (1, Stage::UserAuth), "{key}");
            assert_eq!(runs(sshd), before, "{key}");
        }
        Login::Unusable(refusal) => {
            assert_eq!(claim, not(Code::CredentialUnavailable), "{key}: {envelope:?}");
            let Some(StopDetail::Credential { refusal: why, .. }) = detail else { panic!("{detail:?}") };
            assert_eq!(why, refusal, "{key}");
            let seen = (runs(sshd), state.setup.len(), sshd.logged("Connection from"));
            assert_eq!(seen, (before, 0, connections), "{key}: nothing is dialled");
        }
    }
    open.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_logs_in_where_it_is_admitted() {
    let sshd = Sshd::at(Place::HERE, "LogLevel VERBOSE");
    sshd.key("stranger", "");
    let locked = sshd.key("locked", "open, please");
    sshd.admit(&format!("{}{locked}", std::fs::read_to_string(sshd.path("user.pub")).unwrap()));
    let wrong = Login::Unusable(CredentialRefusal::WrongPassphrase);
    check(&sshd, "user", None, "", Login::In).await;
    check(&sshd, "stranger", None, "", Login::Refused).await;
    check(&sshd, "locked", Some("open, please"), "", Login::In).await;
    check(&sshd, "locked", Some("open, sesame"), "", wrong).await;
    check(&sshd, "locked", None, "", wrong).await;
    std::fs::write(sshd.path("none"), "no key at all").unwrap();
    check(&sshd, "none", None, "", Login::Unusable(CredentialRefusal::UnreadableKey)).await;
    // From the next login on, it is not admitted any more.
    sshd.admit(&locked);
    check(&sshd, "user", None, "", Login::Refused).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_logs_in_as_whom_it_names() {
    let sshd = Sshd::at(Place::HERE, "LogLevel VERBOSE");
    let authority = sshd.key("authority", "");
    sshd.key("stranger", "");
    sshd.admit(&format!("cert-authority {authority}"));
    let account = sshd.account();
    let me = account.split('@').next().unwrap();
    let time = Login::Unusable(CredentialRefusal::CertificateTime);
    let other = Login::Unusable(CredentialRefusal::WrongCertificate);
    for (name, by, principal, more, expected) in [
        ("good", "authority", me, &["-V", "-1h:+1h"][..], Login::In),
        ("foreign", "authority", "somebody-else", &["-V", "-1h:+1h"], Login::Refused),
        ("expired", "authority", me, &["-V", "-2h:-1h"], time),
        ("early", "authority", me, &["-V", "+1h:+2h"], time),
        ("other", "stranger", me, &["-V", "-1h:+1h"], Login::Refused),
        ("of-hosts", "authority", me, &["-V", "-1h:+1h", "-h"], other),
    ] {
        sshd.key(name, "");
        let public = format!("{name}.pub");
        sshd.keygen(&[&["-q", "-s", by, "-I", "it", "-n", principal], more, &[&public]].concat());
        let certificate = sshd.path(&format!("{name}-cert.pub"));
        let line = format!("certificate = \"{}\"", certificate.display());
        check(&sshd, name, None, &line, expected).await;
    }
    // The key without its certificate, and with another's.
    check(&sshd, "good", None, "", Login::Refused).await;
    let line = format!("certificate = \"{}\"", sshd.path("foreign-cert.pub").display());
    check(&sshd, "good", None, &line, other).await;
}

/// OpenSSH takes passwords of the system's accounts only, so that another server stands in for it.
#[tokio::test(flavor = "multi_thread")]
async fn a_password_is_given_once_to_whom_it_is_for() {
    const WRONG: &str = "another horse battery";
    const PROMPT: Round = &[("Password: ", false)];
    const ONCE: &[Round] = &[PROMPT];
    const AGAIN: &[Round] = &[PROMPT, PROMPT];
    const MORE: &[Round] = &[&[("Password: ", false), ("Code: ", false)]];
    const SHOWN: &[Round] = &[&[("Your name: ", true)]];
    let check = async |mode, secret: &'static str, takes: bool, rounds, expected: Login, answers: usize| {
        let ends: &[&[_]] = &[&[Success, Status(0), Eof, Close]];
        let peer = SshPeer::start(Script { password: takes, rounds, ..Script::new(ends) }).await;
        let one = [("one", false)];
        let rig = peer_home(&peer, mode, secret, "", &one).await;
        let open = rig.open().await;
        let envelope = run(&open, "one").await;
        let came = peer.came();
        let claim = (envelope.outcome(), envelope.code());
        if expected == Login::In {
            assert!(envelope.ok() && came.execs.len() == 1, "{mode}: {envelope:?}");
        } else {
            assert_eq!(claim, (Some(Outcome::NotAttempted), Some(Code::LoginFailed)), "{mode}: {envelope:?}");
            assert!(came.execs.is_empty(), "{mode}: {came:?}");
        }
        assert_eq!(came.answers.len(), answers, "{mode} {secret}: {came:?}");
        assert!(came.logins <= 1, "{came:?}");
        let id = envelope.request_id().unwrap();
        let told = format!("{envelope:?} {:?}", open.broker.diagnostic(&id).unwrap());
        assert_absent(secret, "what is told", told.as_bytes());
        open.close();
        assert_absent_below(secret, &rig.home());
    };
    let (password, interactive) = (InjectionMode::SshPassword, InjectionMode::SshKeyboardInteractive);
    check(password, PASSWORD, true, ONCE, Login::In, 0).await;
    check(password, WRONG, true, ONCE, Login::Refused, 0).await;
    check(interactive, PASSWORD, false, ONCE, Login::In, 1).await;
    check(interactive, WRONG, false, ONCE, Login::Refused, 1).await;
    // Asked again, for more, or in the clear.
    check(interactive, PASSWORD, false, AGAIN, Login::Refused, 1).await;
    check(interactive, PASSWORD, false, MORE, Login::Refused, 0).await;
    check(interactive, PASSWORD, false, SHOWN, Login::Refused, 0).await;
    // A server that wants the other.
    check(password, PASSWORD, false, ONCE, Login::Refused, 0).await;
    check(interactive, PASSWORD, true, ONCE, Login::Refused, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_may_run_something_else_or_nothing() {
    use Outcome::{Committed, NotAttempted, Unknown};
    let check =
        async |options: &str, more: &str, run_once: bool, outcome, code: Option<Code>, exit: Option<u32>| {
            let sshd = Sshd::at(Place::HERE, more);
            sshd.admit(&format!("{options} {}", std::fs::read_to_string(sshd.path("user.pub")).unwrap()));
            let declared = [Declared("one", "echo ran >>RUNS", run_once)];
            let rig = declaring(&sshd, &Terms::of(&sshd), &declared).await;
            let open = rig.open().await;
            let envelope = run(&open, "one").await;
            let case = format!("{options}, {more}, {run_once}: {envelope:?}");
            assert_eq!((envelope.outcome(), envelope.code()), (Some(outcome), code), "{case}");
            let shown = &published(&envelope)["exit_status"];
            assert!(exit.is_none_or(|exit| *shown == exit), "{case}");
            assert_eq!(runs(&sshd), 0, "what was asked for never runs");
            if outcome == Unknown {
                // What answers the question is not what was asked, either.
                let id = envelope.request_id().unwrap();
                let _ = open.broker.reconcile(&id).await;
                assert_eq!(open.result(&id).outcome(), Some(Unknown), "{case}");
            }
            open.close();
        };
    let (failed, unseen) = (Some(Code::RemoteFailed), Some(Code::OutcomeUnknown));
    let forced = "command=\"echo forced; exit 7\"";
    check(forced, "", false, Committed, failed, Some(7)).await;
    check("restrict,command=\"/bin/false\"", "", false, Committed, failed, Some(1)).await;
    check("", "ForceCommand /bin/false", false, Committed, failed, Some(1)).await;
    // It ends, and does not say that the command under the reference did.
    check(forced, "", true, Unknown, unseen, Some(7)).await;
    check("command=\"echo forced\"", "", true, Unknown, unseen, Some(0)).await;
    check("", "ForceCommand internal-sftp", true, Unknown, unseen, None).await;
    // No session at all.
    check("", "MaxSessions 0", false, NotAttempted, Some(Code::ConnectFailed), None).await;
}
