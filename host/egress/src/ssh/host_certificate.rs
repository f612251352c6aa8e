//! Certificates of hosts (OpenSSH PROTOCOL.certkeys): the key inside one is trusted because an
//! authority says so, for this name and this time, and for nothing else. russh leaves all of it to us.

use super::host_keys::{SHA1_RSA, digest};
use proofport_core::digest::Digest;
use proofport_core::ssh::SshHost;
use proofport_core::time::UnixMillis;
use russh::keys::ssh_key::certificate::CertType;
use russh::keys::{Algorithm, Certificate};
use std::collections::BTreeSet;

/// What is wrong with a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum CertificateFault {
    /// Of a user.
    #[error("is one for users")]
    ForUsers,
    /// Of an unknown authority.
    #[error("is signed by an authority that the connection does not know")]
    UnknownAuthority,
    /// A signature that does not verify, or is made with SHA-1.
    #[error("has a signature that does not verify, or one with SHA-1")]
    Signature,
    /// For other names.
    #[error("does not name this host")]
    OtherName,
    /// Not yet.
    #[error("is not valid yet")]
    NotYetValid,
    /// No more.
    #[error("has expired")]
    Expired,
    /// It has critical options; hosts have none that this host knows.
    #[error("has critical options, of which none is known for hosts")]
    CriticalOptions,
}

/// Checks a certificate for this host at this time. Names are compared whole: a pattern among them
/// matches nothing.
pub(super) fn check(
    certificate: &Certificate,
    authorities: &BTreeSet<Digest>,
    host: &SshHost,
    now: UnixMillis,
) -> Result<(), CertificateFault> {
    if certificate.cert_type() != CertType::Host {
        return Err(CertificateFault::ForUsers);
    }
    if !authorities.contains(&digest(certificate.signature_key())) {
        return Err(CertificateFault::UnknownAuthority);
    }
    let weak = matches!(certificate.signature().algorithm(), SHA1_RSA | Algorithm::Dsa);
    if weak || certificate.verify_signature().is_err() {
        return Err(CertificateFault::Signature);
    }
    let name = host.host_text();
    if !certificate.valid_principals().contains(&name) {
        return Err(CertificateFault::OtherName);
    }
    in_time(certificate, now)?;
    if certificate.critical_options().iter().next().is_some() {
        return Err(CertificateFault::CriticalOptions);
    }
    Ok(())
}

/// Whether the certificate is in its time.
pub(super) fn in_time(certificate: &Certificate, now: UnixMillis) -> Result<(), CertificateFault> {
    let now = now.0 / 1000;
    if now < certificate.valid_after() {
        return Err(CertificateFault::NotYetValid);
    }
    if now >= certificate.valid_before() {
        return Err(CertificateFault::Expired);
    }
    Ok(())
}
