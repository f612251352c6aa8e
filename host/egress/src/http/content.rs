//! A request's content on its way out: at once, or when the peer has said that it wants it.

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::convert::Infallible;
use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{Sleep, sleep};

/// Content of this size and more is announced with `Expect: 100-continue` (RFC 9110 section 10.1.1) on
/// HTTP/1.1, so that a peer that refuses by the head alone is never sent it.
pub(super) const EXPECT_FROM: u64 = 64 * 1024;

/// How long the peer's word is waited for: many know no `Expect`.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);

/// A request's content.
pub(super) struct Content {
    bytes: Option<Bytes>,
    length: u64,
    gate: Option<Gate>,
}

/// What holds content back.
struct Gate {
    /// None: it will never come, and the timer alone opens.
    opened: Option<oneshot::Receiver<()>>,
    timer: Pin<Box<Sleep>>,
}

impl Content {
    /// Content that may go at once.
    pub(super) fn new(bytes: Bytes) -> Self {
        let length = bytes.len() as u64;
        Self { bytes: Some(bytes).filter(|bytes| !bytes.is_empty()), length, gate: None }
    }

    /// Its length in bytes.
    pub(super) const fn length(&self) -> u64 {
        self.length
    }

    /// Holds it back until the returned sender is used, or for [`PATIENCE`]. A sender that is dropped
    /// opens nothing: the timer does.
    pub(super) fn hold(&mut self) -> oneshot::Sender<()> {
        let (open, opened) = oneshot::channel();
        self.gate = Some(Gate { opened: Some(opened), timer: Box::pin(sleep(PATIENCE)) });
        open
    }
}

impl Body for Content {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(gate) = &mut self.gate {
            let open = match gate.opened.as_mut().map(|opened| Pin::new(opened).poll(cx)) {
                Some(Poll::Ready(Ok(()))) => true,
                Some(Poll::Ready(Err(_))) => {
                    gate.opened = None;
                    false
                }
                Some(Poll::Pending) | None => false,
            };
            if !open {
                ready!(gate.timer.as_mut().poll(cx));
            }
            self.gate = None;
        }
        Poll::Ready(self.bytes.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}
