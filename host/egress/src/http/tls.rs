//! The TLS handshake, and who the peer proved to be.

use super::open::Bare;
use super::target::HttpTarget;
use super::transport::Transport;
use crate::dial::{Attempt, SetupFailure, io_cause};
use crate::trust::{Alpn, SystemRoots, TlsProfile};
use proofport_core::contract::Stage;
use proofport_core::digest::Digest;
use proofport_core::evidence::{Cause, HttpVersion, PeerIdentity};
use proofport_core::origin::{Host, Origin};
use rustls_pki_types::ServerName;
use std::io;
use std::time::Instant;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Completes the handshake and binds the peer's certificate.
pub(super) async fn handshake(
    attempt: &mut Attempt,
    stream: TcpStream,
    target: &HttpTarget,
    roots: &SystemRoots,
) -> Result<Bare, SetupFailure> {
    attempt.enter(Stage::TlsHandshake);
    let origin = &target.origin;
    let profile = TlsProfile {
        alpn: if target.http2 { Alpn::Http2OrHttp1 } else { Alpn::Http1 },
        identity: target.identity.as_ref(),
        // A session belongs to what its connection belongs to.
        store_key: target.key().text(),
    };
    let config = target
        .trust
        .client(roots, &profile)
        .map_err(|error| attempt.failed(Cause::TlsFailed, format!("configuration: {error}")))?;
    let name = server_name(origin).ok_or_else(|| {
        attempt.failed(Cause::TlsFailed, "the host is no name that a certificate has".to_owned())
    })?;
    let connect = TlsConnector::from(config).connect(name, stream);
    let stream = attempt.stage(Stage::TlsHandshake, target.deadlines.tls, connect, tls_cause).await?;

    attempt.enter(Stage::IdentityVerified);
    let since = Instant::now();
    let (_, session) = stream.get_ref();
    let certificate = session
        .peer_certificates()
        .and_then(<[_]>::first)
        .map(|certificate| Digest::of_bytes(certificate.as_ref()))
        .ok_or_else(|| {
            attempt.failed(Cause::CertificateInvalid, "the peer showed no certificate".to_owned())
        })?;
    target.pins.check(&certificate).map_err(|pin| attempt.failed(Cause::PinMismatch, pin.to_string()))?;
    attempt.passed(since);
    let version = match session.alpn_protocol() {
        Some(b"h2") => HttpVersion::Http2,
        Some(_) | None => HttpVersion::Http11,
    };
    let peer = PeerIdentity { name: origin.host_text(), certificate: Some(certificate) };
    Ok(Bare { transport: Transport::Tls(Box::new(stream)), peer, hop: target.hop(), version })
}

fn server_name(origin: &Origin) -> Option<ServerName<'static>> {
    match origin.host() {
        Host::Name(name) => ServerName::try_from(name.clone()).ok(),
        Host::Address(address) => Some(ServerName::from(*address)),
    }
}

/// A refused certificate is a failure to verify, whatever the handshake called it.
fn tls_cause(error: &io::Error) -> (Stage, Cause) {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(
            rustls::Error::InvalidCertificate(_)
            | rustls::Error::NoCertificatesPresented
            | rustls::Error::InvalidCertRevocationList(_),
        ) => (Stage::IdentityVerified, Cause::CertificateInvalid),
        Some(_) => (Stage::TlsHandshake, Cause::TlsFailed),
        None => (Stage::TlsHandshake, io_cause(error.kind())),
    }
}
