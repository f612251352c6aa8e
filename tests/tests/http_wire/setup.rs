//! Connection setup: every failure before the dispatch is named, and none reaches the peer.

use crate::{CA, Call, EGRESS, TRUST, outgoing, target};
use proofport_core::contract::Stage;
use proofport_core::digest::Digest;
use proofport_core::evidence::{Cause, SetupAttempt};
use proofport_core::origin::Origin;
use proofport_egress::{AddressPolicy, HttpEgress, HttpTarget, Resolver, Setup, Trust};
use proofport_tests::peer::{Act, Ca, Peer, Script};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

fn stages(attempts: &[SetupAttempt]) -> Vec<(u32, Stage, Option<Cause>)> {
    attempts.iter().map(|attempt| (attempt.n, attempt.stage, attempt.cause)).collect()
}

fn failed(setup: &Setup) -> (Stage, Cause) {
    let failure = setup.result.as_ref().err().unwrap();
    let last = setup.attempts.last().unwrap();
    assert_eq!((last.stage, last.cause), (failure.stage, Some(failure.cause)));
    (failure.stage, failure.cause)
}

fn named(name: &str, addresses: &[Ipv4Addr]) -> HttpEgress {
    let addresses = addresses.iter().copied().map(IpAddr::V4).collect();
    HttpEgress::with_resolver(Resolver::Fixed([(name.to_owned(), addresses)].into()))
}

/// A port of 127.0.0.1 on which nobody listens.
fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

#[tokio::test]
async fn every_stage_is_timed() {
    use Stage::{AddressCheck, Dns, HttpHandshake, IdentityVerified, TcpConnect, TlsHandshake};
    let check = async |origin: Origin, egress: &HttpEgress, expected: &[Stage]| {
        let setup = egress.connect(&target(origin), 7).await;
        assert_eq!(stages(&setup.attempts), [(7, HttpHandshake, None)]);
        let attempt = &setup.attempts[0];
        assert_eq!(attempt.address.as_deref(), Some("127.0.0.1"));
        assert_eq!(attempt.timings.iter().map(|timing| timing.stage).collect::<Vec<_>>(), expected);
        setup.result.unwrap().peer().clone()
    };
    let (http, https) = (Peer::http(Script::answer(OK)), Peer::https(Script::answer(OK), &CA));
    let egress = named("localhost", &[Ipv4Addr::LOCALHOST]);

    let peer = check(http.origin(), &egress, &[AddressCheck, TcpConnect, HttpHandshake]).await;
    assert_eq!((peer.name.as_str(), peer.certificate), ("127.0.0.1", None));

    let all = [Dns, AddressCheck, TcpConnect, TlsHandshake, IdentityVerified, HttpHandshake];
    let first = check(https.origin_as("localhost"), &egress, &all).await;
    let again = check(https.origin_as("localhost"), &egress, &all).await;
    assert_eq!(first.name, "localhost");
    // The certificate is seen on every connection.
    assert!(first.certificate.is_some_and(|digest| digest != Digest::of_bytes(b"")));
    assert_eq!(first, again);
}

#[tokio::test]
async fn the_system_resolver_is_asked() {
    let peer = Peer::http(Script::answer(OK));
    let target = HttpTarget { setup_attempts: 4, ..target(peer.origin_as("localhost")) };
    let setup = EGRESS.connect(&target, 1).await;
    assert!(setup.result.is_ok(), "{:?}", setup.attempts);
    assert_eq!(setup.attempts[0].timings[0].stage, Stage::Dns);
}

#[tokio::test]
async fn certificates_are_verified() {
    let stranger = Ca::new();
    let names = &["127.0.0.1", "localhost"];
    let refused = [
        ("another name", CA.server(&["other.example"])),
        ("another address", CA.server(&["127.0.0.2", "localhost"])),
        ("expired", CA.server_valid(names, (2000, 2001))),
        ("not valid yet", CA.server_valid(names, (4000, 4001))),
        ("unknown authority", stranger.server(names)),
    ];
    for (what, server) in refused {
        let peer = Peer::https_as(Script::answer(OK), server);
        let setup = EGRESS.connect(&HttpTarget { setup_attempts: 3, ..target(peer.origin()) }, 1).await;
        assert_eq!(failed(&setup), (Stage::IdentityVerified, Cause::CertificateInvalid), "{what}");
        assert_eq!(setup.attempts.len(), 1, "{what}: it would be no other in a moment");
        peer.wait_ended(1);
        assert_eq!(peer.received(), [b""], "{what}");
    }
    // The same peer is believed by a connection that adds its authority, and by no other.
    let peer = Peer::https(Script::answer(OK), &CA);
    let system = EGRESS.connect(&HttpTarget { trust: Trust::system(), ..target(peer.origin()) }, 1).await;
    assert_eq!(failed(&system), (Stage::IdentityVerified, Cause::CertificateInvalid));
    let both = Trust::with_pem([stranger.pem(), CA.pem()].concat().as_bytes()).unwrap();
    for trust in [TRUST.clone(), both] {
        assert!(EGRESS.connect(&HttpTarget { trust, ..target(peer.origin()) }, 1).await.result.is_ok());
    }
}

#[tokio::test]
async fn what_is_no_tls_is_named() {
    let origin = |peer: &Peer| Origin::parse(&format!("https://127.0.0.1:{}", peer.port())).unwrap();
    let cases = [
        (vec![Act::Read(5), Act::Send(OK.to_vec())], Cause::TlsFailed),
        (vec![Act::Read(5), Act::Close], Cause::ConnectionClosed),
        (vec![Act::Read(5), Act::Reset], Cause::ConnectionReset),
        (vec![Act::Read(5), Act::Hold], Cause::DeadlinePassed),
    ];
    for (script, cause) in cases {
        let peer = Peer::http(script.clone());
        let mut target = target(origin(&peer));
        if cause == Cause::DeadlinePassed {
            target.deadlines.tls = Duration::from_millis(100);
        }
        let setup = EGRESS.connect(&target, 1).await;
        assert_eq!(failed(&setup), (Stage::TlsHandshake, cause), "{script:?}");
    }
}

#[tokio::test]
async fn failed_attempts_are_counted_and_bounded() {
    let refused = Origin::parse(&format!("http://127.0.0.1:{}", free_port())).unwrap();
    for (attempts, expected) in [(0, 1), (1, 1), (3, 3)] {
        let setup =
            EGRESS.connect(&HttpTarget { setup_attempts: attempts, ..target(refused.clone()) }, 5).await;
        let each = |n| (n, Stage::TcpConnect, Some(Cause::ConnectionRefused));
        assert_eq!(stages(&setup.attempts), (5..5 + expected).map(each).collect::<Vec<_>>());
        assert_eq!(failed(&setup), (Stage::TcpConnect, Cause::ConnectionRefused));
    }
}

/// A listener whose queue is full drops what knocks, as a black hole does.
#[tokio::test]
async fn a_black_hole_is_a_deadline() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let address = listener.local_addr().unwrap();
    let mut filling = Vec::new();
    while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(200)) {
        filling.push(stream);
        assert!(filling.len() < 100, "the queue never fills");
    }
    let mut target = target(Origin::parse(&format!("http://{address}")).unwrap());
    target.deadlines.tcp_connect = Duration::from_millis(100);
    let setup = EGRESS.connect(&target, 1).await;
    assert_eq!(failed(&setup), (Stage::TcpConnect, Cause::DeadlinePassed));
}

#[tokio::test]
async fn the_next_address_is_tried() {
    let peer = Peer::http(Script::answer(OK));
    // Nobody listens on that port of the first address.
    let egress = named("two.example", &[Ipv4Addr::new(127, 0, 0, 9), Ipv4Addr::LOCALHOST]);
    let target = HttpTarget { setup_attempts: 2, ..target(peer.origin_as("two.example")) };
    let setup = egress.connect(&target, 1).await;
    let refused = (1, Stage::TcpConnect, Some(Cause::ConnectionRefused));
    assert_eq!(stages(&setup.attempts), [refused, (2, Stage::HttpHandshake, None)]);
    let addresses: Vec<_> =
        setup.attempts.iter().map(|attempt| attempt.address.as_deref().unwrap()).collect();
    assert_eq!(addresses, ["127.0.0.9", "127.0.0.1"]);
}

#[tokio::test]
async fn a_name_that_is_not_known_is_not_dialled() {
    let egress = named("known.example", &[Ipv4Addr::LOCALHOST]);
    let origin = Origin::parse("http://unknown.example").unwrap();
    let setup = egress.connect(&HttpTarget { setup_attempts: 3, ..target(origin) }, 1).await;
    assert_eq!(stages(&setup.attempts), [(1, Stage::Dns, Some(Cause::NameNotFound))]);
}

/// A name that leads to an address which the connection does not list: nothing is dialled.
#[tokio::test]
async fn unlisted_addresses_are_not_dialled() {
    let peer = Peer::http(Script::answer(OK));
    let nothing = AddressPolicy::default();
    let denied = (Stage::AddressCheck, Cause::AddressDenied);
    for host in ["127.0.0.1", "localhost"] {
        let target =
            HttpTarget { addresses: nothing.clone(), setup_attempts: 3, ..target(peer.origin_as(host)) };
        assert_eq!(failed(&EGRESS.connect(&target, 1).await), denied, "{host}");
    }
    for address in [[10, 0, 0, 1], [169, 254, 169, 254], [100, 64, 0, 1], [0, 0, 0, 0]] {
        let egress = named("inside.example", &[address.into()]);
        let setup = egress.connect(&target(peer.origin_as("inside.example")), 1).await;
        assert_eq!(failed(&setup), denied, "{address:?}");
    }
    let mapped =
        Resolver::Fixed([("mapped.example".to_owned(), vec!["::ffff:127.0.0.1".parse().unwrap()])].into());
    let setup = HttpEgress::with_resolver(mapped).connect(&target(peer.origin_as("mapped.example")), 1).await;
    assert_eq!(failed(&setup), denied);
    assert_eq!(peer.accepted(), 0);

    // Among several, only the listed one is dialled; the other is on record.
    let egress = named("mixed.example", &[[10, 0, 0, 1].into(), Ipv4Addr::LOCALHOST]);
    let setup = egress.connect(&target(peer.origin_as("mixed.example")), 1).await;
    let denied = (1, Stage::AddressCheck, Some(Cause::AddressDenied));
    assert_eq!(stages(&setup.attempts), [denied, (2, Stage::HttpHandshake, None)]);
    let loaded =
        setup.result.unwrap().load(outgoing(peer.origin_as("mixed.example"), &Call::default())).unwrap();
    let exchange = loaded.exchange(&Call::default().options, Arc::new(()), None).await;
    assert_eq!(exchange.response.unwrap().body, b"ok");
    assert_eq!(peer.accepted(), 1);
}
