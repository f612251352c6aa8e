//! What the peer settles by TLS, and what it logs of it.

use crate::{CA, address, client, connect_tls, talk};
use proofport_tests::peer::{Alpn, Ca, Identity, Peer, Script, ServerOptions, Session, h2};
use std::sync::Arc;

const NAMES: &[&str] = &["127.0.0.1"];
const GET: &[u8] = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n";
const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

#[test]
fn a_client_shows_the_right_certificate_or_gets_no_answer() {
    let (clients, stranger) = (Ca::new(), Ca::new());
    let server = CA.server_with_client_auth(NAMES, &clients);
    let check = |identity: Option<&Identity>, accepted: bool| {
        let peer = Peer::https_as(Script::answer(OK), Arc::clone(&server));
        let answer = talk(&mut connect_tls(address(&peer), &client(&[], identity)), GET);
        assert_eq!(answer.is_ok(), accepted, "{answer:?}");
        peer.wait_ended(1);
        let session = Session { protocol: None, resumed: false, client: identity.map(|known| known.digest) };
        assert_eq!(peer.sessions(), [accepted.then_some(session)]);
        assert_eq!((peer.effects(), peer.received().concat().is_empty()), (usize::from(accepted), !accepted));
    };
    check(Some(&clients.client("agent")), true);
    check(Some(&stranger.client("agent")), false);
    check(None, false);
}

#[test]
fn a_session_is_resumed_with_the_certificate_of_its_first() {
    let clients = Ca::new();
    let identity = clients.client("agent");
    let server = CA.server_with_client_auth(NAMES, &clients);
    let peer = Peer::https_as(Script::answer(OK), server);
    let config = client(&[], Some(&identity));
    for _ in 0..2 {
        talk(&mut connect_tls(address(&peer), &config), GET).unwrap();
    }
    // Another client has no session to come back to.
    talk(&mut connect_tls(address(&peer), &client(&[], Some(&identity))), GET).unwrap();
    let each: Vec<_> = peer.sessions().into_iter().map(|session| session.unwrap()).collect();
    assert_eq!(each.iter().map(|session| session.resumed).collect::<Vec<_>>(), [false, true, false]);
    assert!(each.iter().all(|session| session.client == Some(identity.digest)));
    assert_eq!(peer.resumed(), 1);
}

#[test]
fn alpn_chooses_between_the_scripts() {
    let check = |alpn: Alpn, offered: &[&str], chosen: Option<&str>| {
        let server = CA.server_with(NAMES, ServerOptions { alpn, ..ServerOptions::default() });
        let peer = Peer::https_either(Script::answer(OK), h2::Script(vec![h2::Act::ReadPreface]), server);
        let answer = talk(&mut connect_tls(address(&peer), &client(offered, None)), GET);
        let session = peer.sessions().pop().flatten();
        assert_eq!(session.and_then(|session| session.protocol).as_deref(), chosen, "{alpn:?} {offered:?}");
        // The preface of HTTP/2 is wanted where that was agreed, and GET is none.
        assert_eq!(answer.is_ok_and(|text| text.as_bytes() == OK), peer.effects() == 1);
        peer.effects() == 1
    };
    assert!(!check(Alpn::Either, &["h2", "http/1.1"], Some("h2")));
    assert!(check(Alpn::Either, &["http/1.1"], Some("http/1.1")));
    assert!(check(Alpn::Http1, &["h2", "http/1.1"], Some("http/1.1")));
    assert!(!check(Alpn::Http2, &["h2", "http/1.1"], Some("h2")));
    assert!(check(Alpn::Ignored, &["h2", "http/1.1"], None));
    assert!(check(Alpn::Either, &[], None));
    // Nothing in common: the handshake fails.
    assert!(!check(Alpn::Http2, &["http/1.1"], None));
}
