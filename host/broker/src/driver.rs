//! What the host does by itself about effects whose fate is unknown: it carries out the repeats and the
//! questions that are announced in their records, at their time, and nothing else.

use crate::approvals::DecideError;
use crate::begin::BeginError;
use crate::broker::{Broker, Inner, ReadError};
use crate::delivery::Delivery;
use crate::follow::FollowError;
use crate::intent::Caller;
use crate::reconcile::ReconcileError;
use crate::refuse;
use crate::retry::{By, RetryError};
use proofport_core::code::Code;
use proofport_core::contract::Outcome;
use proofport_core::decide::{Input, decide};
use proofport_core::event::{Event, QueryPurpose, StopDetail};
use proofport_core::evidence::Cause;
use proofport_core::id::RequestId;
use proofport_core::inquiry::{Move, after_an_end, after_asking, announced, asking};
use proofport_core::job::Look;
use proofport_core::state::{IllegalEvent, State};
use proofport_core::time::UnixMillis;
use proofport_journal::{Batch, JournalError, Recorded};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Notify, Semaphore};

/// How many invocations the host looks after at once.
const AT_ONCE: usize = 64;

/// How long it waits where the vault is locked or somebody else is at it, in milliseconds.
const A_WHILE: u64 = 1000;

/// When which invocation is looked after. What is forgotten here is in the journal.
#[derive(Default)]
pub(crate) struct Agenda {
    due: Mutex<BTreeSet<(UnixMillis, RequestId)>>,
    changed: Notify,
}

impl Agenda {
    fn put(&self, at: UnixMillis, id: RequestId) {
        self.due.lock().unwrap_or_else(PoisonError::into_inner).insert((at, id));
        self.changed.notify_one();
    }

    fn next(&self) -> Option<UnixMillis> {
        self.due.lock().unwrap_or_else(PoisonError::into_inner).first().map(|(at, _)| *at)
    }

    /// What is due at this time, which has come.
    fn take(&self, due: UnixMillis) -> Option<(UnixMillis, RequestId)> {
        let mut entries = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, _) = entries.first()?;
        if *at <= due { entries.pop_first() } else { None }
    }
}

/// What came of a chore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Came {
    /// The record says what comes next.
    Done,
    /// It can't be done now, and nothing changed.
    NotNow,
}

/// A chore could not be done. What is announced stays so.
#[derive(Debug, thiserror::Error)]
enum ChoreError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("the host decided what can't happen: {0}")]
    Illegal(#[from] IllegalEvent),
    #[error(transparent)]
    Follow(#[from] FollowError),
    #[error(transparent)]
    Begin(#[from] BeginError),
    #[error(transparent)]
    Decide(#[from] DecideError),
}

impl Broker {
    /// Carries out what the host owns, at its time, until the host stops or the returned future is dropped:
    /// repeats within their budgets, questions where an operation declares that the host may ask, looks at
    /// jobs. What was begun goes on to its end.
    pub async fn look_after(&self) {
        let inner = self.inner();
        let hands = Arc::new(Semaphore::new(AT_ONCE));
        loop {
            let next = inner.agenda.next();
            let due = async {
                match next {
                    Some(at) => {
                        inner.until(at).await;
                        at
                    }
                    None => std::future::pending().await,
                }
            };
            let due = tokio::select! {
                biased;
                () = inner.stopping() => return,
                due = due => due,
                () = inner.agenda.changed.notified() => continue,
            };
            let Ok(hand) = Arc::clone(&hands).acquire_owned().await else { return };
            let Some((due, id)) = inner.agenda.take(due) else { continue };
            let inner = Arc::clone(inner);
            tokio::spawn(async move {
                inner.see_to(id, due).await;
                drop(hand);
            });
        }
    }

    /// Looks after one invocation until its move is not the host's any more, and answers with its record.
    /// Another's invocation is as unknown as none.
    pub async fn wait(&self, id: &RequestId, caller: &Caller) -> Delivery {
        let inner = self.inner();
        let mut left = None;
        loop {
            // From here on a settlement by somebody else is heard of.
            let mut changed = std::pin::pin!(inner.asked.notified());
            changed.as_mut().enable();
            let state = match inner.state(id) {
                Ok(Some(state)) if state.accepted.principal == caller.principal => state,
                Ok(Some(_) | None) => return inner.refusal(Code::NoSuchInvocation, None),
                Err(_) => return inner.refusal(Code::Internal, None),
            };
            // Whoever carries it out is waited for.
            if let Some(mut newest) = inner.newest(id) {
                let _ = newest.wait_for(|_| false).await;
                continue;
            }
            let Some(next) = announced(&state).filter(|_| !inner.is_locked()) else {
                if let Some(attempt) = state.active() {
                    // Whoever makes it may have ended since the record was read: then it says more.
                    let generation = Some(attempt.dispatch.generation);
                    if generation != left {
                        left = generation;
                        continue;
                    }
                }
                return inner.answer(&state, false);
            };
            tokio::select! {
                biased;
                () = inner.stopping() => return inner.answer(&state, false),
                () = changed => continue,
                () = inner.until(next.at()) => {}
            }
            if inner.see_to(*id, next.at()).await == Came::NotNow {
                // Somebody else is at it, or it failed: looked at again before long, but not at once.
                let again = UnixMillis(inner.now().0.saturating_add(A_WHILE));
                tokio::select! {
                    () = inner.stopping() => {}
                    () = inner.until(again) => {}
                }
            }
        }
    }
}

impl Inner {
    /// Returns when that time has come by the clock, which may be behind what was recorded once.
    pub(crate) async fn until(&self, at: UnixMillis) {
        let left = at.0.saturating_sub(self.now().0);
        if left > 0 {
            self.clock.until(UnixMillis(self.clock.now().0.saturating_add(left))).await;
        }
    }

    /// Puts on the agenda what this durable record announces.
    pub(crate) fn keep_in_mind(&self, state: &State) {
        self.note_question(state);
        if let Some(next) = announced(state) {
            self.agenda.put(next.at(), state.accepted.request_id);
        }
    }

    /// Without randomness everybody waits for as long as they may.
    pub(crate) fn roll(&self) -> u16 {
        self.entropy.bytes().map_or(u16::MAX, |bytes| u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    /// Adds to the events that ended an attempt, and that are applied, what the host does next by itself.
    pub(crate) fn add_next_move(
        &self,
        state: &mut State,
        events: &mut Vec<Event>,
        now: UnixMillis,
    ) -> Result<(), IllegalEvent> {
        // What was learnt before the effect is not kept, so that a host that comes back can't repeat it.
        let prepared = state.queries.iter().any(|query| query.purpose == QueryPurpose::Prepare);
        let next = if prepared { asking } else { after_an_end };
        if let Some(input) = next(state, now, now, self.roll()) {
            add(state, events, input, now)?;
        }
        Ok(())
    }

    /// Does what is due for this invocation, and sees to it that the agenda has what is left. `due`: a time
    /// that was waited for, and so has come, whatever the clock says.
    async fn see_to(self: &Arc<Self>, id: RequestId, due: UnixMillis) -> Came {
        // A task of its own: a panic in it must not take the entry with it, and whoever asked may go.
        let chore = tokio::spawn(Arc::clone(self).chore(id, due));
        let came = match chore.await {
            Ok(Ok(came)) => came,
            Ok(Err(error)) => {
                tracing::error!(%id, %error, "an invocation can't be looked after");
                Came::NotNow
            }
            Err(_) => Came::NotNow,
        };
        if came == Came::NotNow {
            self.put_off(id);
        }
        came
    }

    /// Puts this invocation on the agenda again, for a while later.
    pub(crate) fn put_off(&self, id: RequestId) {
        self.agenda.put(UnixMillis(self.now().0.saturating_add(A_WHILE)), id);
    }

    async fn chore(self: Arc<Self>, id: RequestId, due: UnixMillis) -> Result<Came, ChoreError> {
        // A host that stops waits for it, and begins none.
        let Some(_entered) = self.enter_asking() else { return Ok(Came::NotNow) };
        let Some(state) = self.state(&id)? else { return Ok(Came::Done) };
        let Some(next) = announced(&state) else {
            self.note_question(&state);
            return Ok(Came::Done);
        };
        // A question lapses whether or not secrets may be used.
        let needs_secrets = !matches!(next, Move::Lapse { .. });
        if self.is_entered(&id) || (needs_secrets && self.is_locked()) {
            return Ok(Came::NotNow);
        }
        if next.at() > self.now().max(due) {
            self.keep_in_mind(&state);
            return Ok(Came::Done);
        }
        match next {
            Move::Repeat { at } => self.repeat(id, at).await,
            Move::Ask { at } => self.ask(id, at).await,
            Move::Lapse { at } => self.lapse_unless_answered(id, at).await,
            Move::Begin => Ok(if self.begin(id).await? { Came::Done } else { Came::NotNow }),
            Move::Look { .. } => self.look(id).await,
        }
    }

    /// Sends an effect again as it was announced.
    async fn repeat(self: &Arc<Self>, id: RequestId, due: UnixMillis) -> Result<Came, ChoreError> {
        let error = match Arc::clone(self).send_again(id, By::Host { due }).await {
            // Its run, or its failure, put on the agenda what comes next.
            Ok(_) => return Ok(Came::Done),
            Err(error) => error,
        };
        let code = match &error {
            RetryError::UnderWay
            | RetryError::VaultLocked
            | RetryError::Stopping
            | RetryError::Internal(_) => {
                return Ok(Came::NotNow);
            }
            RetryError::NoSuchInvocation => return Ok(Came::Done),
            RetryError::Read(_) | RetryError::Journal(_) => {
                tracing::error!(%id, %error, "an announced repeat could not begin");
                return Ok(Came::NotNow);
            }
            RetryError::BindingChanged | RetryError::NotPermitted(_) => Code::FingerprintMismatch,
            RetryError::Prepared | RetryError::RecordMissing => Code::Internal,
        };
        tracing::info!(%id, %error, "an announced repeat is not made");
        let Some(_claim) = self.claim(id) else { return Ok(Came::NotNow) };
        let Some(mut state) = self.state(&id)? else { return Ok(Came::Done) };
        if !matches!(announced(&state), Some(Move::Repeat { .. })) {
            self.keep_in_mind(&state);
            return Ok(Came::Done);
        }
        let (now, mut events) = (self.now(), Vec::new());
        let refused = refuse::refused(code, StopDetail::Setup { cause: Cause::LocalIo });
        add(&mut state, &mut events, refused, now)?;
        if let Some(input) = asking(&state, now, now, self.roll()) {
            add(&mut state, &mut events, input, now)?;
        }
        self.record(&state, events, now).await?;
        Ok(Came::Done)
    }

    /// Asks the remote as it was announced.
    async fn ask(self: &Arc<Self>, id: RequestId, due: UnixMillis) -> Result<Came, ChoreError> {
        let Some(_claim) = self.claim(id) else { return Ok(Came::NotNow) };
        let Some(state) = self.state(&id)? else { return Ok(Came::Done) };
        if announced(&state) != Some(Move::Ask { at: due }) {
            // Somebody else was here in between.
            self.keep_in_mind(&state);
            return Ok(Came::Done);
        }
        match self.reconcile_claimed(&id).await {
            Ok(_) => {}
            Err(ReconcileError::UnderWay | ReconcileError::VaultLocked | ReconcileError::Stopping) => {
                return Ok(Came::NotNow);
            }
            // Whatever else went wrong, it was tried, and that counts.
            Err(error) => tracing::debug!(%id, %error, "the host asked and learnt nothing"),
        }
        let history = self.journal.history(&id)?;
        let state = State::replay(history.iter().map(|recorded| &recorded.event)).map_err(ReadError::from)?;
        let Some(mut state) = state else { return Ok(Came::Done) };
        if !matches!(announced(&state), Some(Move::Ask { .. })) {
            self.keep_in_mind(&state);
            return Ok(Came::Done);
        }
        let (now, mut events) = (self.now(), Vec::new());
        let next = after_asking(&state, ended_at(&history).unwrap_or(now), now, self.roll());
        add(&mut state, &mut events, next, now)?;
        self.record(&state, events, now).await?;
        Ok(Came::Done)
    }

    /// Lets a question lapse, unless somebody was faster.
    async fn lapse_unless_answered(
        self: &Arc<Self>,
        id: RequestId,
        due: UnixMillis,
    ) -> Result<Came, ChoreError> {
        let Some(_claim) = self.claim(id) else { return Ok(Came::NotNow) };
        let Some(state) = self.state(&id)? else { return Ok(Came::Done) };
        if announced(&state) != Some(Move::Lapse { at: due }) {
            self.keep_in_mind(&state);
            return Ok(Came::Done);
        }
        self.lapse(state).await?;
        Ok(Came::Done)
    }

    /// Looks at a submitted job as it was announced.
    async fn look(self: &Arc<Self>, id: RequestId) -> Result<Came, ChoreError> {
        match Arc::clone(self).follow(id, None).await {
            Ok(_) | Err(FollowError::NoSuchInvocation | FollowError::NoJob) => Ok(Came::Done),
            Err(FollowError::BindingChanged) => {
                tracing::info!(%id, "a job is looked at no more: its connection has changed");
                let Some(_claim) = self.claim(id) else { return Ok(Came::NotNow) };
                self.looked(&id, None, Look::Over).await?;
                Ok(Came::Done)
            }
            Err(FollowError::UnderWay | FollowError::VaultLocked | FollowError::Internal) => Ok(Came::NotNow),
            Err(error @ (FollowError::Read(_) | FollowError::Journal(_) | FollowError::Illegal(_))) => {
                Err(error.into())
            }
        }
    }

    /// Puts these events on record, which are applied, and on the agenda what they announce.
    pub(crate) async fn record(
        &self,
        state: &State,
        events: Vec<Event>,
        at: UnixMillis,
    ) -> Result<(), JournalError> {
        let batch = Batch {
            invocation: Some(state.accepted.request_id),
            at,
            events,
            bodies: Vec::new(),
            intents: Vec::new(),
            open: Some(announced(state).is_some()),
            tally: None,
        };
        self.append(batch).await?;
        self.keep_in_mind(state);
        Ok(())
    }
}

/// Lets the core decide, and applies what it decided.
pub(crate) fn add(
    state: &mut State,
    events: &mut Vec<Event>,
    input: Input,
    now: UnixMillis,
) -> Result<(), IllegalEvent> {
    for event in decide(state, input, now)? {
        state.apply(&event)?;
        events.push(event);
    }
    Ok(())
}

/// When the last attempt ended of which something may have left; none: none has ended.
pub(crate) fn ended_at(history: &[Recorded]) -> Option<UnixMillis> {
    let left = history.iter().filter(|recorded| {
        matches!(&recorded.event, Event::AttemptEnded(end) if end.outcome != Outcome::NotAttempted)
    });
    left.map(|recorded| recorded.at).max()
}
