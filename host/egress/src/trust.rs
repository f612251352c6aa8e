//! Which certificates are believed: the system's roots, and those that a connection adds.

use rustls::client::Resumption;
use rustls::crypto::CryptoProvider;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use std::sync::{Arc, OnceLock};

/// What a connection trusts. Clones share the parsed roots.
#[derive(Clone, Default)]
pub struct Trust {
    extra: Arc<[CertificateDer<'static>]>,
    client: Arc<OnceLock<Arc<ClientConfig>>>,
}

impl Trust {
    /// The system's roots only.
    #[must_use]
    pub fn system() -> Self {
        Self::default()
    }

    /// The system's roots and the certificate authorities in this PEM text (RFC 7468).
    ///
    /// # Errors
    /// When the text is not PEM, holds no certificate, or holds one that can't be an authority.
    pub fn with_pem(pem: &[u8]) -> Result<Self, InvalidTrust> {
        let certificates = CertificateDer::pem_slice_iter(pem)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| InvalidTrust::Pem)?;
        if certificates.is_empty() {
            return Err(InvalidTrust::Empty);
        }
        let mut store = RootCertStore::empty();
        for (index, certificate) in certificates.iter().enumerate() {
            store.add(certificate.clone()).map_err(|_| InvalidTrust::Certificate { position: index + 1 })?;
        }
        Ok(Self { extra: certificates.into(), client: Arc::default() })
    }

    /// The TLS configuration, built on first use.
    pub(crate) fn client(&self, system: &SystemRoots) -> Result<Arc<ClientConfig>, rustls::Error> {
        if let Some(client) = self.client.get() {
            return Ok(Arc::clone(client));
        }
        let mut roots = RootCertStore { roots: system.roots().to_vec() };
        for certificate in self.extra.iter() {
            roots.add(certificate.clone())?;
        }
        let mut client = ClientConfig::builder_with_provider(system.provider())
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        client.alpn_protocols = vec![b"http/1.1".to_vec()];
        // A resumed session shows no certificate, so its peer could not be bound to the record. Early
        // data could be replayed; rustls leaves it off unless asked.
        client.resumption = Resumption::disabled();
        Ok(Arc::clone(self.client.get_or_init(|| Arc::new(client))))
    }
}

/// The system's roots, read once, when the first TLS connection needs them.
pub(crate) struct SystemRoots {
    provider: Arc<CryptoProvider>,
    roots: OnceLock<Vec<rustls_pki_types::TrustAnchor<'static>>>,
}

impl SystemRoots {
    pub(crate) fn new() -> Self {
        Self { provider: Arc::new(rustls::crypto::ring::default_provider()), roots: OnceLock::new() }
    }

    fn provider(&self) -> Arc<CryptoProvider> {
        Arc::clone(&self.provider)
    }

    fn roots(&self) -> &[rustls_pki_types::TrustAnchor<'static>] {
        self.roots.get_or_init(|| {
            let found = rustls_native_certs::load_native_certs();
            let mut store = RootCertStore::empty();
            let (_, ignored) = store.add_parsable_certificates(found.certs);
            if store.is_empty() {
                tracing::warn!(errors = found.errors.len(), ignored, "no usable system root certificates");
            }
            store.roots
        })
    }
}

/// Why a text is no list of certificate authorities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTrust {
    /// Not PEM.
    #[error(
        "not PEM: certificates stand between `-----BEGIN CERTIFICATE-----` and `-----END CERTIFICATE-----`"
    )]
    Pem,
    /// PEM without a certificate.
    #[error("no certificate in this file")]
    Empty,
    /// A certificate that can't be read as an authority.
    #[error("certificate {position} in this file can't be read as an X.509 authority")]
    Certificate {
        /// Counted from 1.
        position: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
