//! A certificate authority for one test.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::sync::Arc;

/// A certificate authority that nobody knows yet.
pub struct Ca(CertifiedIssuer<'static, KeyPair>);

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
        self.server_valid(names, (1975, 4096))
    }

    /// A server whose certificate is valid from the beginning of one year to that of another.
    #[must_use]
    pub fn server_valid(&self, names: &[&str], (from, until): (i32, i32)) -> Arc<ServerConfig> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.not_before = date_time_ymd(from, 1, 1);
        params.not_after = date_time_ymd(until, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        server_config(certificate.der().clone(), key.serialize_der())
    }
}

fn server_config(certificate: CertificateDer<'static>, key: Vec<u8>) -> Arc<ServerConfig> {
    let key = PrivateKeyDer::Pkcs8(key.into());
    let mut config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Arc::new(config)
}
