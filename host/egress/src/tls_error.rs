//! What a failed TLS handshake is called. The library's own texts quote the peer: the names in its
//! certificate, for one.

use rustls::{AlertDescription as Alert, CertificateError, Error};
use std::io;

/// The text of an error of setup, in words of ours or of the system.
pub(crate) fn text(error: &io::Error) -> String {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(tls) => of(tls).to_owned(),
        None => error.to_string(),
    }
}

/// One fixed text for each kind of error.
fn of(error: &Error) -> &'static str {
    #[expect(clippy::wildcard_enum_match_arm, reason = "a foreign enum that is not exhaustive")]
    match error {
        Error::InvalidCertificate(error) => certificate(error),
        Error::NoCertificatesPresented => "the peer showed no certificate",
        Error::InvalidCertRevocationList(_) => "the certificate revocation list is not valid",
        Error::AlertReceived(alert) => alert_received(*alert),
        Error::NoApplicationProtocol => "the peer speaks none of the protocols that were offered",
        Error::PeerIncompatible(_) => "no version, cipher or signature of TLS in common with the peer",
        Error::PeerMisbehaved(_) => "the peer broke the rules of TLS",
        Error::InappropriateMessage { .. } | Error::InappropriateHandshakeMessage { .. } => {
            "the peer sent a TLS message out of turn"
        }
        Error::InvalidMessage(_) => "the peer sent what is no TLS message",
        Error::PeerSentOversizedRecord => "the peer sent a TLS record that is too large",
        Error::DecryptError => "a TLS record of the peer can't be decrypted",
        Error::EncryptError => "a TLS record can't be encrypted",
        Error::FailedToGetCurrentTime => "the system's time can't be read",
        Error::FailedToGetRandomBytes => "the system gives no random bytes",
        Error::HandshakeNotComplete => "the TLS handshake is not complete",
        Error::UnsupportedNameType => "the host is no name that a certificate has",
        Error::BadMaxFragmentSize => "the TLS fragment size is not valid",
        Error::InconsistentKeys(_) => "the client's certificate and key don't fit",
        _ => "the TLS handshake failed",
    }
}

fn certificate(error: &CertificateError) -> &'static str {
    #[expect(clippy::wildcard_enum_match_arm, reason = "a foreign enum that is not exhaustive")]
    match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "the peer's certificate has expired"
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "the peer's certificate is not valid yet"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "the peer's certificate is for other names"
        }
        CertificateError::UnknownIssuer => "nobody that is trusted issued the peer's certificate",
        CertificateError::Revoked => "the peer's certificate is revoked",
        CertificateError::BadSignature => "a signature of the peer is not valid",
        CertificateError::UnsupportedSignatureAlgorithmContext { .. }
        | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
            "the peer's certificate is signed by an algorithm that is not supported"
        }
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "the peer's certificate is not for servers"
        }
        CertificateError::BadEncoding => "the peer's certificate can't be read",
        CertificateError::UnhandledCriticalExtension => {
            "the peer's certificate has a critical extension that is not known"
        }
        CertificateError::UnknownRevocationStatus => "whether the peer's certificate is revoked is not known",
        CertificateError::ExpiredRevocationList | CertificateError::ExpiredRevocationListContext { .. } => {
            "the certificate revocation list has expired"
        }
        CertificateError::InvalidOcspResponse => "the revocation status that the peer showed is not valid",
        _ => "the peer's certificate can't be verified",
    }
}

/// The alerts (RFC 8446 section 6.2) that say what an operator can mend.
const fn alert_received(alert: Alert) -> &'static str {
    #[expect(clippy::wildcard_enum_match_arm, reason = "a foreign enum that is not exhaustive")]
    match alert {
        Alert::HandshakeFailure => "the peer refused the handshake: handshake_failure",
        Alert::BadCertificate => "the peer refused the client's certificate: bad_certificate",
        Alert::UnsupportedCertificate => "the peer refused the client's certificate: unsupported_certificate",
        Alert::CertificateRevoked => "the peer refused the client's certificate: certificate_revoked",
        Alert::CertificateExpired => "the peer refused the client's certificate: certificate_expired",
        Alert::CertificateUnknown => "the peer refused the client's certificate: certificate_unknown",
        Alert::UnknownCA => "the peer refused the client's certificate: unknown_ca",
        Alert::AccessDenied => "the peer refused the client's certificate: access_denied",
        Alert::CertificateRequired => "the peer wants a client's certificate: certificate_required",
        Alert::ProtocolVersion => "the peer refused the version of TLS: protocol_version",
        Alert::InsufficientSecurity => "the peer wants stronger ciphers: insufficient_security",
        Alert::InternalError => "the peer failed: internal_error",
        Alert::UnrecognisedName => "the peer does not know the name: unrecognized_name",
        Alert::NoApplicationProtocol => "the peer speaks none of the protocols: no_application_protocol",
        _ => "the peer refused the handshake by an alert",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::{OtherError, PeerMisbehaved};
    use rustls_pki_types::ServerName;
    use std::sync::Arc;

    fn check(error: Error, expected: &str) {
        let text = text(&io::Error::new(io::ErrorKind::InvalidData, error));
        assert_eq!(text, expected);
    }

    #[test]
    fn nothing_of_the_peer_is_quoted() {
        let expected = ServerName::try_from("api.example.com").unwrap();
        let presented = vec!["canary.example".to_owned()];
        check(
            Error::InvalidCertificate(CertificateError::NotValidForNameContext { expected, presented }),
            "the peer's certificate is for other names",
        );
        let other = || OtherError(Arc::new(io::Error::other("canary")));
        check(
            Error::InvalidCertificate(CertificateError::Other(other())),
            "the peer's certificate can't be verified",
        );
        check(
            Error::InvalidCertificate(CertificateError::UnsupportedSignatureAlgorithmContext {
                signature_algorithm_id: b"canary".to_vec(),
                supported_algorithms: Vec::new(),
            }),
            "the peer's certificate is signed by an algorithm that is not supported",
        );
        check(Error::Other(other()), "the TLS handshake failed");
        check(Error::General("canary".to_owned()), "the TLS handshake failed");
        check(
            Error::PeerMisbehaved(PeerMisbehaved::MessageInterleavedWithHandshakeMessage),
            "the peer broke the rules of TLS",
        );
        check(
            Error::AlertReceived(Alert::UnknownCA),
            "the peer refused the client's certificate: unknown_ca",
        );
        check(Error::AlertReceived(Alert::Unknown(0x63)), "the peer refused the handshake by an alert");
    }

    #[test]
    fn the_system_keeps_its_words() {
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        assert_eq!(text(&refused), refused.to_string());
    }
}
