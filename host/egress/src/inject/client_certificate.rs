//! A certificate with its private key, shown in the TLS handshake. It is part of no request.

use proofport_core::digest::Digest;
use proofport_core::secret::Secret;
use rustls::InconsistentKeys;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::{PemObject, SectionKind};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use std::sync::Arc;
use zeroize::Zeroizing;

/// What marks an encrypted key: RFC 7468 section 11, and RFC 1421 section 4.6 for the older forms.
const ENCRYPTED: [&[u8]; 2] = [b"-----BEGIN ENCRYPTED PRIVATE KEY-----", b"Proc-Type: 4,ENCRYPTED"];

/// A certificate chain and the private key that belongs to its first certificate. Clones share them. It
/// has no `Debug`. The key that signs lives in rustls' memory, which is freed and not zeroised.
#[derive(Clone)]
pub struct ClientIdentity {
    certified: Arc<CertifiedKey>,
    digest: Digest,
}

impl ClientIdentity {
    /// Reads PEM (RFC 7468): one or more certificates, the client's own first, and one private key
    /// (PKCS#8, PKCS#1 or SEC1) before, between or after them. Other sections are passed over.
    ///
    /// # Errors
    /// When one of these is missing, can't be read, or does not belong to the other. No byte of the text
    /// is repeated.
    pub fn parse(pem: &Secret) -> Result<Self, InvalidIdentity> {
        let (chain, key) = sections(pem)?;
        let key = key_of(&key)?;
        let key = any_supported_type(&key).map_err(|_| InvalidIdentity::Key)?;
        let parts: Vec<&[u8]> = chain.iter().map(|certificate| certificate.as_ref()).collect();
        let digest = Digest::of_parts("proofport.client-identity/1", &parts);
        let certified = CertifiedKey::new(chain, key);
        match certified.keys_match() {
            Ok(()) => Ok(Self { certified: Arc::new(certified), digest }),
            Err(rustls::Error::InconsistentKeys(
                InconsistentKeys::KeyMismatch | InconsistentKeys::Unknown,
            )) => Err(InvalidIdentity::Mismatch),
            Err(_) => Err(InvalidIdentity::Certificate),
        }
    }

    /// Names this identity: a digest of the certificates, which are public.
    #[must_use]
    pub const fn digest(&self) -> &Digest {
        &self.digest
    }

    /// What rustls shows and signs with.
    pub(crate) fn certified(&self) -> Arc<CertifiedKey> {
        Arc::clone(&self.certified)
    }
}

/// The private key's bytes as DER, of which a base64 text would be a shape.
pub(super) fn key_bytes(pem: &Secret) -> Result<Secret, InvalidIdentity> {
    sections(pem).map(|(_, (_, der))| Secret::new(der.to_vec()))
}

type Key = (SectionKind, Zeroizing<Vec<u8>>);

fn sections(pem: &Secret) -> Result<(Vec<CertificateDer<'static>>, Key), InvalidIdentity> {
    let text = pem.expose();
    if ENCRYPTED.iter().any(|mark| text.windows(mark.len()).any(|window| window == *mark)) {
        return Err(InvalidIdentity::EncryptedKey);
    }
    let (mut chain, mut keys) = (Vec::new(), Vec::new());
    for section in <(SectionKind, Vec<u8>)>::pem_slice_iter(text) {
        let (kind, der) = section.map_err(|_| InvalidIdentity::Pem)?;
        let der = Zeroizing::new(der);
        // The list of kinds is the library's to extend.
        #[expect(clippy::wildcard_enum_match_arm, reason = "a foreign enum that is not exhaustive")]
        match kind {
            SectionKind::Certificate => chain.push(CertificateDer::from(der.to_vec())),
            SectionKind::PrivateKey | SectionKind::RsaPrivateKey | SectionKind::EcPrivateKey => {
                keys.push((kind, der));
            }
            _ => {}
        }
    }
    let more = keys.len() > 1;
    match keys.pop() {
        Some(_) if more => Err(InvalidIdentity::SeveralKeys),
        _ if chain.is_empty() => Err(InvalidIdentity::NoCertificate),
        Some(key) => Ok((chain, key)),
        None => Err(InvalidIdentity::NoKey),
    }
}

fn key_of((kind, der): &Key) -> Result<PrivateKeyDer<'_>, InvalidIdentity> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "a foreign enum that is not exhaustive")]
    match kind {
        SectionKind::PrivateKey => Ok(PrivateKeyDer::Pkcs8(der.as_slice().into())),
        SectionKind::RsaPrivateKey => Ok(PrivateKeyDer::Pkcs1(der.as_slice().into())),
        SectionKind::EcPrivateKey => Ok(PrivateKeyDer::Sec1(der.as_slice().into())),
        _ => Err(InvalidIdentity::NoKey),
    }
}

/// Why a text is no client certificate with its key. Nothing of it is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidIdentity {
    /// A section that can't be read.
    #[error("a section of the PEM text can't be read")]
    Pem,
    /// No certificate.
    #[error("no certificate: the secret is a PEM text with the certificate, its chain and its private key")]
    NoCertificate,
    /// No private key.
    #[error("no private key: the secret is a PEM text with the certificate, its chain and its private key")]
    NoKey,
    /// More than one private key.
    #[error("more than one private key")]
    SeveralKeys,
    /// The private key is encrypted.
    #[error("the private key is encrypted: take its passphrase off, the vault encrypts it")]
    EncryptedKey,
    /// Not a certificate.
    #[error("the first certificate can't be read as X.509")]
    Certificate,
    /// Not a key that can sign.
    #[error("the private key can't be read, or is of a kind that is not supported")]
    Key,
    /// Key and certificate are of two pairs.
    #[error("the private key does not belong to the first certificate")]
    Mismatch,
}

#[cfg(test)]
mod tests;
