//! The peers do what their scripts say, to clients that are not ours: other tests rest on it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects by panicking"
)]

mod http1;
mod http2;
mod nginx;
mod tls;

use proofport_tests::peer::{Ca, Identity, Peer};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// Longer than anything here takes, so that no test passes or fails by the clock.
const PATIENCE: Duration = Duration::from_secs(20);

/// One authority for all, since making keys is slow.
static CA: LazyLock<Ca> = LazyLock::new(Ca::new);

fn address(peer: &Peer) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, peer.port()).into()
}

/// A client that believes the authority, agrees to these protocols, and shows this certificate.
fn client(protocols: &[&str], identity: Option<&Identity>) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(CA.pem().as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let mut config = match identity {
        None => builder.with_no_client_auth(),
        Some(identity) => {
            let chain = CertificateDer::pem_slice_iter(identity.chain.as_bytes());
            let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap();
            builder.with_client_auth_cert(chain.map(Result::unwrap).collect(), key).unwrap()
        }
    };
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    Arc::new(config)
}

/// A plain blocking connection.
fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// A blocking connection over TLS, as far as it gets without input and output.
fn connect_tls(address: SocketAddr, config: &Arc<ClientConfig>) -> StreamOwned<ClientConnection, TcpStream> {
    let name = ServerName::IpAddress(address.ip().into());
    StreamOwned::new(ClientConnection::new(Arc::clone(config), name).unwrap(), connect(address))
}

/// Sends, and reads to the end.
fn talk(stream: &mut (impl Read + Write), request: &[u8]) -> std::io::Result<String> {
    stream.write_all(request)?;
    stream.flush()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// Reads exactly this.
fn expect(stream: &mut impl Read, expected: &[u8]) {
    let mut read = vec![0; expected.len()];
    stream.read_exact(&mut read).unwrap();
    assert_eq!(String::from_utf8_lossy(&read), String::from_utf8_lossy(expected));
}
