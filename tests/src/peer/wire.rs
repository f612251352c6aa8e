//! A connection whose every received byte is logged.

use super::log::Log;
use super::stream::Stream;
use rustls::ServerConfig;
use std::io;
use std::net::TcpStream;
use std::sync::Arc;

pub(super) struct Wire<'a> {
    pub(super) log: &'a Log,
    index: usize,
    stream: Stream,
    /// How many bytes were received.
    received: usize,
    /// How many of them belong to something that was read.
    consumed: usize,
    /// Whether the log has what the handshake settled.
    settled: bool,
}

impl<'a> Wire<'a> {
    pub(super) fn new(index: usize, stream: TcpStream, tls: Option<Arc<ServerConfig>>, log: &'a Log) -> Self {
        Self { log, index, stream: Stream::new(stream, tls), received: 0, consumed: 0, settled: false }
    }

    /// Changes or asks what is logged about this connection.
    pub(super) fn note<T>(&self, note: impl FnOnce(&mut super::log::Connection) -> T) -> T {
        self.log.change(|state| note(&mut state.connections[self.index]))
    }

    /// Ends the TLS handshake, and logs what it settled.
    pub(super) fn handshake(&mut self) -> io::Result<()> {
        if !self.settled {
            self.stream.handshake()?;
            self.settled = true;
            let session = self.stream.session();
            self.note(|connection| connection.session = session);
        }
        Ok(())
    }

    /// Whether ALPN chose HTTP/2. The handshake must have ended.
    pub(super) fn is_http2_agreed(&self) -> bool {
        self.stream.session().is_some_and(|session| session.protocol.as_deref() == Some("h2"))
    }

    /// Logs that a whole request was read.
    pub(super) fn request_read(&self) {
        let resumed = self.stream.session().is_some_and(|session| session.resumed);
        self.log.change(|state| {
            state.requests += 1;
            state.resumed += usize::from(resumed);
        });
    }

    /// Reads at most this many bytes and logs them; fails at the end of the stream.
    pub(super) fn read(&mut self, most: usize) -> io::Result<()> {
        self.handshake()?;
        let mut buffer = vec![0; most];
        let read = self.stream.read(&mut buffer)?;
        self.received += read;
        self.note(|connection| connection.received.extend_from_slice(&buffer[..read]));
        if read == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }

    /// What was received and belongs to nothing that was read.
    pub(super) fn unconsumed(&self) -> Vec<u8> {
        self.note(|connection| connection.received[self.consumed..].to_vec())
    }

    /// Reads until this much is there, and leaves it there.
    pub(super) fn peek(&mut self, bytes: usize) -> io::Result<Vec<u8>> {
        while self.received - self.consumed < bytes {
            self.read(bytes - (self.received - self.consumed))?;
        }
        let mut peeked = self.unconsumed();
        peeked.truncate(bytes);
        Ok(peeked)
    }

    /// Reads exactly this many bytes.
    pub(super) fn take(&mut self, bytes: usize) -> io::Result<Vec<u8>> {
        let taken = self.peek(bytes)?;
        self.consumed += bytes;
        Ok(taken)
    }

    pub(super) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.handshake()?;
        self.stream.send(bytes)
    }

    /// Ends our direction, over TLS with close_notify.
    pub(super) fn fin(&mut self) -> io::Result<()> {
        self.stream.close_notify()?;
        self.stream.fin()
    }

    /// Ends our direction of TCP alone.
    pub(super) fn cut(&self) -> io::Result<()> {
        self.stream.fin()
    }

    /// Drops the connection with an RST.
    pub(super) fn reset(self) -> io::Result<()> {
        self.stream.reset()
    }
}
