//! What the host does by itself about effects whose fate is unknown: it carries out the repeats and the
//! questions that are announced in their records, at their time, and nothing else.

use crate::broker::{Broker, Delivery, Inner, ReadError};
use crate::follow::FollowError;
use crate::intent::Caller;
use crate::refuse;
use crate::retry::RetryError;
use proofport_core::code::Code;
use proofport_core::decide::{Input, decide};
use proofport_core::event::{Event, EventKind, QueryPurpose, StopDetail};
use proofport_core::evidence::Cause;
use proofport_core::id::RequestId;
use proofport_core::inquiry::{Move, after_an_end, after_asking, announced, asking};
use proofport_core::state::{IllegalEvent, State};
use proofport_core::time::UnixMillis;
use proofport_journal::{Batch, JournalError};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Notify, Semaphore};

/// How many invocations the host looks after at once.
const AT_ONCE: usize = 16;

/// How long it waits where the vault is locked or somebody else is at it, in milliseconds.
const A_WHILE: u64 = 1000;

/// The session of the looks that the host takes by itself.
const OF_THE_HOST: &str = "the host's own";

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

    fn take(&self, now: UnixMillis) -> Option<RequestId> {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, _) = due.first()?;
        if *at > now {
            return None;
        }
        due.pop_first().map(|(_, id)| id)
    }
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
}

impl Broker {
    /// Carries out what the host owns, at its time, until the host stops or the returned future is dropped:
    /// repeats within their budgets, and questions where an operation declares that the host may ask. What
    /// was begun goes on to its end.
    pub async fn look_after(&self) {
        let inner = self.inner();
        let hands = Arc::new(Semaphore::new(AT_ONCE));
        loop {
            let next = inner.agenda.next();
            let due = async {
                match next {
                    Some(at) => inner.until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = inner.stopping() => return,
                () = due => {}
                () = inner.agenda.changed.notified() => continue,
            }
            let Ok(hand) = Arc::clone(&hands).acquire_owned().await else { return };
            let Some(id) = inner.agenda.take(inner.now()) else { continue };
            let inner = Arc::clone(inner);
            tokio::spawn(async move {
                inner.chore(id).await;
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
            // Whoever carries it out is waited for.
            if let Some(mut newest) = inner.newest(id) {
                let _ = newest.wait_for(|_| false).await;
            }
            let state = match inner.state(id) {
                Ok(Some(state)) if state.accepted.principal == caller.principal => state,
                Ok(Some(_) | None) => return inner.refusal(Code::NoSuchInvocation, None),
                Err(_) => return inner.refusal(Code::Internal, None),
            };
            let next = announced(&state).filter(|_| !inner.is_locked());
            let Some(next) = next else {
                if let Some(attempt) = state.active() {
                    // Whoever makes it may have ended since the record was read: then it says more.
                    let unattended = (!inner.is_entered(id)).then_some(attempt.dispatch.generation);
                    if unattended.is_none() || unattended != left {
                        left = unattended;
                        continue;
                    }
                }
                return inner.answer(&state, false);
            };
            inner.until(next.at()).await;
            // Somebody else may be at it; then the record is looked at again afterwards.
            drop(inner.claim_when_free(*id).await);
            let chore = tokio::spawn(Arc::clone(inner).chore(*id));
            if chore.await.is_err() {
                return inner.refusal(Code::Internal, None);
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

    /// Does what is due for this invocation. What comes next is on the agenda afterwards.
    async fn chore(self: Arc<Self>, id: RequestId) {
        let later = || self.agenda.put(UnixMillis(self.now().0.saturating_add(A_WHILE)), id);
        let state = match self.state(&id) {
            Ok(Some(state)) => state,
            Ok(None) => return,
            Err(error) => {
                tracing::error!(%id, %error, "an invocation can't be looked after");
                return;
            }
        };
        let Some(next) = announced(&state) else { return };
        // Whoever carries it out puts it on the agenda again.
        if self.is_entered(&id) {
            return;
        }
        if self.is_locked() {
            return later();
        }
        if next.at() > self.now() {
            return self.keep_in_mind(&state);
        }
        let done = match next {
            Move::Repeat { .. } => self.repeat(id).await,
            Move::Ask { .. } => self.ask(id).await,
            Move::Look { .. } => self.look(&state).await,
        };
        match done {
            Ok(true) => {}
            Ok(false) => later(),
            Err(error) => {
                tracing::error!(%id, %error, "an invocation can't be looked after");
                later();
            }
        }
    }

    /// Sends an effect again as it was announced. False: not now.
    async fn repeat(self: &Arc<Self>, id: RequestId) -> Result<bool, ChoreError> {
        let error = match Arc::clone(self).send_again(id, false).await {
            // Its run, or its failure, put on the agenda what comes next.
            Ok(_) => return Ok(true),
            Err(error) => error,
        };
        let code = match &error {
            RetryError::UnderWay | RetryError::VaultLocked | RetryError::Internal(_) => return Ok(false),
            RetryError::NoSuchInvocation => return Ok(true),
            RetryError::Read(_) | RetryError::Journal(_) => {
                tracing::error!(%id, %error, "an announced repeat could not begin");
                return Ok(false);
            }
            RetryError::BindingChanged | RetryError::NotPermitted(_) => Code::FingerprintMismatch,
            RetryError::Prepared | RetryError::RecordMissing => Code::Internal,
        };
        tracing::info!(%id, %error, "an announced repeat is not made");
        let Some(_claim) = self.claim(id) else { return Ok(false) };
        let Some(mut state) = self.state(&id)? else { return Ok(true) };
        if !matches!(announced(&state), Some(Move::Repeat { .. })) {
            return Ok(true);
        }
        let (now, mut events) = (self.now(), Vec::new());
        let refused = refuse::refused(code, StopDetail::Setup { cause: Cause::LocalIo });
        add(&mut state, &mut events, refused, now)?;
        if let Some(input) = asking(&state, now, now, self.roll()) {
            add(&mut state, &mut events, input, now)?;
        }
        self.record(&state, events, now).await?;
        Ok(true)
    }

    /// Asks the remote as it was announced. False: not now.
    async fn ask(self: &Arc<Self>, id: RequestId) -> Result<bool, ChoreError> {
        let Some(_claim) = self.claim(id) else { return Ok(false) };
        if let Err(error) = self.reconcile_claimed(&id).await {
            tracing::debug!(%id, %error, "the host asked and learnt nothing");
        }
        let history = self.journal.history(&id)?;
        let ends = history.iter().filter(|recorded| recorded.event.kind() == EventKind::AttemptEnded);
        let ended_at = ends.map(|recorded| recorded.at).max().unwrap_or_default();
        let state = State::replay(history.iter().map(|recorded| &recorded.event)).map_err(ReadError::from)?;
        let Some(mut state) = state else { return Ok(true) };
        if !matches!(announced(&state), Some(Move::Ask { .. })) {
            return Ok(true);
        }
        let (now, mut events) = (self.now(), Vec::new());
        let next = after_asking(&state, ended_at, now, self.roll());
        add(&mut state, &mut events, next, now)?;
        self.record(&state, events, now).await?;
        Ok(true)
    }

    /// Looks at a submitted job as it was announced. False: not now.
    async fn look(self: &Arc<Self>, state: &State) -> Result<bool, ChoreError> {
        let id = state.accepted.request_id;
        let caller = Caller { principal: state.accepted.principal.clone(), session: OF_THE_HOST.to_owned() };
        match Arc::clone(self).follow(id, caller).await {
            Ok(_) | Err(FollowError::NoSuchInvocation | FollowError::NoJob) => Ok(true),
            Err(FollowError::UnderWay | FollowError::VaultLocked | FollowError::Internal) => Ok(false),
            Err(FollowError::Read(error)) => Err(error.into()),
            Err(FollowError::Journal(error)) => Err(error.into()),
            Err(FollowError::Illegal(error)) => Err(error.into()),
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
