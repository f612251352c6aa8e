//! A caller's line to its own call while there is no answer yet: what it may learn of it, and say to it.

use crate::broker::Inner;
use proofport_core::id::RequestId;
use proofport_core::state::State;
use std::sync::{Arc, PoisonError};
use tokio::sync::{oneshot, watch};

/// The call's end of the line.
#[derive(Debug)]
pub struct Line {
    named: oneshot::Sender<RequestId>,
    cancel: oneshot::Receiver<()>,
}

/// The caller's end of the line.
#[derive(Debug)]
pub struct CallersEnd {
    /// The call's id, once its acceptance is durable and not before. An error: it met an earlier call, or
    /// nothing was taken on, and the answer says more.
    pub named: oneshot::Receiver<RequestId>,
    /// A word here loses interest in the call, even before it has an id that may be shown. Dropping this
    /// says nothing.
    pub cancel: oneshot::Sender<()>,
}

impl Line {
    /// Both ends of a new line.
    #[must_use]
    pub fn new() -> (Self, CallersEnd) {
        let (tell, named) = oneshot::channel();
        let (cancel, heard) = oneshot::channel();
        (Self { named: tell, cancel: heard }, CallersEnd { named, cancel })
    }

    /// Serves the line of an invocation that has been entered, until nobody is left to serve.
    pub(crate) async fn attend(
        self,
        inner: Arc<Inner>,
        id: RequestId,
        mut newest: watch::Receiver<Option<State>>,
    ) {
        let Self { named, mut cancel } = self;
        let mut named = Some(named);
        let mut hears = true;
        while named.is_some() || hears {
            tokio::select! {
                durable = newest.wait_for(Option::is_some), if named.is_some() => match durable {
                    // Whoever does not listen loses nothing: the answer names it too.
                    Ok(_) => drop(named.take().map(|named| named.send(id))),
                    Err(_) => return,
                },
                word = &mut cancel, if hears => {
                    hears = false;
                    if word.is_ok() {
                        inner.lose_interest(&id);
                    }
                }
            }
        }
    }
}

impl Inner {
    /// Tells an invocation that is under way that nobody waits for it any more.
    fn lose_interest(&self, id: &RequestId) {
        let all = self.interest.all.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(waiting) = all.get(id) {
            waiting.cancel.send_replace(true);
        }
    }
}
