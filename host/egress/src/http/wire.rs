//! Counting what is handed to the transport and what comes back, above TLS. Evidence, never
//! permission.

use super::frames::Frames;
use proofport_core::evidence::HttpVersion;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Told when an exchange passes a point on the wire, at once and on the thread that passes it.
pub trait Watch: Send + Sync {
    /// The exchange is at this point.
    fn at(&self, point: WirePoint);
}

/// A watch that looks away.
impl Watch for () {
    fn at(&self, _: WirePoint) {}
}

/// A point on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WirePoint {
    /// The transport has taken the first bytes of the request.
    FirstByteOut,
    /// The transport has taken the last byte of the request.
    LastByteOut,
    /// The first bytes of an answer have been read.
    FirstByteIn,
    /// The response is complete.
    LastByteIn,
}

impl WirePoint {
    /// Every point, in order.
    pub const ALL: &'static [Self] =
        &[Self::FirstByteOut, Self::LastByteOut, Self::FirstByteIn, Self::LastByteIn];
}

/// What has been seen so far; shared between the stream and the exchange that reads it.
#[derive(Clone)]
pub(super) struct Wire {
    inner: Arc<Mutex<Inner>>,
    authenticated: bool,
}

struct Inner {
    seen: Seen,
    counter: Counter,
    watch: Option<Arc<dyn Watch>>,
}

/// What tells a message from the rest, by version.
enum Counter {
    Http1 {
        /// Bytes of content that follow the request's head.
        content: u64,
        /// How many bytes of the head's end (CR LF CR LF) the last bytes taken match.
        matched: usize,
        /// Where the request ends, once its head has been taken.
        end: Option<u64>,
    },
    Http2 {
        written: Box<Frames>,
        read: Box<Frames>,
    },
}

/// What has been seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// Bytes that the transport has taken; of HTTP/2 only those of frames that carry a message.
    pub(super) taken: u64,
    /// Bytes that it was given in a write that failed: some of them may have gone out.
    pub(super) doubtful: u64,
    /// Bytes that were read.
    pub(super) read: u64,
    /// Whether the transport may hold back what it has taken.
    pub(super) unflushed: bool,
    /// Whether the whole request was taken.
    pub(super) request_complete: bool,
    /// Whether the peer ended the stream properly: FIN, and over TLS close_notify before it.
    pub(super) ended: bool,
    /// The first read that failed.
    pub(super) read_error: Option<io::ErrorKind>,
    /// The first write that failed.
    pub(super) write_error: Option<io::ErrorKind>,
}

impl Seen {
    /// Whether nothing went wrong on the stream, and it goes on.
    pub(super) const fn is_sound(&self) -> bool {
        self.read_error.is_none() && self.write_error.is_none() && !self.ended
    }
}

const HEAD_END: &[u8; 4] = b"\r\n\r\n";

impl Wire {
    /// A wire that nothing has passed. Authenticated: nobody but the peer can end the stream
    /// properly.
    pub(super) fn new(authenticated: bool, version: HttpVersion) -> Self {
        let counter = match version {
            HttpVersion::Http11 => Counter::Http1 { content: 0, matched: 0, end: None },
            HttpVersion::Http2 => {
                Counter::Http2 { written: Box::new(Frames::written()), read: Box::new(Frames::read()) }
            }
        };
        let inner = Inner { seen: Seen::default(), counter, watch: None };
        Self { inner: Arc::new(Mutex::new(inner)), authenticated }
    }

    /// Whether a proper end of the stream is the peer's own word.
    pub(super) const fn is_authenticated(&self) -> bool {
        self.authenticated
    }

    /// Begins an exchange whose request has this many bytes of content. What was seen of an earlier one
    /// is forgotten.
    pub(super) fn begin(&self, content_bytes: u64, watch: Arc<dyn Watch>) {
        let mut inner = self.lock();
        inner.seen = Seen::default();
        if let Counter::Http1 { content, matched, end } = &mut inner.counter {
            (*content, *matched, *end) = (content_bytes, 0, None);
        }
        inner.watch = Some(watch);
    }

    /// What has been seen so far.
    pub(super) fn seen(&self) -> Seen {
        self.lock().seen
    }

    /// What was seen until the exchange ended. Its watch is let go of: a connection that is kept must not
    /// keep whoever keeps it.
    pub(super) fn end(&self) -> Seen {
        let (seen, watch) = {
            let mut inner = self.lock();
            (inner.seen, inner.watch.take())
        };
        // Not under the lock: it may be the last that holds on to something.
        drop(watch);
        seen
    }

    /// The response is complete.
    pub(super) fn complete(&self) {
        self.tell(&[WirePoint::LastByteIn]);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Counters are whole after every statement, so that a watch's panic leaves them usable.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, points: &[WirePoint]) {
        let watch = self.lock().watch.clone();
        if let Some(watch) = watch {
            points.iter().for_each(|point| watch.at(*point));
        }
    }

    fn wrote(&self, bufs: &[IoSlice<'_>], result: &io::Result<usize>) {
        let (first, last) = self.lock().wrote(bufs, result);
        match (first, last) {
            (false, false) => {}
            (true, false) => self.tell(&[WirePoint::FirstByteOut]),
            (false, true) => self.tell(&[WirePoint::LastByteOut]),
            (true, true) => self.tell(&[WirePoint::FirstByteOut, WirePoint::LastByteOut]),
        }
    }

    fn read(&self, result: Result<&[u8], io::ErrorKind>) {
        let first = {
            let mut inner = self.lock();
            let first = inner.seen.read == 0;
            match result {
                Ok([]) => inner.seen.ended = true,
                Ok(read) => {
                    inner.seen.read += match &mut inner.counter {
                        Counter::Http1 { .. } => read.len() as u64,
                        Counter::Http2 { read: frames, .. } => frames.pass(read).bytes,
                    };
                }
                Err(kind) => inner.seen.read_error = inner.seen.read_error.or(Some(kind)),
            }
            first && inner.seen.read > 0
        };
        if first {
            self.tell(&[WirePoint::FirstByteIn]);
        }
    }
}

impl Inner {
    /// Notes a write; whether the first byte and whether the last byte went with it.
    fn wrote(&mut self, bufs: &[IoSlice<'_>], result: &io::Result<usize>) -> (bool, bool) {
        let taken = match result {
            Ok(taken) => *taken,
            Err(error) => {
                self.seen.write_error = self.seen.write_error.or(Some(error.kind()));
                self.seen.doubtful = bufs.iter().map(|buf| buf.len() as u64).sum();
                return (false, false);
            }
        };
        let before = self.seen;
        self.seen.unflushed |= taken > 0;
        match &mut self.counter {
            Counter::Http1 { content, matched, end } => {
                let mut at = before.taken;
                for byte in bufs.iter().flat_map(|buf| buf.iter()).take(taken) {
                    if end.is_some() {
                        break;
                    }
                    at += 1;
                    *matched = match HEAD_END.get(*matched) {
                        Some(next) if next == byte => *matched + 1,
                        _ => usize::from(*byte == b'\r'),
                    };
                    if *matched == HEAD_END.len() {
                        *end = Some(at + *content);
                    }
                }
                self.seen.taken = before.taken + taken as u64;
                self.seen.request_complete = end.is_some_and(|end| self.seen.taken >= end);
            }
            Counter::Http2 { written, .. } => {
                let mut left = taken;
                for buf in bufs {
                    let part = buf.get(..left.min(buf.len())).unwrap_or_default();
                    left -= part.len();
                    let passed = written.pass(part);
                    self.seen.taken += passed.bytes;
                    self.seen.request_complete |= passed.ended;
                }
            }
        }
        let first = before.taken == 0 && self.seen.taken > 0;
        (first, self.seen.request_complete && !before.request_complete)
    }
}

/// A stream that notes what passes.
///
/// In an exchange a failed write is noted and then looks like one that never becomes ready: the answer of
/// a peer that stopped reading may already be on its way, and hyper would drop it for the write's sake. The
/// read side then ends the exchange, or the deadline does. Outside of one nothing is on its way, and
/// nobody need be reading: HTTP/2 writes its preface first.
pub(super) struct Counted<S> {
    stream: S,
    wire: Wire,
}

impl<S> Counted<S> {
    pub(super) const fn new(stream: S, wire: Wire) -> Self {
        Self { stream, wire }
    }

    fn is_writable(&self) -> bool {
        self.wire.lock().seen.write_error.is_none()
    }

    /// What becomes of a write that failed.
    fn failed<T>(&self, result: io::Result<T>) -> Poll<io::Result<T>> {
        // An exchange has set its watch.
        if self.wire.lock().watch.is_some() { Poll::Pending } else { Poll::Ready(result) }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Counted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let (before, room) = (buf.filled().len(), buf.remaining());
        let result = ready!(Pin::new(&mut self.stream).poll_read(cx, buf));
        if room > 0 {
            let read = buf.filled().get(before..).unwrap_or_default();
            self.wire.read(result.as_ref().map(|()| read).map_err(io::Error::kind));
        }
        Poll::Ready(result)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Counted<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if !self.is_writable() {
            return Poll::Pending;
        }
        let result = ready!(Pin::new(&mut self.stream).poll_write_vectored(cx, bufs));
        self.wire.wrote(bufs, &result);
        if result.is_err() { self.failed(result) } else { Poll::Ready(result) }
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.is_writable() {
            return Poll::Pending;
        }
        let result = ready!(Pin::new(&mut self.stream).poll_flush(cx));
        if let Err(error) = &result {
            self.wire.wrote(&[], &Err(error.kind().into()));
            return self.failed(result);
        }
        self.wire.lock().seen.unflushed = false;
        Poll::Ready(result)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests;
