//! Set-up that fails: nothing of the effect may have left.

use crate::server::{PASSWORD, Peer, Script, Step};
use crate::{connect, password, target};
use proofport_core::contract::Stage;
use proofport_core::evidence::Cause;
use proofport_core::secret::Secret;
use proofport_egress::ssh::SshInjection;
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

const ENDS: &[Step] = &[Step::Success, Step::Status(0), Step::Eof, Step::Close];

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_is_told_at_its_stage() {
    let check =
        async |script: Script, injection: SshInjection, expected: Option<(Stage, Cause)>, attempts| {
            let peer = Peer::start(script).await;
            let setup = connect(&target(peer.port, &peer.key), &injection, 0).await;
            let got = setup.result.as_ref().err().map(|failure| (failure.stage, failure.cause));
            assert_eq!(got, expected, "{script:?}: {:?}", setup.result.err());
            assert_eq!(setup.attempts.len(), attempts, "{script:?}");
            assert!(peer.came().execs.is_empty());
            peer.came()
        };
    let good = || SshInjection::KeyboardInteractive(Secret::new(PASSWORD.as_bytes().to_vec()));
    let bad = || SshInjection::Password(Secret::new(b"another password".to_vec()));
    let refused = Some((Stage::UserAuth, Cause::LoginRefused));
    let came = check(Script::new(ENDS), bad(), refused, 1).await;
    assert_eq!(came.logins, 1);
    check(Script::new(ENDS), password(), None, 1).await;
    let came = check(Script::new(ENDS), good(), None, 1).await;
    assert_eq!(came.answers, [PASSWORD]);
    // A round without prompts is answered without anything.
    let script = Script { prompts: &[&[("Password: ", false)], &[]], ..Script::new(ENDS) };
    check(script, good(), None, 1).await;
    // Asked twice, in one round or two, or in the clear: the secret is given once and no more.
    let script = Script { prompts: &[&[("Password: ", false)], &[("Again: ", false)]], ..Script::new(ENDS) };
    let came = check(script, good(), refused, 1).await;
    assert_eq!(came.answers, [PASSWORD]);
    let script = Script { prompts: &[&[("Password: ", false), ("Again: ", false)]], ..Script::new(ENDS) };
    let came = check(script, good(), refused, 1).await;
    assert!(came.answers.is_empty());
    let script = Script { prompts: &[&[("Your name: ", true)]], ..Script::new(ENDS) };
    let came = check(script, good(), refused, 1).await;
    assert!(came.answers.is_empty());
    let script = Script { banner: 1000, ..Script::new(ENDS) };
    check(script, password(), None, 1).await;
    let script = Script { banner: 100_000, ..Script::new(ENDS) };
    check(script, password(), Some((Stage::UserAuth, Cause::ProtocolError)), 1).await;
    let script = Script { channel: false, ..Script::new(ENDS) };
    check(script, password(), Some((Stage::ChannelOpen, Cause::ChannelRefused)), 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_speaks_no_ssh_is_left_in_time() {
    const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti";
    let check = async |says: Option<&'static [u8]>, repeat: bool, cause: Cause, attempts: usize| {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    match says {
                        None => std::future::pending().await,
                        Some(bytes) => while stream.write_all(bytes).await.is_ok() && repeat {},
                    }
                });
            }
        });
        let mut target = target(port, KEY);
        target.deadlines.transport = Duration::from_millis(400);
        let setup = connect(&target, &password(), 0).await;
        let failure = setup.result.err().unwrap();
        assert_eq!((failure.stage, failure.cause), (Stage::Transport, cause), "{failure:?}");
        assert_eq!(setup.attempts.len(), attempts);
    };
    check(None, false, Cause::DeadlinePassed, 2).await;
    check(Some(b""), false, Cause::ConnectionClosed, 2).await;
    check(Some(b"line after line\r\n"), true, Cause::ProtocolError, 1).await;
    check(Some(&[b'x'; 100]), true, Cause::ProtocolError, 1).await;
    check(Some(b"SSH-2.0-odd\r\n\0\0\0\x0c\x01nonsense"), true, Cause::ProtocolError, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_ended_is_found_dead() {
    let peer = Peer::start(Script::new(ENDS)).await;
    let mut loaded = connect(&target(peer.port, &peer.key), &password(), 0).await.result.unwrap();
    assert!(loaded.found_dead(2).is_none());
    peer.hang_up();
    let found = loop {
        match loaded.found_dead(2) {
            Some(found) => break found,
            None => tokio::task::yield_now().await,
        }
    };
    assert_eq!((found.n, found.stage, found.cause), (2, Stage::ChannelOpen, Some(Cause::ConnectionStale)));
    assert!(peer.came().execs.is_empty());
}
