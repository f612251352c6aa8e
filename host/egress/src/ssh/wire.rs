//! The stream under SSH: remembers how it ended, and can be cut from outside.
//!
//! russh's own task owns the stream, and nothing that is asked of that task is sure to be done while it
//! waits for the peer. Cutting is therefore done here: once the [`Cut`] is dropped, the next read or
//! write fails, the task ends, and the socket is closed.

use crate::http::{Watch, WirePoint};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::oneshot;

/// What has been seen of the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// Whether the peer ended the stream.
    pub(super) ended: bool,
    /// The first read or write that failed.
    pub(super) error: Option<io::ErrorKind>,
}

/// Shared between the stream and those who look at it.
#[derive(Clone, Default)]
pub(super) struct Wire(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    seen: Seen,
    watch: Option<Arc<dyn Watch>>,
}

/// Dropped, it ends the stream.
pub(super) struct Cut {
    _keep: oneshot::Sender<()>,
}

/// The stream itself.
pub(super) struct Stream<S> {
    inner: S,
    wire: Wire,
    /// None: it was cut.
    cut: Option<oneshot::Receiver<()>>,
}

impl Wire {
    /// A stream over this one, and what cuts it.
    pub(super) fn around<S>(inner: S) -> (Stream<S>, Self, Cut) {
        let wire = Self::default();
        let (keep, cut) = oneshot::channel();
        (Stream { inner, wire: wire.clone(), cut: Some(cut) }, wire, Cut { _keep: keep })
    }

    /// What has been seen so far.
    pub(super) fn seen(&self) -> Seen {
        self.lock().seen
    }

    /// Whether the stream still goes on, as far as anybody knows.
    pub(super) fn is_alive(&self) -> bool {
        let seen = self.seen();
        !seen.ended && seen.error.is_none()
    }

    /// Tells this watch of the next bytes that the stream takes, which it does once. They may be russh's
    /// own: under encryption one message looks like another.
    pub(super) fn watch(&self, watch: Arc<dyn Watch>) {
        self.lock().watch = Some(watch);
    }

    fn took(&self) {
        let watch = self.lock().watch.take();
        if let Some(watch) = watch {
            watch.at(WirePoint::FirstByteOut);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, error: &io::Error) {
        let seen = &mut self.lock().seen;
        seen.error = seen.error.or(Some(error.kind()));
    }
}

impl<S> Stream<S> {
    /// Whether the stream was cut. Reading and writing happen in one task, so that one waker is enough.
    fn is_cut(&mut self, context: &mut Context<'_>) -> bool {
        // It ends in one way only, and once: the other side is dropped.
        if self.cut.as_mut().is_none_or(|cut| Pin::new(cut).poll(context).is_ready()) {
            self.cut = None;
        }
        self.cut.is_none()
    }
}

fn was_cut() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "closed by this host")
}

impl<S: AsyncRead + Unpin> AsyncRead for Stream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.is_cut(context) {
            return Poll::Ready(Err(was_cut()));
        }
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(context, buffer);
        match &polled {
            Poll::Ready(Ok(())) => {
                if buffer.filled().len() == before && buffer.remaining() > 0 {
                    self.wire.lock().seen.ended = true;
                }
            }
            Poll::Ready(Err(error)) => self.wire.failed(error),
            Poll::Pending => {}
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Stream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.is_cut(context) {
            return Poll::Ready(Err(was_cut()));
        }
        let polled = Pin::new(&mut self.inner).poll_write(context, bytes);
        match &polled {
            Poll::Ready(Ok(_)) => self.wire.took(),
            Poll::Ready(Err(error)) => self.wire.failed(error),
            Poll::Pending => {}
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_cut(context) {
            return Poll::Ready(Err(was_cut()));
        }
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_cut(context) {
            return Poll::Ready(Ok(()));
        }
        // An error here would keep russh from telling its handler why the connection was lost, and it
        // says nothing that the reads and writes have not said.
        Pin::new(&mut self.inner).poll_shutdown(context).map(|_| Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    #[tokio::test]
    async fn a_cut_ends_what_waits_for_the_peer() {
        // A stream that gives nothing and takes nothing.
        let (ours, theirs) = tokio::io::duplex(1);
        let (mut stream, wire, cut) = Wire::around(ours);
        stream.write_all(b"x").await.unwrap();
        let waiting = tokio::spawn(async move {
            let wrote = stream.write_all(b"more").await.unwrap_err().kind();
            (wrote, stream.read_u8().await.unwrap_err().kind())
        });
        assert!(wire.is_alive());
        drop(cut);
        let aborted = io::ErrorKind::ConnectionAborted;
        assert_eq!(waiting.await.unwrap(), (aborted, aborted));
        drop(theirs);
    }

    #[tokio::test]
    async fn an_end_is_remembered() {
        let (ours, theirs) = tokio::io::duplex(8);
        let (mut stream, wire, _cut) = Wire::around(ours);
        drop(theirs);
        assert_eq!(stream.read(&mut [0; 8]).await.unwrap(), 0);
        assert_eq!(wire.seen(), Seen { ended: true, error: None });
        assert!(stream.write_all(b"x").await.is_err());
        assert_eq!(wire.seen().error, Some(io::ErrorKind::BrokenPipe));
    }
}
