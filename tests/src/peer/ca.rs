//! A certificate authority for one test.

use proofport_core::digest::Digest;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, date_time_ymd,
};
use rustls::pki_types::PrivateKeyDer;
use rustls::server::{ServerConfig, WebPkiClientVerifier};
use rustls::{ConfigBuilder, RootCertStore, WantsVerifier, crypto::ring};
use std::sync::Arc;

/// A certificate authority that nobody knows yet.
pub struct Ca(CertifiedIssuer<'static, KeyPair>);

/// What a server agrees to speak, by ALPN (RFC 7301). Without a common protocol with a client that
/// names some, the handshake fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Alpn {
    /// `http/1.1` alone.
    #[default]
    Http1,
    /// `h2` alone.
    Http2,
    /// `h2` and `http/1.1`; the former where the client speaks both.
    Either,
    /// The server does not know the extension and ignores it.
    Ignored,
}

/// How a server does TLS.
#[derive(Clone, Copy)]
pub struct ServerOptions<'a> {
    /// The years with whose beginnings its certificate's validity starts and ends.
    pub valid: (i32, i32),
    /// What it agrees to speak.
    pub alpn: Alpn,
    /// Who issued the certificates that it demands of clients. None: it asks for none.
    pub clients: Option<&'a Ca>,
}

impl Default for ServerOptions<'_> {
    fn default() -> Self {
        Self { valid: (1975, 4096), alpn: Alpn::Http1, clients: None }
    }
}

/// A certificate with its key, as PEM.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The certificate, and behind it the authority's.
    pub chain: String,
    /// The private key, as PKCS #8.
    pub key: String,
    /// The certificate's SHA-256 over its DER form, as [`Session`](super::Session) shows it.
    pub digest: Digest,
}

impl Default for Ca {
    fn default() -> Self {
        Self::new()
    }
}

impl Ca {
    /// A new authority with a new key.
    #[must_use]
    pub fn new() -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "Proofport test authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// The authority's certificate.
    #[must_use]
    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// A server with a certificate for these names and addresses.
    #[must_use]
    pub fn server(&self, names: &[&str]) -> Arc<ServerConfig> {
        self.server_with(names, ServerOptions::default())
    }

    /// A server whose certificate is valid from the beginning of one year to that of another.
    #[must_use]
    pub fn server_valid(&self, names: &[&str], valid: (i32, i32)) -> Arc<ServerConfig> {
        self.server_with(names, ServerOptions { valid, ..ServerOptions::default() })
    }

    /// A server that agrees to speak this.
    #[must_use]
    pub fn server_offering(&self, names: &[&str], alpn: Alpn) -> Arc<ServerConfig> {
        self.server_with(names, ServerOptions { alpn, ..ServerOptions::default() })
    }

    /// A server that demands a certificate from the second authority of every client.
    #[must_use]
    pub fn server_with_client_auth(&self, names: &[&str], clients: &Self) -> Arc<ServerConfig> {
        self.server_with(names, ServerOptions { clients: Some(clients), ..ServerOptions::default() })
    }

    /// A server with a certificate for these names and addresses that does TLS in this way. It gives out
    /// session tickets, which work for as long as the configuration lives.
    #[must_use]
    pub fn server_with(&self, names: &[&str], options: ServerOptions<'_>) -> Arc<ServerConfig> {
        let (certificate, key) = self.issue(named(names, options.valid));
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let builder = tls13_and_12();
        let builder = match options.clients {
            None => builder.with_no_client_auth(),
            Some(clients) => {
                let mut roots = RootCertStore::empty();
                roots.add(clients.0.der().clone()).unwrap();
                let provider = Arc::new(ring::default_provider());
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                builder.with_client_cert_verifier(verifier.build().unwrap())
            }
        };
        let mut config = builder.with_single_cert(vec![certificate.der().clone()], key).unwrap();
        config.ticketer = ring::Ticketer::new().unwrap();
        config.alpn_protocols = match options.alpn {
            Alpn::Http1 => vec![b"http/1.1".to_vec()],
            Alpn::Http2 => vec![b"h2".to_vec()],
            Alpn::Either => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
            Alpn::Ignored => Vec::new(),
        };
        Arc::new(config)
    }

    /// A server's certificate for these names and addresses, for a server that is not ours.
    #[must_use]
    pub fn server_identity(&self, names: &[&str]) -> Identity {
        self.identity(named(names, ServerOptions::default().valid))
    }

    /// A client's certificate, with this common name.
    #[must_use]
    pub fn client(&self, name: &str) -> Identity {
        let mut params = named(&[], ServerOptions::default().valid);
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages.push(ExtendedKeyUsagePurpose::ClientAuth);
        self.identity(params)
    }

    fn identity(&self, params: CertificateParams) -> Identity {
        let (certificate, key) = self.issue(params);
        Identity {
            chain: certificate.pem() + &self.pem(),
            key: key.serialize_pem(),
            digest: Digest::of_bytes(certificate.der()),
        }
    }

    fn issue(&self, params: CertificateParams) -> (Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.0).unwrap(), key)
    }
}

fn named(names: &[&str], (from, until): (i32, i32)) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.not_before = date_time_ymd(from, 1, 1);
    params.not_after = date_time_ymd(until, 1, 1);
    params
}

fn tls13_and_12() -> ConfigBuilder<ServerConfig, WantsVerifier> {
    ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
}
