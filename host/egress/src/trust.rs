//! Which certificates are believed: the system's roots, and those that a connection adds.

use crate::inject::ClientIdentity;
use proofport_core::digest::Digest;
use rustls::client::Resumption;
use rustls::crypto::CryptoProvider;
use rustls::sign::SingleCertAndKey;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The most configurations that are kept; beyond it all are built anew, and sessions with them.
const MOST: usize = 64;

/// How many sessions a store keeps. It is for one origin, so that few are needed.
const SESSIONS: usize = 32;

/// What a connection trusts. Clones share the parsed roots and the TLS sessions.
#[derive(Clone, Default)]
pub struct Trust {
    extra: Arc<[CertificateDer<'static>]>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    roots: OnceLock<Arc<RootCertStore>>,
    fingerprint: OnceLock<Digest>,
    clients: Mutex<HashMap<ClientKey, Arc<ClientConfig>>>,
}

/// What two connections must have in common to share sessions: the store's key, the protocols that were
/// offered, and the client's identity.
type ClientKey = (String, Alpn, Option<Digest>);

/// Which protocols are offered (RFC 7301).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Alpn {
    /// `http/1.1` only.
    Http1,
    /// `h2`, and `http/1.1` for a peer without it.
    Http2OrHttp1,
}

/// How a TLS connection presents itself.
pub struct TlsProfile<'i> {
    /// Which protocols are offered.
    pub alpn: Alpn,
    /// Whose certificate is shown if the peer asks for one.
    pub identity: Option<&'i ClientIdentity>,
    /// Names the store of sessions: no session is resumed under another one.
    pub store_key: String,
}

impl Alpn {
    fn protocols(self) -> Vec<Vec<u8>> {
        match self {
            Self::Http1 => vec![b"http/1.1".to_vec()],
            Self::Http2OrHttp1 => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
        }
    }
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
        Ok(Self { extra: certificates.into(), shared: Arc::default() })
    }

    /// Tells this trust from another.
    pub(crate) fn fingerprint(&self) -> Digest {
        *self.shared.fingerprint.get_or_init(|| {
            let parts: Vec<&[u8]> = self.extra.iter().map(AsRef::as_ref).collect();
            Digest::of_parts("proofport.trust/1", &parts)
        })
    }

    /// The TLS configuration for connections of this profile, built on first use, with its own store of
    /// sessions.
    pub(crate) fn client(
        &self,
        system: &SystemRoots,
        profile: &TlsProfile<'_>,
    ) -> Result<Arc<ClientConfig>, rustls::Error> {
        let identity = profile.identity.map(|identity| *identity.digest());
        let key = (profile.store_key.clone(), profile.alpn, identity);
        let mut clients = self.shared.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&key) {
            return Ok(Arc::clone(client));
        }
        let client = Arc::new(self.build(system, profile)?);
        if clients.len() >= MOST {
            clients.clear();
        }
        clients.insert(key, Arc::clone(&client));
        Ok(client)
    }

    fn build(&self, system: &SystemRoots, profile: &TlsProfile<'_>) -> Result<ClientConfig, rustls::Error> {
        let builder = ClientConfig::builder_with_provider(system.provider())
            .with_safe_default_protocol_versions()?
            .with_root_certificates(self.roots(system)?);
        let mut client = match profile.identity {
            Some(identity) => {
                builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(identity.certified())))
            }
            None => builder.with_no_client_auth(),
        };
        client.alpn_protocols = profile.alpn.protocols();
        // A resumed session keeps the certificate that its first handshake verified, so that its peer
        // is bound to the record all the same. Early data could be replayed; rustls leaves it off unless
        // asked.
        client.resumption = Resumption::in_memory_sessions(SESSIONS);
        Ok(client)
    }

    fn roots(&self, system: &SystemRoots) -> Result<Arc<RootCertStore>, rustls::Error> {
        if let Some(roots) = self.shared.roots.get() {
            return Ok(Arc::clone(roots));
        }
        let mut roots = RootCertStore { roots: system.roots().to_vec() };
        for certificate in self.extra.iter() {
            roots.add(certificate.clone())?;
        }
        Ok(Arc::clone(self.shared.roots.get_or_init(|| Arc::new(roots))))
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
mod tests;
