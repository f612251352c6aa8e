//! When an answer counts as delivered: once its whole response was handed to the connection. A response that
//! is dropped before marks nothing, so that the record goes on saying that its result was not handed over.

use axum::body::Bytes;
use http_body::{Body, Frame, SizeHint};
use proofport_broker::Delivery;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

/// What is done with an answer whose response was handed over whole: it is confirmed, unless whoever owns the
/// connection knows better when its bytes are out, and puts this among the request's extensions.
#[derive(Clone)]
pub struct Handover(Arc<dyn Fn(Delivery) + Send + Sync>);

impl Handover {
    /// Does this with it.
    pub fn new(then: impl Fn(Delivery) + Send + Sync + 'static) -> Self {
        Self(Arc::new(then))
    }
}

impl Default for Handover {
    fn default() -> Self {
        Self::new(Delivery::confirmed)
    }
}

/// Where a request's answer waits for its response to be handed over.
#[derive(Clone)]
pub(super) struct Handed {
    waiting: Arc<Mutex<Option<Delivery>>>,
    then: Handover,
}

impl Handed {
    /// A place from which an answer goes on like this.
    pub(super) fn with(then: Handover) -> Self {
        Self { waiting: Arc::default(), then }
    }

    /// This is the answer that the response holds.
    pub(super) fn hold(&self, delivery: Delivery) {
        *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) = Some(delivery);
    }

    fn confirm(&self) {
        let held = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(delivery) = held {
            (self.then.0)(delivery);
        }
    }
}

/// A response's body that confirms the answer in it with its end.
pub(super) struct Confirming<B> {
    pub(super) body: B,
    pub(super) handed: Handed,
}

impl<B: Body<Data = Bytes> + Unpin> Body for Confirming<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        let failed = frame.as_ref().is_some_and(Result::is_err);
        if !failed && (frame.is_none() || self.body.is_end_stream()) {
            self.handed.confirm();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
