//! Counting what is handed to the transport and what comes back, above TLS. Evidence, never
//! permission.

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

#[derive(Default)]
struct Inner {
    seen: Seen,
    /// Bytes of content that follow the request's head.
    content: u64,
    /// How many bytes of the head's end (CR LF CR LF) the last bytes taken match.
    matched: usize,
    /// Where the request ends, once its head has been taken.
    end: Option<u64>,
    watch: Option<Arc<dyn Watch>>,
}

/// What has been seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// Bytes that the transport has taken.
    pub(super) taken: u64,
    /// Bytes that it was given in a write that failed: some of them may have gone out.
    pub(super) doubtful: u64,
    /// Bytes that were read.
    pub(super) read: u64,
    /// Whether the whole request was taken.
    pub(super) request_complete: bool,
    /// Whether the peer ended the stream properly: FIN, and over TLS close_notify before it.
    pub(super) ended: bool,
    /// The first read that failed.
    pub(super) read_error: Option<io::ErrorKind>,
    /// The first write that failed.
    pub(super) write_error: Option<io::ErrorKind>,
}

const HEAD_END: &[u8; 4] = b"\r\n\r\n";

impl Wire {
    /// A wire that nothing has passed. Authenticated: nobody but the peer can end the stream
    /// properly.
    pub(super) fn new(authenticated: bool) -> Self {
        Self { inner: Arc::default(), authenticated }
    }

    /// Whether a proper end of the stream is the peer's own word.
    pub(super) const fn is_authenticated(&self) -> bool {
        self.authenticated
    }

    /// Begins an exchange whose request has this many bytes of content.
    pub(super) fn begin(&self, content: u64, watch: Arc<dyn Watch>) {
        let mut inner = self.lock();
        inner.content = content;
        inner.watch = Some(watch);
    }

    /// What has been seen so far.
    pub(super) fn seen(&self) -> Seen {
        self.lock().seen
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

    fn read(&self, result: Result<usize, io::ErrorKind>) {
        let first = {
            let mut inner = self.lock();
            let first = inner.seen.read == 0;
            match result {
                Ok(0) => inner.seen.ended = true,
                Ok(read) => inner.seen.read += read as u64,
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
        for byte in bufs.iter().flat_map(|buf| buf.iter()).take(taken) {
            if self.end.is_some() {
                break;
            }
            self.seen.taken += 1;
            self.matched = match HEAD_END.get(self.matched) {
                Some(next) if next == byte => self.matched + 1,
                _ => usize::from(*byte == b'\r'),
            };
            if self.matched == HEAD_END.len() {
                self.end = Some(self.seen.taken + self.content);
            }
        }
        self.seen.taken = before.taken + taken as u64;
        self.seen.request_complete = self.end.is_some_and(|end| self.seen.taken >= end);
        (before.taken == 0 && taken > 0, self.seen.request_complete && !before.request_complete)
    }
}

/// A stream that notes what passes.
///
/// A failed write is noted and then looks like one that never becomes ready: the answer of a peer
/// that stopped reading may already be on its way, and hyper would drop it for the write's sake. The
/// read side then ends the exchange, or the deadline does.
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
            let read = buf.filled().len() - before;
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
        if result.is_err() { Poll::Pending } else { Poll::Ready(result) }
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
            return Poll::Pending;
        }
        Poll::Ready(result)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
