use super::*;
use crate::inject::{Credential, Injection};
use proofport_core::secret::Secret;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::server::{ServerSessionMemoryCache, WebPkiClientVerifier};
use rustls::{ClientConnection, HandshakeKind, ServerConfig, ServerConnection, SupportedProtocolVersion};
use rustls_pki_types::{PrivateKeyDer, ServerName};

fn check(pem: &str, expected: InvalidTrust) {
    assert_eq!(Trust::with_pem(pem.as_bytes()).map(|_| ()), Err(expected), "{pem}");
}

#[test]
fn what_is_no_authority_is_refused() {
    check("", InvalidTrust::Empty);
    check("hello", InvalidTrust::Empty);
    check("-----BEGIN CERTIFICATE-----\n%%%\n-----END CERTIFICATE-----\n", InvalidTrust::Pem);
    check("-----BEGIN CERTIFICATE-----\nAAAA\n", InvalidTrust::Pem);
    check(
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        InvalidTrust::Certificate { position: 1 },
    );
}

/// An authority, and what it issued.
struct Issuer(CertifiedIssuer<'static, KeyPair>);

impl Issuer {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn issue(&self, name: &str) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        (params.signed_by(&key, &self.0).unwrap(), key)
    }

    /// A server that asks for a certificate and takes a client without one.
    fn server(&self, version: &'static SupportedProtocolVersion) -> Arc<ServerConfig> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(self.0.der().clone()).unwrap();
        let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
            .allow_unauthenticated()
            .build()
            .unwrap();
        let (certificate, key) = self.issue("a.example");
        let mut server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[version])
            .unwrap()
            .with_client_cert_verifier(clients)
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::Pkcs8(key.serialize_der().into()),
            )
            .unwrap();
        server.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        server.session_storage = ServerSessionMemoryCache::new(64);
        Arc::new(server)
    }

    fn identity(&self) -> Credential {
        let (certificate, key) = self.issue("client.example");
        let pem = format!("{}{}", certificate.pem(), key.serialize_pem());
        Credential::new(&Injection::ClientCertificate(Secret::new(pem.into_bytes()))).unwrap()
    }
}

/// What both sides saw of one handshake.
struct Seen {
    kind: HandshakeKind,
    /// The server's certificate, as the client has it.
    server: Digest,
    /// The client's certificate, as the server has it.
    client: Option<Digest>,
    protocol: Vec<u8>,
    early_data: bool,
}

/// One connection in memory, until both sides have read all that the other wrote.
fn handshake(config: Arc<ClientConfig>, server: &Arc<ServerConfig>) -> Seen {
    let name = ServerName::try_from("a.example").unwrap();
    let mut client = ClientConnection::new(config, name).unwrap();
    let mut server = ServerConnection::new(Arc::clone(server)).unwrap();
    let early_data = client.early_data().is_some();
    while client.wants_write() || server.wants_write() {
        let mut bytes = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut bytes).unwrap();
        }
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            server.read_tls(&mut rest).unwrap();
            server.process_new_packets().unwrap();
        }
        let mut bytes = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut bytes).unwrap();
        }
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            client.read_tls(&mut rest).unwrap();
            client.process_new_packets().unwrap();
        }
    }
    let digest = |chain: Option<&[CertificateDer<'_>]>| {
        chain.and_then(<[_]>::first).map(|certificate| Digest::of_bytes(certificate))
    };
    Seen {
        kind: client.handshake_kind().unwrap(),
        server: digest(client.peer_certificates()).unwrap(),
        client: digest(server.peer_certificates()),
        protocol: client.alpn_protocol().unwrap().to_vec(),
        early_data,
    }
}

#[test]
fn a_resumed_session_keeps_its_peer_and_is_shared_with_nobody() {
    let issuer = Issuer::new();
    let system = SystemRoots::new();
    let (one, other) = (issuer.identity(), issuer.identity());
    for version in rustls::ALL_VERSIONS {
        let server = issuer.server(version);
        let trust = Trust::with_pem(issuer.0.pem().as_bytes()).unwrap();
        let connect = |store: &str, alpn: Alpn, credential: Option<&Credential>| {
            let identity = credential.and_then(Credential::client_identity);
            let profile = TlsProfile { alpn, identity, store_key: store.to_owned() };
            handshake(trust.clone().client(&system, &profile).unwrap(), &server)
        };
        let first = connect("a", Alpn::Http1, None);
        // Each of these differs from all before it in one thing, so that none finds a session.
        for (store, alpn, credential) in [
            ("b", Alpn::Http1, None),
            ("a", Alpn::Http2OrHttp1, None),
            ("a", Alpn::Http1, Some(&one)),
            ("a", Alpn::Http1, Some(&other)),
        ] {
            let full = connect(store, alpn, credential);
            assert_eq!(full.kind, HandshakeKind::Full, "{version:?} {store} {alpn:?}");
            let again = connect(store, alpn, credential);
            assert_eq!(again.kind, HandshakeKind::Resumed, "{version:?} {store} {alpn:?}");
            assert_eq!((again.server, full.server), (first.server, first.server));
            assert_eq!(again.client, full.client);
            assert_eq!(full.client.is_some(), credential.is_some());
            let protocol: &[u8] = if alpn == Alpn::Http1 { b"http/1.1" } else { b"h2" };
            assert_eq!((full.protocol.as_slice(), again.protocol.as_slice()), (protocol, protocol));
            assert!(!full.early_data && !again.early_data);
        }
        // A trust of its own has sessions of its own.
        let apart = Trust::with_pem(issuer.0.pem().as_bytes()).unwrap();
        let profile = TlsProfile { alpn: Alpn::Http1, identity: None, store_key: "a".to_owned() };
        let apart = handshake(apart.client(&system, &profile).unwrap(), &server);
        assert_eq!(apart.kind, HandshakeKind::Full);
        assert_eq!(connect("a", Alpn::Http1, None).kind, HandshakeKind::Resumed);
    }
}

#[test]
fn few_configurations_are_kept() {
    let (trust, system) = (Trust::system(), SystemRoots::new());
    let client = |store: usize| {
        let profile = TlsProfile { alpn: Alpn::Http1, identity: None, store_key: store.to_string() };
        trust.client(&system, &profile).unwrap()
    };
    let first = client(0);
    assert!(Arc::ptr_eq(&first, &client(0)));
    for store in 1..=MOST {
        client(store);
    }
    assert!(trust.shared.clients.lock().unwrap().len() <= MOST);
    assert!(!Arc::ptr_eq(&first, &client(0)));
}
