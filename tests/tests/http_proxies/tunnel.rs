//! Tunnels that open, that don't, and that break.

use crate::relay::{Carries, Relay};
use crate::{CA, OK, Setting, Way, address, always, claim, hold, holds, nobody, origin, start};
use proofport_core::code::Code;
use proofport_core::contract::{Outcome, Stage};
use proofport_core::evidence::{Cause, Hop, SetupAttempt};
use proofport_core::origin::Origin;
use proofport_tests::peer::{Act, Peer, Script};
use proofport_tests::rig::Rig;
use proofport_tests::squid::SquidOptions;

fn ended(attempt: &SetupAttempt) -> (Stage, Option<Cause>, Option<u16>) {
    (attempt.stage, attempt.cause, attempt.proxy_status)
}

/// A call that ends before anything is sent, because of the proxy.
async fn check_failed(
    what: &str,
    way: Way<'_>,
    peer: &Peer,
    to: Origin,
    expected: (Stage, Cause, Option<u16>),
) {
    let setting = Setting::new("good", to, way).await;
    let envelope = setting.call("act").await;
    assert_eq!(claim(&envelope), (Some(Code::ConnectFailed), Outcome::NotAttempted), "{what}: {envelope:?}");
    hold(what, &envelope, &[peer]);
    let state = setting.state(&envelope);
    let [attempt] = &state.setup[..] else { panic!("{what}: {:?}", state.setup) };
    let (stage, cause, status) = expected;
    assert_eq!(ended(attempt), (stage, Some(cause), status), "{what}");
    assert_eq!(attempt.hop, Hop::Tunnel, "{what}");
    setting.open.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn squid_opens_tunnels_or_says_why_not() {
    let denied = Peer::https(always(Script::answer(OK)), &CA);
    let mut proxy = start(SquidOptions { denied_ports: vec![denied.port()], ..SquidOptions::default() });
    let peer = Peer::https(always(Script::answer(OK)), &CA);
    let setting = Setting::new("good", peer.origin(), Way::tunnel(proxy.address())).await;
    let envelope = setting.call("act").await;
    assert_eq!(claim(&envelope), (None, Outcome::Committed), "{envelope:?}");
    hold("an open tunnel", &envelope, &[&peer]);
    let state = setting.state(&envelope);
    assert_eq!(ended(state.setup.last().unwrap()), (Stage::HttpHandshake, None, None));
    assert_eq!(state.setup.last().unwrap().hop, Hop::Tunnel);
    let stages: Vec<_> = state.setup[0].timings.iter().map(|timing| timing.stage).collect();
    assert!(stages.contains(&Stage::ProxyTunnel) && stages.contains(&Stage::IdentityVerified), "{stages:?}");
    let evidence = state.attempts[0].end.as_ref().unwrap().evidence.http().unwrap();
    assert_eq!((evidence.hop, evidence.from_origin, evidence.status), (Hop::Tunnel, true, Some(200)));
    setting.open.close();

    let refused = |status| (Stage::ProxyTunnel, Cause::ProxyRefused, Some(status));
    check_failed("a denied port", Way::tunnel(proxy.address()), &denied, denied.origin(), refused(403)).await;
    assert_eq!(denied.accepted(), 0);
    let nowhere = origin(&format!("https://{}", nobody()));
    check_failed("an origin that is down", Way::tunnel(proxy.address()), &denied, nowhere, refused(503))
        .await;
    proxy.stop();
    let down = (Stage::TcpConnect, Cause::ConnectionRefused, None);
    check_failed("a proxy that is down", Way::tunnel(proxy.address()), &denied, denied.origin(), down).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_that_misbehaves_is_named() {
    use Act::{Close, Hold, ReadRequest, Reset, Send};
    let open = || Send(b"HTTP/1.1 200 OK\r\n\r\n".to_vec());
    let say = |text: &str| Send(text.as_bytes().to_vec());
    let (tunnel, tls) = (Stage::ProxyTunnel, Stage::TlsHandshake);
    let cases = [
        ("silent", vec![ReadRequest, Hold], (tunnel, Cause::DeadlinePassed, None)),
        ("closed", vec![ReadRequest, Close], (tunnel, Cause::ConnectionClosed, None)),
        ("reset", vec![ReadRequest, Reset], (tunnel, Cause::ConnectionReset, None)),
        ("half a head", vec![ReadRequest, say("HTTP/1.1 200 O"), Close], (tunnel, Cause::Truncated, None)),
        ("no HTTP", vec![ReadRequest, say("SSH-2.0-x\r\n\r\n"), Close], (tunnel, Cause::ProtocolError, None)),
        (
            "chatty",
            vec![ReadRequest, say("HTTP/1.1 200 OK\r\n\r\nhello"), Hold],
            (tunnel, Cause::ProtocolError, None),
        ),
        (
            "redirecting",
            vec![
                ReadRequest,
                say("HTTP/1.1 302 Go\r\nlocation: http://x/\r\ncontent-length: 0\r\n\r\n"),
                Close,
            ],
            (tunnel, Cause::ProxyRefused, Some(302)),
        ),
        (
            "rate limiting",
            vec![ReadRequest, say("HTTP/1.1 429 Slow\r\ncontent-length: 0\r\n\r\n"), Close],
            (tunnel, Cause::ProxyRefused, Some(429)),
        ),
        ("a black hole", vec![ReadRequest, open(), Hold], (tls, Cause::DeadlinePassed, None)),
        (
            "closed at once",
            vec![ReadRequest, open(), Act::Read(5), Close],
            (tls, Cause::ConnectionClosed, None),
        ),
        (
            "reset at once",
            vec![ReadRequest, open(), Act::Read(5), Reset],
            (tls, Cause::ConnectionReset, None),
        ),
        (
            "no TLS behind",
            vec![ReadRequest, open(), Act::Read(5), Send(OK.to_vec())],
            (tls, Cause::TlsFailed, None),
        ),
    ];
    let peer = Peer::https(always(Script::answer(OK)), &CA);
    for (what, script, expected) in cases {
        let script = Script(script);
        let impatient = holds(&script);
        let proxy = Peer::http(always(script));
        let way = Way::tunnel(address(&proxy)).impatient(impatient);
        check_failed(what, way, &peer, peer.origin(), expected).await;
        let head = format!("CONNECT 127.0.0.1:{} HTTP/1.1\r\n", peer.port());
        assert!(proxy.received()[0].starts_with(head.as_bytes()), "{what}");
        assert_eq!((proxy.accepted(), peer.accepted()), (1, 0), "{what}");
    }
}

/// Cuts a tunnel after every few bytes of either direction: in the handshake, in the request, in the
/// answer. Before the first byte of the request nothing was attempted; from then on it is unknown, until
/// the answer is whole.
#[tokio::test(flavor = "multi_thread")]
async fn a_tunnel_is_cut_anywhere() {
    let whole = async |carries: Carries| {
        let peer = Peer::https(always(Script::answer(OK)), &CA);
        let relay = Relay::to(address(&peer), carries);
        let setting = Setting::new("good", peer.origin(), Way::tunnel(relay.address())).await;
        let envelope = setting.call("act").await;
        setting.open.close();
        hold(&format!("after {} and {} bytes", carries.to_origin, carries.to_client), &envelope, &[&peer]);
        (envelope.outcome().unwrap(), relay.through().len())
    };
    let (outcome, sent) = whole(Carries::ALL).await;
    assert_eq!(outcome, Outcome::Committed);
    let mut seen = [[0; 2]; 2];
    let mut count = |way: usize, outcome: Outcome| match outcome {
        Outcome::NotAttempted => seen[way][0] += 1,
        Outcome::Unknown => seen[way][1] += 1,
        Outcome::Committed | Outcome::Rejected => {}
    };
    // The last bytes are the request's.
    for to_origin in (0..sent - 60).step_by(40) {
        let (outcome, _) = whole(Carries { to_origin, ..Carries::ALL }).await;
        assert_ne!(outcome, Outcome::Committed, "after {to_origin} of {sent} bytes");
        count(0, outcome);
    }
    for to_client in (0..1500).step_by(60) {
        let (outcome, _) = whole(Carries { to_client, ..Carries::ALL }).await;
        count(1, outcome);
    }
    assert!(seen.as_flattened().iter().all(|n| *n >= 3), "cut before and after the dispatch: {seen:?}");
}

/// The proxy is told the address that was checked, or the name that it is to resolve; the certificate is
/// for the name either way.
#[tokio::test(flavor = "multi_thread")]
async fn the_checked_address_is_asked_for_and_the_name_is_verified() {
    let check = async |name: &str, resolve: &'static str, asked: &str| {
        let peer = Peer::https_as(always(Script::answer(OK)), CA.server(&[name]));
        let relay = Relay::to(address(&peer), Carries::ALL);
        let way = Way { resolve, ..Way::tunnel(relay.address()) };
        let setting = Setting::new("good", peer.origin_as(name), way).await;
        let envelope = setting.call("act").await;
        assert_eq!(claim(&envelope), (None, Outcome::Committed), "{name}: {envelope:?}");
        hold(name, &envelope, &[&peer]);
        assert_eq!(relay.asked(), [format!("CONNECT {asked}:{} HTTP/1.1", peer.port())], "{name}");
        let hello = relay.through();
        assert!(memchr::memmem::find(&hello, name.as_bytes()).is_some(), "{name}: it is the SNI");
        let state = setting.state(&envelope);
        assert_eq!(state.attempts[0].dispatch.peer.name, name);
        setting.open.close();
    };
    check("localhost", "host", "127.0.0.1").await;
    check("localhost", "proxy", "localhost").await;
    check("only-the-proxy-knows.test", "proxy", "only-the-proxy-knows.test").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn squid_resolves_if_it_is_to() {
    const NAME: &str = "only-squid-knows.test";
    let proxy = start(SquidOptions { names: vec![NAME.to_owned()], ..SquidOptions::default() });
    let peer = Peer::https_as(always(Script::answer(OK)), CA.server(&[NAME]));
    let setting = Setting::new("good", peer.origin_as(NAME), Way::forward(proxy.address())).await;
    let envelope = setting.call("act").await;
    assert_eq!(claim(&envelope), (None, Outcome::Committed), "{envelope:?}");
    hold("a name", &envelope, &[&peer]);
    setting.open.close();
}

/// A name that leads to an address which the connection does not list.
#[tokio::test(flavor = "multi_thread")]
async fn a_special_address_is_not_asked_for() {
    let peer = Peer::https(always(Script::answer(OK)), &CA);
    let relay = Relay::to(address(&peer), Carries::ALL);
    let setting = Setting::new("good", peer.origin_as("localhost"), Way::tunnel(relay.address())).await;
    let Setting { rig, open } = setting;
    open.close();
    unlist(&rig);
    let setting = Setting { open: rig.open().await, rig };
    let envelope = setting.call("act").await;
    assert_eq!(claim(&envelope), (Some(Code::EgressDenied), Outcome::NotAttempted), "{envelope:?}");
    hold("a special address", &envelope, &[&peer]);
    assert!(relay.asked().is_empty(), "the proxy saw nothing");
    setting.open.close();
}

/// Takes the addresses of this machine out of a connection's list.
fn unlist(rig: &Rig) {
    let path = rig.home().join("proofport.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let changed = text.replace("addresses = [\"127.0.0.0/8\"]", "addresses = []");
    assert_ne!(text, changed);
    std::fs::write(path, changed).unwrap();
}
