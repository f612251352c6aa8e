//! The peer's side of a connection, plain or TLS, with the ways in which it can end.

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

    /// Whether the client came back with a TLS session of before.
    pub(super) fn is_resumed(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Tls(stream) => stream.conn.handshake_kind() == Some(HandshakeKind::Resumed),
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
