//! What a kept connection is not shared between.

use crate::{CA, KEPT, NAMES, NEW, OK, ask, target};
use http::HeaderValue;
use proofport_core::origin::Origin;
use proofport_core::secret::Secret;
use proofport_egress::inject::ClientIdentity;
use proofport_egress::{AddressPolicy, HttpEgress, HttpTarget, Proxy, Resolver, Trust};
use proofport_tests::peer::{Alpn, Ca, Peer, Script, ServerOptions};
use std::net::{IpAddr, Ipv4Addr};

fn identity(ca: &Ca) -> ClientIdentity {
    let identity = ca.client("somebody");
    ClientIdentity::parse(&Secret::new((identity.chain + &identity.key).into_bytes())).unwrap()
}

/// An exchange with each target in turn. None uses another's connection or TLS session, and each finds
/// its own again.
async fn check(what: &str, peer: &Peer, targets: &[HttpTarget]) {
    let local = [("localhost".to_owned(), vec![IpAddr::V4(Ipv4Addr::LOCALHOST)])];
    let egress = HttpEgress::with_resolver(Resolver::Fixed(local.into()));
    for target in targets {
        assert_eq!(ask(&egress, target).await.attempts(), NEW, "{what}");
    }
    assert_eq!((peer.accepted(), peer.resumed()), (targets.len(), 0), "{what}");
    for target in targets {
        assert_eq!(ask(&egress, target).await.attempts(), KEPT, "{what}");
    }
    assert_eq!(peer.accepted(), targets.len(), "{what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn kept_connections_are_not_shared() {
    let other = Ca::new();
    let both = Trust::with_pem([other.pem(), CA.pem()].concat().as_bytes()).unwrap();
    let (one, two) = (identity(&other), identity(&other));
    type Change<'a> = &'a dyn Fn(HttpTarget) -> HttpTarget;
    let cases: [(&str, Change<'_>); 6] = [
        ("connections", &|target| HttpTarget { connection: "d".to_owned(), ..target }),
        ("origins", &|target| {
            let origin = Origin::parse(&format!("https://localhost:{}", target.origin.port())).unwrap();
            HttpTarget { origin, ..target }
        }),
        ("trust", &|target| HttpTarget { trust: both.clone(), ..target }),
        ("one identity and none", &|target| HttpTarget { identity: Some(one.clone()), ..target }),
        ("HTTP/2 allowed and not", &|target| HttpTarget { http2: true, ..target }),
        ("connections that differ by a letter's case", &|target| HttpTarget {
            connection: "C".to_owned(),
            ..target
        }),
    ];
    for (what, change) in cases {
        let peer = Peer::https(Script::keep_alive(9, OK), &CA);
        let target = target(peer.origin());
        check(what, &peer, &[target.clone(), change(target)]).await;
    }
    let options = ServerOptions { clients: Some(&other), alpn: Alpn::Http1, ..ServerOptions::default() };
    let peer = Peer::https_as(Script::keep_alive(9, OK), CA.server_with(NAMES, options));
    let as_one = HttpTarget { identity: Some(one), ..target(peer.origin()) };
    let as_two = HttpTarget { identity: Some(two), ..as_one.clone() };
    check("two identities", &peer, &[as_one, as_two]).await;
    let clients: Vec<_> = peer.sessions().into_iter().map(|session| session.unwrap().client).collect();
    assert!(clients[0].is_some() && clients[0] != clients[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn kept_connections_to_proxies_are_not_shared() {
    let proxy = Peer::http(Script::keep_alive(9, OK));
    let through = |authorization: Option<&str>, origin: &str| {
        let authorization =
            authorization.map(|name| (HeaderValue::from_static("Basic eDp5"), name.to_owned()));
        let addresses = AddressPolicy::new(vec!["127.0.0.0/8".parse().unwrap()]);
        let proxy = Proxy { origin: proxy.origin(), addresses, resolves: true, authorization };
        HttpTarget { proxy: Some(proxy), ..target(Origin::parse(origin).unwrap()) }
    };
    let targets = [
        through(None, "http://a.example"),
        through(None, "http://b.example"),
        through(Some("login@1"), "http://a.example"),
        through(Some("login@2"), "http://a.example"),
        // The proxy itself as an origin.
        target(proxy.origin()),
    ];
    check("proxies", &proxy, &targets).await;
}
