//! Waiting for news of an invocation without carrying anything out.

use crate::broker::{Broker, Inner};
use crate::delivery::Delivery;
use crate::intent::Caller;
use proofport_core::code::Code;
use proofport_core::id::RequestId;
use proofport_core::inquiry::{Move, announced};
use proofport_core::state::{Standing, State};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// Who waits for news of which invocation.
#[derive(Default)]
pub(crate) struct Watchers {
    all: Mutex<HashMap<RequestId, watch::Sender<()>>>,
}

impl Watchers {
    /// From here on every event that is put on record is heard of.
    fn subscribe(&self, id: RequestId) -> watch::Receiver<()> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(id).or_insert_with(|| watch::Sender::new(())).subscribe()
    }

    /// Nobody waits any more, perhaps.
    fn leave(&self, id: &RequestId, news: watch::Receiver<()>) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        drop(news);
        if all.get(id).is_some_and(|sender| sender.receiver_count() == 0) {
            all.remove(id);
        }
    }

    /// Something was put on record.
    pub(crate) fn tell(&self, id: &RequestId) {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = all.get(id) {
            sender.send_replace(());
        }
    }
}

/// A place among those who wait, until it is not, however it ends.
struct Waiting<'a> {
    inner: &'a Arc<Inner>,
    id: RequestId,
    news: Option<watch::Receiver<()>>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(news) = self.news.take() {
            self.inner.watchers.leave(&self.id, news);
        }
    }
}

impl Broker {
    /// The answer of an invocation once it moves no more by itself: it is over, or what comes next is a
    /// person's move who was not asked. One that waits for a person's approval, is being carried out, or is
    /// repeated or asked about by the host is waited for, at the latest for `most`; then it is answered as it
    /// stands. Nothing is carried out by this. Another's invocation is as unknown as none.
    pub async fn watch(&self, id: &RequestId, caller: &Caller, most: Duration) -> Delivery {
        let inner = self.inner();
        match inner.state(id) {
            Ok(Some(state)) if state.accepted.principal == caller.principal => {}
            Ok(Some(_) | None) => return inner.refusal(Code::NoSuchInvocation, None),
            Err(_) => return inner.refusal(Code::Internal, None),
        }
        let mut waiting = Waiting { inner, id: *id, news: Some(inner.watchers.subscribe(*id)) };
        let over = tokio::time::sleep(most);
        tokio::pin!(over);
        loop {
            let state = match inner.state(id) {
                Ok(Some(state)) => state,
                Ok(None) => return inner.refusal(Code::NoSuchInvocation, None),
                Err(_) => return inner.refusal(Code::Internal, None),
            };
            if !moves(&state) {
                return inner.answer(&state, false);
            }
            let Some(news) = &mut waiting.news else { return inner.answer(&state, false) };
            tokio::select! {
                biased;
                changed = news.changed() => if changed.is_err() {
                    return inner.answer(&state, false);
                },
                () = inner.stopping() => return inner.answer(&state, false),
                () = &mut over => return inner.answer(&state, false),
            }
        }
    }
}

/// Whether it goes on by itself, or by the person who was asked.
fn moves(state: &State) -> bool {
    match state.standing {
        Standing::Accepted
        | Standing::Validated
        | Standing::AwaitingApproval
        | Standing::Authorized
        | Standing::Leased
        | Standing::Dispatched
        | Standing::Answered => true,
        Standing::Ended => match announced(state) {
            Some(Move::Repeat { .. } | Move::Ask { .. } | Move::Lapse { .. } | Move::Begin) => true,
            // What becomes of a job is another call's answer.
            Some(Move::Look { .. }) | None => false,
        },
        Standing::Settled | Standing::Stored | Standing::Delivered | Standing::Stopped => false,
    }
}
