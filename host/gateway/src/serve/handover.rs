//! When an answer counts as handed over: once every byte of it was taken by the operating system for its
//! connection. That is as much as can be known here; whether it was received is the caller's to say.

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use proofport_broker::Delivery;
use std::convert::Infallible;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// What was given to a connection and waits to be written out. One for each connection; requests carry it
/// as an extension.
#[derive(Clone, Default)]
pub struct Outbox {
    waiting: Arc<Mutex<Vec<Delivery>>>,
}

impl Outbox {
    /// A body of these bytes. When the connection has written them all out, the delivery is confirmed.
    pub fn body(&self, bytes: impl Into<Bytes>, delivery: Delivery) -> axum::body::Body {
        axum::body::Body::new(Whole {
            bytes: Some(bytes.into()),
            delivery: Some(delivery),
            outbox: self.clone(),
        })
    }

    /// An answer whose bytes were given to the connection.
    pub(super) fn push(&self, delivery: Delivery) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(delivery);
    }

    fn written(&self) {
        let written = std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        written.into_iter().for_each(Delivery::confirmed);
    }
}

/// A body in one piece.
struct Whole {
    bytes: Option<Bytes>,
    delivery: Option<Delivery>,
    outbox: Outbox,
}

impl Body for Whole {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(bytes) = self.bytes.take() else { return Poll::Ready(None) };
        if let Some(delivery) = self.delivery.take() {
            self.outbox.push(delivery);
        }
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}

/// A connection's stream. HTTP flushes it only when everything that it was given before is written, so that
/// a flush that succeeds says that what was given is out.
pub(crate) struct Wire<S> {
    stream: S,
    outbox: Outbox,
}

impl<S> Wire<S> {
    pub(crate) const fn new(stream: S, outbox: Outbox) -> Self {
        Self { stream, outbox }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Wire<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Wire<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        if matches!(flushed, Poll::Ready(Ok(()))) {
            self.outbox.written();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
