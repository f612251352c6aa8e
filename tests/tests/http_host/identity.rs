//! Who the two ends of a connection prove to be, and what is claimed when they do not.

use crate::{CA, NAMES, OK, Site, record};
use proofport_core::code::Code;
use proofport_core::contract::{InjectionMode, Outcome, Stage};
use proofport_core::digest::Digest;
use proofport_core::evidence::{Cause, PeerIdentity};
use proofport_core::origin::Origin;
use proofport_tests::canary::assert_absent_below;
use proofport_tests::peer::{Alpn, Ca, Identity, Peer, Script, ServerOptions};
use proofport_tests::rig::{CANARY, Open};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ServerConfig, WebPkiClientVerifier};
use rustls::{RootCertStore, version};
use std::sync::Arc;
use tokio::task::block_in_place;

/// A server with this certificate, in these versions of TLS, which demands one of clients.
fn server(
    identity: &Identity,
    versions: &[&'static rustls::SupportedProtocolVersion],
    clients: Option<&Ca>,
) -> ServerConfig {
    let provider = Arc::new(ring::default_provider());
    let builder =
        ServerConfig::builder_with_provider(Arc::clone(&provider)).with_protocol_versions(versions).unwrap();
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(clients) => {
            let mut roots = RootCertStore::empty();
            roots.add(CertificateDer::from_pem_slice(clients.pem().as_bytes()).unwrap()).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            builder.with_client_cert_verifier(verifier.build().unwrap())
        }
    };
    let chain = CertificateDer::pem_slice_iter(identity.chain.as_bytes()).map(Result::unwrap).collect();
    builder.with_single_cert(chain, PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap()).unwrap()
}

/// Every peer on record of two calls each of a read and of three writes.
async fn peers(open: &Open) -> Vec<PeerIdentity> {
    let mut all = Vec::new();
    for operation in ["look", "act", "keyed", "prepared"] {
        for key in ["one", "two"] {
            let envelope = open.call_with(operation, "{}", Some(&format!("{operation}-{key}"))).await;
            assert!(envelope.ok(), "{operation}: {envelope:?}");
            let state = record(open, &envelope);
            all.extend(state.queries.iter().map(|query| query.peer.clone()));
            all.extend(state.attempts.iter().map(|attempt| attempt.dispatch.peer.clone()));
        }
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn each_exchange_has_its_peer_on_record() {
    let identity = CA.server_identity(NAMES);
    for versions in [&[&version::TLS13][..], &[&version::TLS12]] {
        let peer = Peer::https_as(Script::keep_alive(99, OK), Arc::new(server(&identity, versions, None)));
        let rig = Site::of(peer.origin()).make().await;
        let open = rig.open().await;
        let expected = PeerIdentity { name: "127.0.0.1".to_owned(), certificate: Some(identity.digest) };
        assert_eq!(peers(&open).await, vec![expected; 10]);
        assert!(peer.resumed() > 0, "some of these connections resumed a session");
        assert!(peer.accepted() < 10, "and some exchanges used a kept one");
        open.close();
    }
    let plain = Peer::http(Script::keep_alive(99, OK));
    let rig = Site::of(plain.origin()).make().await;
    let open = rig.open().await;
    let expected = PeerIdentity { name: "127.0.0.1".to_owned(), certificate: None };
    assert_eq!(peers(&open).await, vec![expected; 10]);
    open.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn pins_hold_for_reads_and_writes() {
    let identity = CA.server_identity(NAMES);
    let stranger = Digest::of_bytes(b"another certificate");
    for (pins, accepted) in [(vec![stranger, identity.digest], true), (vec![stranger], false)] {
        let pins: Vec<String> = pins.iter().map(|pin| format!("\"{pin}\"")).collect();
        let peer =
            Peer::https_as(Script::keep_alive(99, OK), Arc::new(server(&identity, &[&version::TLS13], None)));
        let more = format!("pins = [{}]", pins.join(", "));
        let rig = Site { more, limits: "setup_attempts = 3", ..Site::of(peer.origin()) }.make().await;
        let open = rig.open().await;
        if accepted {
            peers(&open).await;
            continue;
        }
        for (n, operation) in ["look", "act", "keyed", "prepared"].into_iter().enumerate() {
            let envelope = open.call(operation, "{}").await;
            let got = (envelope.code(), envelope.outcome());
            assert_eq!(
                got,
                (Some(Code::PeerUnverified), Some(Outcome::NotAttempted)),
                "{operation}: {envelope:?}"
            );
            let state = record(&open, &envelope);
            let setup: Vec<_> = state.setup.iter().map(|attempt| (attempt.stage, attempt.cause)).collect();
            assert_eq!(setup, [(Stage::IdentityVerified, Some(Cause::PinMismatch))], "{operation}");
            assert!(state.attempts.is_empty() && state.queries.is_empty(), "{operation}");
            block_in_place(|| peer.wait_ended(n + 1));
        }
        assert_eq!(peer.received(), [b""; 4], "no byte of a request");
        open.close();
    }
}

fn pem(identity: &Identity) -> String {
    format!("{}{}", identity.chain, identity.key)
}

/// A connection that shows this in its handshakes.
fn showing(origin: Origin, identity: &Identity) -> Site {
    Site { mode: InjectionMode::TlsClientCertificate, secret: pem(identity), ..Site::of(origin) }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_host_shows_its_certificate() {
    let clients = Ca::new();
    let identity = clients.client("proofport");
    for alpn in [Alpn::Http1, Alpn::Ignored] {
        let options = ServerOptions { alpn, clients: Some(&clients), ..ServerOptions::default() };
        let peer = Peer::https_as(Script::keep_alive(99, OK), CA.server_with(NAMES, options));
        let rig = showing(peer.origin(), &identity).make().await;
        let open = rig.open().await;
        peers(&open).await;
        let shown: Vec<_> = peer.sessions().into_iter().map(|session| session.unwrap().client).collect();
        // In resumed sessions too.
        assert!(shown.len() > 2 && shown.iter().all(|client| *client == Some(identity.digest)), "{shown:?}");
        // It is in no request, and the key is nowhere in the clear.
        for received in peer.received() {
            let received = String::from_utf8(received).unwrap().to_ascii_lowercase();
            assert!(!received.contains("authorization") && !received.contains("certificate"), "{received}");
        }
        open.close();
        let key: String = identity.key.lines().filter(|line| !line.starts_with('-')).collect();
        assert_absent_below(&key, &rig.home());
    }
}

/// In TLS 1.3 a client has ended its handshake before the server has looked at its certificate. What it
/// learns afterwards can't be told from an answer that was lost, so that it says less than there is to
/// know, and never more.
#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_is_refused_claims_nothing_false() {
    let (clients, others) = (Ca::new(), Ca::new());
    let server_identity = CA.server_identity(NAMES);
    let wrong = others.client("somebody else");
    let tls13 = || Arc::new(server(&server_identity, &[&version::TLS13], Some(&clients)));
    let tls12 = || Arc::new(server(&server_identity, &[&version::TLS12], Some(&clients)));
    for (what, config, early) in [("1.3", tls13(), false), ("1.2", tls12(), true)] {
        for absent in [false, true] {
            let what = format!("TLS {what}, absent: {absent}");
            let peer = Peer::https_as(Script::answer(OK), Arc::clone(&config));
            let site = if absent { Site::of(peer.origin()) } else { showing(peer.origin(), &wrong) };
            let rig = site.make().await;
            let open = rig.open().await;
            for operation in ["act", "keyed"] {
                let envelope = open.call(operation, "{}").await;
                let state = record(&open, &envelope);
                match envelope.outcome() {
                    Some(Outcome::NotAttempted) => {
                        assert!(state.attempts.is_empty(), "{what}: {state:?}");
                        let last = state.setup.last().unwrap();
                        assert!(last.cause.is_some(), "{what}: {last:?}");
                        assert_eq!(envelope.code(), Some(Code::ConnectFailed), "{what}: {envelope:?}");
                    }
                    Some(Outcome::Unknown) => {
                        assert!(!early, "{what}: the handshake had failed before anything was sent");
                        assert_eq!(state.attempts.len(), 1, "{what}: {state:?}");
                    }
                    other => panic!("{what}: {other:?} {envelope:?}"),
                }
            }
            let accepted = peer.accepted();
            block_in_place(|| peer.wait_ended(accepted));
            assert!(peer.received().iter().all(Vec::is_empty), "{what}: nothing came through the handshake");
            assert_eq!(peer.effects(), 0, "{what}");
            open.close();
            assert_absent_below(CANARY, &rig.home());
        }
    }
}
