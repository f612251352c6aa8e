//! nginx in front of the peers: to the host it is the origin, and its answers are not the peers'.

use crate::{CA, OK, Setting, Way, address, always, claim, holds};
use proofport_core::code::Code;
use proofport_core::contract::Outcome;
use proofport_core::evidence::HttpVersion;
use proofport_core::origin::Origin;
use proofport_tests::nginx::{Answer, Nginx, Retries, Tls};
use proofport_tests::peer::{Act, Peer, Script};
use std::net::SocketAddr;
use std::time::Duration;

const BUSY: &[u8] = b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n";

type Claim = (Option<Code>, Outcome);

const UNKNOWN: Claim = (Some(Code::OutcomeUnknown), Outcome::Unknown);
const DONE: Claim = (None, Outcome::Committed);
const REFUSED: Claim = (Some(Code::RateLimited), Outcome::Rejected);

fn start(answer: Answer, tls: Option<Tls<'_>>) -> Nginx {
    Nginx::start(&[("/", answer)], tls).unwrap_or_else(|error| panic!("{error}"))
}

fn reset() -> Script {
    Script(vec![Act::ReadRequest, Act::Effect, Act::Reset])
}

/// Refuses without having done anything.
fn busy() -> Script {
    Script(vec![Act::ReadRequest, Act::Send(BUSY.to_vec()), Act::Close])
}

async fn call(nginx: &Nginx, operation: &str) -> (Claim, Option<u16>) {
    let origin = Origin::parse(&format!("http://{}", nginx.http())).unwrap();
    let setting = Setting::new("promises", origin, Way::default()).await;
    let envelope = setting.call(operation).await;
    let state = setting.state(&envelope);
    assert_eq!(state.attempts.len(), 1, "{operation}: the host sent it once");
    let status = state.attempts[0].end.as_ref().unwrap().evidence.http().unwrap().status;
    setting.open.close();
    (claim(&envelope), status)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nginx_says_for_a_peer_is_no_proof() {
    let check = async |script: Script, operation: &str, expected: (Claim, u16), effects: usize| {
        let impatient = holds(&script);
        let peer = Peer::http(always(script));
        let answer = if impatient {
            Answer::impatient(address(&peer), Duration::from_millis(100))
        } else {
            Answer::proxy(address(&peer))
        };
        let nginx = start(answer, None);
        let (claim, status) = call(&nginx, operation).await;
        assert_eq!((claim, status), (expected.0, Some(expected.1)), "{operation}");
        assert_eq!((peer.effects(), peer.accepted()), (effects, 1), "{operation}");
    };
    for operation in ["act", "busy", "same", "keyed"] {
        check(reset(), operation, (UNKNOWN, 502), 1).await;
        check(Script::silent(), operation, (UNKNOWN, 504), 1).await;
    }
    // A 503 is a refusal only where the contract says that it precedes all work.
    for (operation, expected) in [("act", UNKNOWN), ("same", UNKNOWN), ("keyed", UNKNOWN), ("busy", REFUSED)]
    {
        check(busy(), operation, (expected, 503), 0).await;
        let nginx = start(Answer::Status(503), None);
        assert_eq!(call(&nginx, operation).await, (expected, Some(503)), "{operation}, by nginx itself");
    }
}

/// An nginx that tries another upstream: what is claimed against what both upstreams saw.
#[tokio::test(flavor = "multi_thread")]
async fn another_upstream_makes_no_claim_false() {
    let check = async |operation: &str,
                       retries: Retries,
                       scripts: [Script; 2],
                       expected: (Claim, u16),
                       effects: [usize; 2]| {
        let what = format!("{operation}, {retries:?}");
        let peers = scripts.map(|script| Peer::http(always(script)));
        let upstreams: Vec<SocketAddr> = peers.iter().map(address).collect();
        let nginx = start(Answer::proxy_any(upstreams, retries), None);
        let (claim, status) = call(&nginx, operation).await;
        assert_eq!((claim, status), (expected.0, Some(expected.1)), "{what}");
        assert_eq!([peers[0].effects(), peers[1].effects()], effects, "{what}");
        // What the peers saw of one call is the same request, and so the same key.
        let key = |peer: &Peer| {
            let text = String::from_utf8_lossy(&peer.received().concat()).to_ascii_lowercase();
            text.lines().find(|line| line.starts_with("idempotency-key:")).map(str::to_owned)
        };
        let keys = [key(&peers[0]), key(&peers[1])];
        assert_eq!(keys[0].is_some(), operation == "keyed", "{what}");
        assert!(keys[1].is_none() || keys[0] == keys[1], "{what}: {keys:?}");
        match claim.1 {
            Outcome::Rejected | Outcome::NotAttempted => assert_eq!(effects, [0, 0], "{what}"),
            Outcome::Committed => assert_ne!(effects, [0, 0], "{what}"),
            Outcome::Unknown => {}
        }
    };
    let good = || Script::answer(OK);
    for operation in ["act", "same", "keyed"] {
        for retries in [Retries::Off, Retries::Default] {
            // A POST that was sent is left alone.
            check(operation, retries, [reset(), good()], (UNKNOWN, 502), [1, 0]).await;
            check(operation, retries, [busy(), good()], (UNKNOWN, 503), [0, 0]).await;
        }
        // Told to repeat whatever the method, nginx does the effect twice and says nothing of it.
        check(operation, Retries::Always, [reset(), good()], (DONE, 200), [1, 1]).await;
        check(operation, Retries::Always, [busy(), good()], (DONE, 200), [0, 1]).await;
        check(operation, Retries::Always, [busy(), busy()], (UNKNOWN, 503), [0, 0]).await;
        check(operation, Retries::Always, [reset(), busy()], (UNKNOWN, 503), [1, 0]).await;
        check(operation, Retries::Always, [reset(), reset()], (UNKNOWN, 502), [1, 1]).await;
    }
}

/// A `DELETE` that one upstream carried out is repeated at another by nginx as it comes, and what that one
/// says of it refuses nothing. Only whoever runs it can say that it does not.
#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_of_nginxs_second_try_is_none_of_the_first() {
    let refuse = |status: u16| {
        let answer = format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n");
        Script(vec![Act::ReadRequest, Act::Send(answer.into_bytes()), Act::Close])
    };
    let check = async |retries: Retries, more: &str, first: Script, status: u16, claimed: Claim, effects| {
        let peers = [first, refuse(status)].map(|script| Peer::http(always(script)));
        let upstreams: Vec<SocketAddr> = peers.iter().map(address).collect();
        let nginx = start(Answer::proxy_any(upstreams, retries), None);
        let origin = Origin::parse(&format!("http://{}", nginx.http())).unwrap();
        let setting = Setting::new("promises", origin, Way::default().with(more)).await;
        let envelope = setting.call("drop").await;
        let what = format!("{status}, {retries:?}, {more}");
        assert_eq!(claim(&envelope), claimed, "{what}: {envelope:?}");
        assert_eq!(peers[0].effects() + peers[1].effects(), effects, "{what}");
        setting.open.close();
    };
    let refused = (Some(Code::RemoteRejected), Outcome::Rejected);
    for status in [404, 409, 410, 412, 423] {
        check(Retries::Default, "", reset(), status, UNKNOWN, 1).await;
        check(Retries::Default, "", refuse(status), status, UNKNOWN, 0).await;
        check(Retries::Off, "repeating_hops = \"none\"", refuse(status), status, refused, 0).await;
    }
    // Each copy meets this.
    check(Retries::Default, "", refuse(403), 403, refused, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nginx_speaks_http2_where_an_effect_may_be_repeated() {
    for (operation, version) in
        [("keyed", HttpVersion::Http2), ("same", HttpVersion::Http2), ("act", HttpVersion::Http11)]
    {
        let check = async |script: Script, expected: (Claim, u16), effects: usize| {
            let peer = Peer::http(always(script));
            let nginx = start(Answer::proxy(address(&peer)), Some(Tls { ca: &CA, http2: true }));
            let origin = Origin::parse(&format!("https://{}", nginx.https())).unwrap();
            let setting = Setting::new("promises", origin, Way::default()).await;
            let envelope = setting.call(operation).await;
            assert_eq!(claim(&envelope), expected.0, "{operation}: {envelope:?}");
            let state = setting.state(&envelope);
            let evidence = state.attempts[0].end.as_ref().unwrap().evidence.http().unwrap();
            assert_eq!((evidence.version, evidence.status), (version, Some(expected.1)), "{operation}");
            assert_eq!(peer.effects(), effects, "{operation}");
            setting.open.close();
        };
        check(Script::answer(OK), (DONE, 200), 1).await;
        check(reset(), (UNKNOWN, 502), 1).await;
    }
}
