//! Who the peer of a connection is, on record for each.

use crate::{CA, KEPT, NAMES, NEW, OK, STALE, ask, seen, target};
use proofport_core::contract::Stage;
use proofport_core::digest::Digest;
use proofport_core::evidence::Cause;
use proofport_core::origin::Origin;
use proofport_egress::{HttpEgress, HttpTarget, Pins, Resolver};
use proofport_tests::peer::{Act, Identity, Peer, Script, Scripts};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert, ServerConfig};
use rustls::sign::CertifiedKey;
use std::collections::VecDeque;
use std::io::Read as _;
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::sync::{Arc, Mutex};
use tokio::task::block_in_place;

/// Shows one certificate in the first handshake, the next in the second, and so on.
#[derive(Debug)]
struct InTurn(Mutex<VecDeque<Arc<CertifiedKey>>>);

impl ResolvesServerCert for InTurn {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let mut each = self.0.lock().unwrap();
        if each.len() > 1 { each.pop_front() } else { each.front().cloned() }
    }
}

/// A server that shows these certificates in turn.
fn server(identities: &[&Identity], tickets: bool) -> ServerConfig {
    let each = identities.iter().map(|identity| {
        let chain = CertificateDer::pem_slice_iter(identity.chain.as_bytes()).map(Result::unwrap).collect();
        let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap();
        Arc::new(CertifiedKey::new(chain, ring::sign::any_supported_type(&key).unwrap()))
    });
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(InTurn(Mutex::new(each.collect()))));
    if tickets {
        config.ticketer = ring::Ticketer::new().unwrap();
    } else {
        config.send_tls13_tickets = 0;
    }
    config
}

fn pinned(digests: &[Digest]) -> Pins {
    digests.iter().copied().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_connection_names_its_peer() {
    let identity = CA.server_identity(NAMES);
    let peer = Peer::https_as(Script::keep_alive(9, OK), Arc::new(server(&[&identity], true)));
    let local = [("localhost".to_owned(), vec![IpAddr::V4(Ipv4Addr::LOCALHOST)])];
    let egress = HttpEgress::with_resolver(Resolver::Fixed(local.into()));
    for host in ["127.0.0.1", "localhost"] {
        let kept = target(peer.origin_as(host));
        let fresh = HttpTarget { fresh: true, ..kept.clone() };
        let resumed = peer.resumed();
        // A first handshake, a resumed one, and a kept connection.
        for (target, attempts) in [(&kept, NEW), (&fresh, NEW), (&kept, KEPT)] {
            let done = ask(&egress, target).await;
            assert_eq!(done.attempts(), attempts, "{host}");
            assert_eq!(done.peer.name, host);
            assert_eq!(done.peer.certificate, Some(identity.digest), "{host}");
        }
        assert!(peer.resumed() > resumed, "{host}: a session was resumed");
    }
    let resumed: Vec<_> = peer.sessions().into_iter().map(|session| session.unwrap().resumed).collect();
    assert_eq!(resumed, [false, true, false, true]);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_pinned_peer_is_spoken_to() {
    let (first, second) = (CA.server_identity(NAMES), CA.server_identity(NAMES));
    let stranger = Digest::of_bytes(b"another certificate");
    let cases: [(&[Digest], bool); 4] = [
        (&[], true),
        (&[first.digest], true),
        (&[stranger, first.digest], true),
        (&[stranger, second.digest], false),
    ];
    for (pins, accepted) in cases {
        for tickets in [false, true] {
            let peer = Peer::https_as(Script::keep_alive(9, OK), Arc::new(server(&[&first], tickets)));
            let egress = HttpEgress::new();
            let pins = pinned(pins);
            let target = HttpTarget { pins, setup_attempts: 3, fresh: true, ..target(peer.origin()) };
            if accepted {
                // Also where the second session is a resumed one.
                for _ in 0..2 {
                    assert_eq!(ask(&egress, &target).await.peer.certificate, Some(first.digest));
                }
                assert_eq!(peer.resumed() > 0, tickets);
                continue;
            }
            for n in 1..=2 {
                let setup = egress.connect(&target, 1).await;
                let mismatch = (1, Stage::IdentityVerified, Some(Cause::PinMismatch), false);
                // It would be no other certificate in a moment, so it is not tried again.
                assert_eq!(seen(&setup.attempts), [mismatch]);
                assert_eq!(setup.result.err().unwrap().cause, Cause::PinMismatch);
                block_in_place(|| peer.wait_ended(n));
            }
            assert_eq!(peer.received(), [b"", b""], "no byte of a request");
        }
    }
}

/// A certificate that the authority issued for the same name, and that nobody has pinned.
#[tokio::test(flavor = "multi_thread")]
async fn a_changed_certificate_is_noticed() {
    let (before, after) = (CA.server_identity(NAMES), CA.server_identity(NAMES));
    let peer = Peer::https_as(Script::keep_alive(9, OK), Arc::new(server(&[&before, &after], false)));
    let egress = HttpEgress::new();
    let target = HttpTarget { fresh: true, ..target(peer.origin()) };
    let with = |pins: &[Digest]| HttpTarget { pins: pinned(pins), ..target.clone() };
    assert_eq!(ask(&egress, &with(&[before.digest])).await.peer.certificate, Some(before.digest));
    let setup = egress.connect(&with(&[before.digest]), 1).await;
    assert_eq!(setup.result.err().unwrap().cause, Cause::PinMismatch);
    block_in_place(|| peer.wait_ended(1));
    assert_eq!(peer.received()[1], b"");
    // Without a pin it is another peer on record.
    assert_eq!(ask(&egress, &with(&[])).await.peer.certificate, Some(after.digest));
}

/// Pins that are read anew hold for what was kept under the old ones.
#[tokio::test(flavor = "multi_thread")]
async fn a_kept_connection_has_to_fit_the_pins() {
    let (first, second) = (CA.server_identity(NAMES), CA.server_identity(NAMES));
    let peer = Peer::https_as(Script::keep_alive(9, OK), Arc::new(server(&[&first, &second], false)));
    let egress = HttpEgress::new();
    let target = target(peer.origin());
    assert_eq!(ask(&egress, &target).await.attempts(), NEW);
    let pinned = HttpTarget { pins: pinned(&[second.digest]), ..target };
    let done = ask(&egress, &pinned).await;
    assert_eq!((done.attempts(), done.peer.certificate), (STALE.to_vec(), Some(second.digest)));
}

/// A server that would take early data, which can be replayed, gets none.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_sent_as_early_data() {
    let identity = CA.server_identity(NAMES);
    let mut config = server(&[&identity], false);
    config.max_early_data_size = 16_384;
    // Early data needs sessions that the server itself remembers.
    config.send_tls13_tickets = 2;
    let config = Arc::new(config);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let origin = Origin::parse(&format!("https://{}", listener.local_addr().unwrap())).unwrap();
    let serving = std::thread::spawn(move || {
        let mut seen = Vec::new();
        for _ in 0..3 {
            let (mut stream, _) = listener.accept().unwrap();
            let mut tls = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            // Up to here a client could have sent some.
            while tls.is_handshaking() {
                tls.complete_io(&mut stream).unwrap();
            }
            let resumed = tls.handshake_kind() == Some(rustls::HandshakeKind::Resumed);
            seen.push((resumed, tls.early_data().is_some()));
            let mut tls = rustls::StreamOwned::new(tls, stream);
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                tls.read_exact(&mut byte).unwrap();
                request.extend(byte);
            }
            std::io::Write::write_all(&mut tls, OK.as_bytes()).unwrap();
            tls.conn.send_close_notify();
            let _ = tls.conn.complete_io(&mut tls.sock);
        }
        seen
    });
    let egress = HttpEgress::new();
    let target = HttpTarget { fresh: true, ..target(origin) };
    for _ in 0..3 {
        assert_eq!(ask(&egress, &target).await.body(), Some(b"ok".as_slice()));
    }
    assert_eq!(serving.join().unwrap(), [(false, false), (true, false), (true, false)]);
}

/// A peer that never ends its handshake is told nothing.
#[tokio::test(flavor = "multi_thread")]
async fn no_byte_goes_before_the_peer_is_known() {
    let peer = Peer::http(Scripts {
        each: Default::default(),
        default: Some(Script(vec![Act::Read(5), Act::Reset])),
    });
    let origin = Origin::parse(&format!("https://127.0.0.1:{}", peer.port())).unwrap();
    let setup = HttpEgress::new().connect(&target(origin), 1).await;
    assert_eq!(setup.result.err().unwrap().stage, Stage::TlsHandshake);
    // What came is a TLS record of a handshake, and no text.
    assert_eq!(peer.received()[0][..3], [22, 3, 1]);
}
