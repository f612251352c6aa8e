//! HTTP/2 through hyper: the tasks that keep a connection up, and what an error of h2 says.
//!
//! h2 is named here and nowhere else. What can't be read for sure says nothing: an unknown stays one.

use std::error::Error;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::task::JoinSet;

/// The tasks of one connection. Dropping them ends it at once.
#[derive(Default)]
pub(super) struct Tasks(Arc<Mutex<JoinSet<()>>>);

impl Tasks {
    /// Starts tasks for hyper. It doesn't keep them alive.
    pub(super) fn starter(&self) -> Starter {
        Starter(Arc::downgrade(&self.0))
    }

    /// Starts one.
    pub(super) fn start(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).spawn(task);
    }
}

/// See [`Tasks::starter`].
#[derive(Clone)]
pub(super) struct Starter(Weak<Mutex<JoinSet<()>>>);

impl<F> hyper::rt::Executor<F> for Starter
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    fn execute(&self, future: F) {
        if let Some(tasks) = self.0.upgrade() {
            let mut tasks = tasks.lock().unwrap_or_else(PoisonError::into_inner);
            // What has ended is let go of: a connection may carry many exchanges.
            while tasks.try_join_next().is_some() {}
            tasks.spawn(async move {
                future.await;
            });
        }
    }
}

/// What the peer told by a frame of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// RST_STREAM with REFUSED_STREAM.
    Refused,
    /// RST_STREAM with another code.
    Reset(u32),
    /// GOAWAY with this code.
    GoAway(u32),
    /// Nothing that can be told for sure: the error is ours, or of the stream beneath.
    Nothing,
}

impl Told {
    /// The error code (RFC 9113 section 7), if there is one.
    pub(super) fn code(self) -> Option<u32> {
        match self {
            Self::Refused => Some(h2::Reason::REFUSED_STREAM.into()),
            Self::Reset(code) | Self::GoAway(code) => Some(code),
            Self::Nothing => None,
        }
    }
}

/// What an error says of the peer's own frames.
pub(super) fn told(error: &(dyn Error + 'static)) -> Told {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<h2::Error>() {
            return of(error);
        }
        next = error.source();
    }
    Told::Nothing
}

fn of(error: &h2::Error) -> Told {
    let Some(reason) = error.reason().filter(|_| error.is_remote()) else { return Told::Nothing };
    match (error.is_reset(), error.is_go_away()) {
        (true, false) if reason == h2::Reason::REFUSED_STREAM => Told::Refused,
        (true, false) => Told::Reset(reason.into()),
        (false, true) => Told::GoAway(reason.into()),
        (true, true) | (false, false) => Told::Nothing,
    }
}
