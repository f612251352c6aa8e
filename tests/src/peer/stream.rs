//! The peer's side of a connection, plain or TLS, with the ways in which it can end.

use super::log::Session;
use proofport_core::digest::Digest;
use rustls::{HandshakeKind, ServerConfig, ServerConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ServerConnection, TcpStream>>),
}

impl Stream {
    pub(super) fn new(stream: TcpStream, tls: Option<Arc<ServerConfig>>) -> Self {
        stream.set_nodelay(true).unwrap();
        match tls {
            None => Self::Plain(stream),
            Some(config) => {
                let session = ServerConnection::new(config).unwrap();
                Self::Tls(Box::new(StreamOwned::new(session, stream)))
            }
        }
    }

    fn tcp(&self) -> &TcpStream {
        match self {
            Self::Plain(stream) => stream,
            Self::Tls(stream) => &stream.sock,
        }
    }

    /// Brings the TLS handshake to its end, where it is not there yet.
    pub(super) fn handshake(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(_) => Ok(()),
            Self::Tls(stream) => {
                while stream.conn.is_handshaking() {
                    stream.conn.complete_io(&mut stream.sock)?;
                }
                Ok(())
            }
        }
    }

    /// What the handshake settled. None: plain TCP.
    pub(super) fn session(&self) -> Option<Session> {
        match self {
            Self::Plain(_) => None,
            Self::Tls(stream) => {
                let client = stream.conn.peer_certificates().and_then(<[_]>::first);
                Some(Session {
                    protocol: stream
                        .conn
                        .alpn_protocol()
                        .map(|name| String::from_utf8_lossy(name).into_owned()),
                    resumed: stream.conn.handshake_kind() == Some(HandshakeKind::Resumed),
                    client: client.map(|certificate| Digest::of_bytes(certificate)),
                })
            }
        }
    }

    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
        }
    }

    pub(super) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.write_all(bytes),
            Self::Tls(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
        }
    }

    /// Ends our direction of TLS.
    pub(super) fn close_notify(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(_) => Ok(()),
            Self::Tls(stream) => {
                stream.conn.send_close_notify();
                stream.flush()
            }
        }
    }

    /// Ends our direction of TCP.
    pub(super) fn fin(&self) -> io::Result<()> {
        self.tcp().shutdown(Shutdown::Write)
    }

    /// Drops the connection with an RST.
    pub(super) fn reset(self) -> io::Result<()> {
        rustix::net::sockopt::set_socket_linger(self.tcp(), Some(Duration::ZERO))?;
        Ok(())
    }
}
