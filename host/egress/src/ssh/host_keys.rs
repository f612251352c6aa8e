//! Which host keys a connection knows. There is no trust on first use: a key that an admin has not
//! named is unknown, whoever shows it.

use super::host_certificate::{self, CertificateFault};
use super::known_hosts;
use data_encoding::BASE64_NOPAD;
use proofport_core::digest::Digest;
use proofport_core::evidence::Cause;
use proofport_core::ssh::SshHost;
use proofport_core::time::UnixMillis;
use russh::Preferred;
use russh::keys::PublicKeyOrCertificate;
use russh::keys::ssh_key::public::KeyData;
use russh::keys::ssh_key::{Algorithm, HashAlg, PublicKey};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Known keys, authorities that certify hosts, and what is revoked. A key is known by the SHA-256 of
/// its public part, which is what `ssh-keygen -l` prints.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostKeys {
    keys: BTreeSet<Digest>,
    pub(super) authorities: BTreeSet<Digest>,
    revoked: BTreeSet<Digest>,
    /// Kinds of the known keys, as far as they are known: a host that has several is asked for one of
    /// these first.
    kinds: Vec<Algorithm>,
}

impl HostKeys {
    /// No key: nothing can be connected to.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Whether there is neither a key nor an authority.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.authorities.is_empty()
    }

    /// Adds a known key: `SHA256:` and the fingerprint in base64 as `ssh-keygen -l` prints it, or a public
    /// key's line.
    ///
    /// # Errors
    /// When it is neither.
    pub fn pin(&mut self, text: &str) -> Result<(), InvalidHostKeys> {
        if let Some(digest) = fingerprint_of_text(text)? {
            self.keys.insert(digest);
        } else {
            self.know(&public_key(text)?);
        }
        Ok(())
    }

    /// Adds an authority whose host certificates are believed.
    ///
    /// # Errors
    /// As [`Self::pin`].
    pub fn trust_authority(&mut self, text: &str) -> Result<(), InvalidHostKeys> {
        self.authorities.insert(any_digest(text)?);
        Ok(())
    }

    /// Adds a key that is accepted in no role, known or not.
    ///
    /// # Errors
    /// As [`Self::pin`].
    pub fn revoke(&mut self, text: &str) -> Result<(), InvalidHostKeys> {
        self.revoked.insert(any_digest(text)?);
        Ok(())
    }

    /// Takes what a `known_hosts` file (sshd(8)) says about this host: keys, `@cert-authority` and
    /// `@revoked`; names may be patterns or hashed. Gives how many lines were about it. Lines about others
    /// are passed over.
    ///
    /// # Errors
    /// When a line about this host can't be read.
    pub fn import_known_hosts(&mut self, text: &str, host: &SshHost) -> Result<usize, InvalidHostKeys> {
        let lines = known_hosts::about(text, &host.known_as())?;
        for line in &lines {
            match line.role {
                known_hosts::Role::Host => self.know(&line.key),
                known_hosts::Role::Authority => {
                    self.authorities.insert(digest(line.key.key_data()));
                }
                known_hosts::Role::Revoked => {
                    self.revoked.insert(digest(line.key.key_data()));
                }
            }
        }
        Ok(lines.len())
    }

    fn know(&mut self, key: &PublicKey) {
        self.keys.insert(digest(key.key_data()));
        let kind = key.algorithm();
        if !self.kinds.contains(&kind) {
            self.kinds.push(kind);
        }
    }

    /// Whether this is the host. Gives the digest of its key.
    pub(super) fn check(
        &self,
        host: &SshHost,
        shown: &PublicKeyOrCertificate,
        now: UnixMillis,
    ) -> Result<Digest, HostRefusal> {
        let key = shown.public_key();
        let digest = digest(key.key_data());
        if self.revoked.contains(&digest) {
            return Err(HostRefusal::Revoked { shown: digest });
        }
        // The host proved that it has the key. One that is pinned needs no certificate.
        if self.keys.contains(&digest) {
            return Ok(digest);
        }
        match shown.certificate() {
            None => Err(HostRefusal::Unknown { shown: digest, kind: key.algorithm().to_string() }),
            Some(certificate) => {
                let authority = self::digest(certificate.signature_key());
                if self.revoked.contains(&authority) {
                    return Err(HostRefusal::Revoked { shown: authority });
                }
                host_certificate::check(certificate, &self.authorities, host, now)
                    .map(|()| digest)
                    .map_err(HostRefusal::Certificate)
            }
        }
    }

    /// What is offered in the key exchange: no SHA-1, no DSA, certificates only where an authority is
    /// believed, and kinds of known keys first.
    pub(super) fn preferred(&self) -> Preferred {
        const RSA: [Algorithm; 2] =
            [Algorithm::Rsa { hash: Some(HashAlg::Sha512) }, Algorithm::Rsa { hash: Some(HashAlg::Sha256) }];
        let kinds = self.kinds.iter().flat_map(|kind| {
            if matches!(kind, Algorithm::Rsa { .. }) { RSA.to_vec() } else { vec![kind.clone()] }
        });
        let safe: Vec<Algorithm> =
            Preferred::DEFAULT.key.iter().filter(|kind| **kind != SHA1_RSA).cloned().collect();
        let mut key: Vec<Algorithm> = kinds.filter(|kind| safe.contains(kind)).collect();
        key.extend(safe.iter().filter(|kind| !self.kinds_have(kind)).cloned());
        let certificates = if self.authorities.is_empty() { Vec::new() } else { key.clone() };
        Preferred {
            key: Cow::Owned(key),
            host_key_certificates: Cow::Owned(certificates),
            ..Preferred::DEFAULT
        }
    }

    fn kinds_have(&self, kind: &Algorithm) -> bool {
        let rsa = matches!(kind, Algorithm::Rsa { .. });
        self.kinds.iter().any(|known| known == kind || (rsa && matches!(known, Algorithm::Rsa { .. })))
    }
}

/// RSA with SHA-1 (RFC 8332 section 1 on why not).
pub(super) const SHA1_RSA: Algorithm = Algorithm::Rsa { hash: None };

/// The SHA-256 of a public key.
pub(super) fn digest(key: &KeyData) -> Digest {
    // A fingerprint that is asked for as SHA-256 is one.
    Digest::from_bytes(key.fingerprint(HashAlg::Sha256).sha256().unwrap_or_default())
}

/// A digest as `ssh-keygen -l` prints it.
pub(super) fn fingerprint(digest: &Digest) -> String {
    format!("SHA256:{}", BASE64_NOPAD.encode(digest.as_bytes()))
}

fn any_digest(text: &str) -> Result<Digest, InvalidHostKeys> {
    match fingerprint_of_text(text)? {
        Some(digest) => Ok(digest),
        None => public_key(text).map(|key| digest(key.key_data())),
    }
}

fn fingerprint_of_text(text: &str) -> Result<Option<Digest>, InvalidHostKeys> {
    let Some(encoded) = text.strip_prefix("SHA256:") else { return Ok(None) };
    let bytes = BASE64_NOPAD.decode(encoded.as_bytes()).map_err(|_| InvalidHostKeys::Fingerprint)?;
    let bytes: [u8; 32] = bytes.try_into().map_err(|_| InvalidHostKeys::Fingerprint)?;
    Ok(Some(Digest::from_bytes(bytes)))
}

fn public_key(text: &str) -> Result<PublicKey, InvalidHostKeys> {
    PublicKey::from_openssh(text.trim()).map_err(|_| InvalidHostKeys::PublicKey)
}

/// Why a text names no host key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidHostKeys {
    /// Not a fingerprint.
    #[error("a fingerprint is `SHA256:` and 43 characters of base64, as `ssh-keygen -l` prints it")]
    Fingerprint,
    /// Not a public key.
    #[error(
        "a host key is a fingerprint (`SHA256:…`) or the line of a public key, as in `ssh_host_ed25519_key.pub`"
    )]
    PublicKey,
    /// A line of `known_hosts`.
    #[error("line {0} of the known_hosts text is about this host and can't be read")]
    Line(usize),
}

/// Why a host is not the one that is meant. For operators: callers learn the code alone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum HostRefusal {
    /// Not a known key.
    #[error("the host showed the {kind} key {}, which is not known for it", fingerprint(.shown))]
    Unknown {
        /// The key's digest.
        shown: Digest,
        /// Its algorithm.
        kind: String,
    },
    /// A revoked key.
    #[error("the key {} is marked as revoked", fingerprint(.shown))]
    Revoked {
        /// The key's digest.
        shown: Digest,
    },
    /// A certificate that proves nothing here.
    #[error("the host's certificate {0}")]
    Certificate(CertificateFault),
}

impl HostRefusal {
    pub(super) const fn cause(&self) -> Cause {
        match self {
            Self::Unknown { .. } => Cause::HostKeyUnknown,
            Self::Revoked { .. } => Cause::HostKeyRevoked,
            Self::Certificate(_) => Cause::HostCertificateInvalid,
        }
    }
}
