//! Losing interest, and stopping the host. Before the dispatch it ends the invocation; after it the
//! exchange runs on to its deadline, so that what the remote says still settles the record.

use crate::broker::{Broker, Inner, ReadError};
use crate::delivery::Delivery;
use crate::driver::add;
use crate::intent::Caller;
use crate::refuse;
use proofport_core::code::Code;
use proofport_core::decide::Input;
use proofport_core::id::RequestId;
use proofport_core::inquiry::{Move, announced};
use proofport_core::project::last_boundary;
use proofport_core::state::{IllegalEvent, Standing, State};
use proofport_journal::JournalError;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// How soon it is looked again at an invocation that somebody is about to carry out.
const SOON: Duration = Duration::from_millis(20);

/// The invocations that are under way, and how to tell them that nobody waits any more.
pub(crate) struct Interest {
    pub(crate) all: Mutex<HashMap<RequestId, Waiting>>,
    /// How many there are, and whether the host takes on new ones.
    count: watch::Sender<(usize, bool)>,
}

pub(crate) struct Waiting {
    pub(crate) cancel: watch::Sender<bool>,
    newest: watch::Receiver<Option<State>>,
}

impl Default for Interest {
    fn default() -> Self {
        Self { all: Mutex::default(), count: watch::Sender::new((0, true)) }
    }
}

/// An invocation's place among those that are under way, until it is not.
pub(crate) struct Entered {
    inner: Arc<Inner>,
    /// Whom a cancellation reaches through it; none: nobody.
    id: Option<RequestId>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        let interest = &self.inner.interest;
        if let Some(id) = &self.id {
            interest.all.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        }
        interest.count.send_modify(|(count, _)| *count = count.saturating_sub(1));
    }
}

/// Tells a run that nobody waits for it.
#[derive(Clone)]
pub(crate) struct Cancelled(watch::Receiver<bool>);

impl Cancelled {
    /// One that never comes.
    pub(crate) fn never() -> Self {
        Self(watch::channel(false).1)
    }

    pub(crate) fn is(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until somebody cancels.
    pub(crate) async fn wait(&mut self) {
        if self.0.wait_for(|cancelled| *cancelled).await.is_err() {
            // Nobody is left who could.
            std::future::pending::<()>().await;
        }
    }
}

impl Inner {
    /// Enters an invocation; none when the host is stopping.
    pub(crate) fn enter(
        self: &Arc<Self>,
        id: RequestId,
        newest: watch::Receiver<Option<State>>,
    ) -> Option<(Entered, Cancelled)> {
        let (cancel, cancelled) = watch::channel(false);
        let mut entered = self.enter_asking()?;
        entered.id = Some(id);
        let mut all = self.interest.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(id, Waiting { cancel, newest });
        drop(all);
        Some((entered, Cancelled(cancelled)))
    }

    /// Enters somebody who asks beside it for an invocation's fate; none when the host is stopping.
    pub(crate) fn enter_asking(self: &Arc<Self>) -> Option<Entered> {
        let mut taken = false;
        self.interest.count.send_modify(|(count, open)| {
            taken = *open;
            *count += usize::from(*open);
        });
        taken.then(|| Entered { inner: Arc::clone(self), id: None })
    }

    /// How many invocations, and questions about such, are under way.
    pub(crate) fn count_under_way(&self) -> usize {
        self.interest.count.borrow().0
    }

    /// When the host takes on nothing new any more.
    pub(crate) async fn stopping(&self) {
        // The sender is this host's own, so that the wait ends with its word.
        let _ = self.interest.count.subscribe().wait_for(|(_, open)| !*open).await;
    }

    /// The newest durable state of an invocation that somebody carries out, as it comes.
    pub(crate) fn newest(&self, id: &RequestId) -> Option<watch::Receiver<Option<State>>> {
        let all = self.interest.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(id).map(|waiting| waiting.newest.clone())
    }

    /// Whether somebody carries this invocation out.
    pub(crate) fn is_entered(&self, id: &RequestId) -> bool {
        self.interest.all.lock().unwrap_or_else(PoisonError::into_inner).contains_key(id)
    }
}

/// A cancellation can't be recorded.
#[derive(Debug, thiserror::Error)]
enum ForgoError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("the host decided what can't happen: {0}")]
    Illegal(#[from] IllegalEvent),
}

impl Inner {
    /// Takes back a repeat that is announced and that nobody is making. False: somebody is.
    async fn forgo(self: Arc<Self>, id: RequestId) -> Result<bool, ForgoError> {
        // A host that stops leaves everything as it is.
        let Some(_entered) = self.enter_asking() else { return Ok(true) };
        // Only what would send its effect is taken back; whoever else holds the record is not waited for.
        let sends = |state: &State| {
            matches!(announced(state), Some(Move::Repeat { .. } | Move::Lapse { .. } | Move::Begin))
        };
        if !self.state(&id)?.as_ref().is_some_and(sends) {
            return Ok(!self.is_entered(&id));
        }
        let mut freed = std::pin::pin!(self.asked.notified());
        freed.as_mut().enable();
        let Some(_claim) = self.claim(id) else {
            // Whoever has it may be about to carry it out, and is told then.
            tokio::select! {
                () = freed => {}
                () = tokio::time::sleep(SOON) => {}
            }
            return Ok(false);
        };
        if self.is_entered(&id) {
            return Ok(false);
        }
        let Some(mut state) = self.state(&id)? else { return Ok(true) };
        if !sends(&state) {
            return Ok(true);
        }
        let (now, mut events) = (self.now(), Vec::new());
        add(&mut state, &mut events, Input::Cancelled, now)?;
        if state.dispatched() {
            self.add_next_move(&mut state, &mut events, now)?;
        } else {
            // Whatever a person would say: it does not run.
            let phase = last_boundary(&state);
            add(&mut state, &mut events, refuse::cancelled(phase), now)?;
        }
        self.record(&state, events, now).await?;
        Ok(true)
    }
}

impl Broker {
    /// The caller has lost interest. Nothing of the effect leaves if it has not left yet; if it has, the
    /// exchange goes on to its deadline, and the answer says what is proved so far. Another's invocation
    /// is as unknown as none; one that is over is answered as it is.
    pub async fn cancel(&self, id: &RequestId, caller: &Caller) -> Delivery {
        let inner = self.inner();
        loop {
            // Whose it is, is known once it is on record, and no id is shown before that.
            match inner.state(id) {
                Ok(Some(state)) if state.accepted.principal == caller.principal => {}
                Ok(Some(_) | None) => return inner.refusal(Code::NoSuchInvocation, None),
                Err(_) => return inner.refusal(Code::Internal, None),
            }
            let waiting = {
                let all = inner.interest.all.lock().unwrap_or_else(PoisonError::into_inner);
                all.get(id).map(|waiting| (waiting.cancel.clone(), waiting.newest.clone()))
            };
            if let Some((cancel, mut newest)) = waiting {
                cancel.send_replace(true);
                let noted = |state: &Option<State>| state.as_ref().is_some_and(is_noted);
                if let Ok(Some(state)) = newest.wait_for(noted).await.map(|state| state.clone()) {
                    return inner.answer(&state, false);
                }
            }
            // The broker owns the work: whoever asked may go.
            match tokio::spawn(Arc::clone(inner).forgo(*id)).await {
                Ok(Ok(true)) => return self.result(id, caller),
                // Somebody carries it out again.
                Ok(Ok(false)) => {}
                Ok(Err(error)) => {
                    tracing::error!(%id, %error, "a cancellation could not be recorded");
                    return inner.refusal(Code::Internal, None);
                }
                Err(_) => return inner.refusal(Code::Internal, None),
            }
        }
    }

    /// Tells every invocation that is under way that nobody waits for it any more.
    pub fn cancel_all(&self) {
        let all = self.inner().interest.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.values().for_each(|waiting| {
            waiting.cancel.send_replace(true);
        });
    }

    /// Takes on nothing new, and waits until everything that is under way has ended: at the latest at
    /// its deadline. Nothing is cancelled by this alone; an attempt that is announced for later stays so.
    pub async fn stop(&self) {
        let count = &self.inner().interest.count;
        count.send_modify(|(_, open)| *open = false);
        // The sender is the broker's own, so the wait ends with the count.
        let _ = count.subscribe().wait_for(|(count, _)| *count == 0).await;
    }
}

/// Whether the record says that somebody lost interest, or that it is over.
fn is_noted(state: &State) -> bool {
    state.cancel_requested
        || match state.standing {
            // One that rests goes on.
            Standing::Ended => state.retry_at.is_none(),
            Standing::Settled | Standing::Stored | Standing::Delivered | Standing::Stopped => true,
            Standing::Accepted
            | Standing::Validated
            | Standing::AwaitingApproval
            | Standing::Authorized
            | Standing::Leased
            | Standing::Dispatched
            | Standing::Answered => false,
        }
}
