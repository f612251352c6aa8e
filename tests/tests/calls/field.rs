//! Failures from the field: what a peer does, and what may be claimed.

use proofport_core::code::Code;
use proofport_core::contract::{Outcome, Phase, Retry};
use proofport_tests::peer::{Act, Peer, Script, Scripts};
use proofport_tests::rig::{CANARY, Rig, Wanted};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";

fn answer(status: u16) -> Script {
    Script::answer(format!("HTTP/1.1 {status} X\r\ncontent-length: 2\r\n\r\n{{}}"))
}

struct Claim {
    code: Option<Code>,
    outcome: Outcome,
    retry: Retry,
}

const fn claim(code: Code, outcome: Outcome, retry: Retry) -> Claim {
    Claim { code: Some(code), outcome, retry }
}

/// One write against one script. A claim is sound when: not attempted means that the peer saw no byte
/// of the request; rejected and unknown are never told of as committed; nothing is sent twice.
async fn check(what: &str, script: Script, expected: Claim) {
    let peer = Peer::http(Scripts { each: vec![script].into(), default: None });
    let wanted = Wanted::new("good", peer.origin(), "key").limits("deadline_seconds = 2\nsetup_attempts = 1");
    let rig = Rig::new(&wanted).await;
    let open = rig.open().await;
    let envelope = open.call("act", "{}").await;
    let got = (envelope.code(), envelope.outcome(), envelope.retry());
    assert_eq!(got, (expected.code, Some(expected.outcome), expected.retry), "{what}: {envelope:?}");
    assert!(peer.accepted() <= 1, "{what}: nothing is sent again");
    if envelope.outcome() == Some(Outcome::NotAttempted) {
        assert!(peer.received().iter().all(Vec::is_empty), "{what}: not attempted means no byte");
    }
    let stored = open.result(&envelope.request_id().unwrap());
    assert_eq!((stored.code(), stored.outcome()), (envelope.code(), envelope.outcome()), "{what}: stored");
    peer.release();
    open.close();
    // After a restart the claim is the same.
    let open = rig.open().await;
    let restarted = open.result(&envelope.request_id().unwrap());
    assert_eq!(
        (restarted.code(), restarted.outcome()),
        (envelope.code(), envelope.outcome()),
        "{what}: restart"
    );
    open.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_peer_does_is_what_is_claimed() {
    use Act::{Close, Effect, Hold, ReadRequest, Reset, Send};
    use Outcome::{Committed, Rejected, Unknown};
    let unknown = || claim(Code::OutcomeUnknown, Unknown, Retry::Reconcile);
    let incomplete = || claim(Code::RemoteResultIncomplete, Unknown, Retry::Reconcile);
    check("applied, then reset", Script(vec![ReadRequest, Effect, Reset]), unknown()).await;
    check("applied, then closed", Script(vec![ReadRequest, Effect, Close]), unknown()).await;
    check("accepted, then silent", Script(vec![ReadRequest, Effect, Hold]), unknown()).await;
    check("reset after a byte was read", Script(vec![Act::Read(1), Reset]), unknown()).await;
    check("half a head", Script(vec![ReadRequest, Effect, Send(OK[..20].into()), Close]), incomplete()).await;
    check(
        "half a body",
        Script(vec![ReadRequest, Effect, Send(OK[..OK.len() - 1].into()), Close]),
        incomplete(),
    )
    .await;
    check(
        "complete",
        Script(vec![ReadRequest, Effect, Send(OK.into()), Close]),
        Claim { code: None, outcome: Committed, retry: Retry::Never },
    )
    .await;
    check("422", answer(422), claim(Code::RemoteRejected, Rejected, Retry::AfterCorrection)).await;
    check("500", answer(500), claim(Code::RemoteFailed, Committed, Retry::Never)).await;
    for status in [502, 503, 504] {
        check(&status.to_string(), answer(status), unknown()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_connection_is_not_attempted() {
    // A port that nobody listens on: bound, then let go.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let origin = proofport_core::origin::Origin::parse(&format!("http://{free}")).unwrap();
    let rig = Rig::new(&Wanted::new("good", origin, "key")).await;
    let open = rig.open().await;
    let envelope = open.call("act", "{}").await;
    assert_eq!(envelope.code(), Some(Code::ConnectFailed));
    assert_eq!(envelope.outcome(), Some(Outcome::NotAttempted));
    assert_eq!((envelope.retry(), envelope.phase()), (Retry::Backoff, Some(Phase::ConnectionSetup)));
    open.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reflected_secret_reaches_nobody() {
    let raw = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{{\"you sent\":\"{CANARY}\"}}",
        CANARY.len() + 15
    );
    let peer = Peer::http(Scripts { each: vec![Script::answer(raw)].into(), default: None });
    let rig = Rig::new(&Wanted::new("good", peer.origin(), "key")).await;
    let open = rig.open().await;
    let envelope = open.call("act", "{}").await;
    let text = serde_json::to_string(&envelope).unwrap();
    assert!(text.contains("\"masked\":1"), "{text}");
    assert!(!text.contains(CANARY));
    let received = String::from_utf8_lossy(&peer.received()[0]).into_owned();
    assert!(received.contains(CANARY), "the peer was given the secret");
    open.close();
}
