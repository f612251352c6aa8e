//! What operators say to questions: the cards of what waits, and their answers. An answer is recorded and
//! given at once; the work goes on after.

use crate::broker::{Broker, CallRequest, Inner, ReadError};
use crate::delivery::Delivery;
use crate::driver::add;
use crate::refuse;
use crate::word::{Halted, grant_key};
use proofport_core::approval::{Approval, Grant, Question, Word};
use proofport_core::code::Code;
use proofport_core::contract::{Effect, RepeatKind};
use proofport_core::decide::Input;
use proofport_core::digest::Digest;
use proofport_core::event::{Accepted, CredentialUse, StopDetail};
use proofport_core::exchange::{Request, SshCommand};
use proofport_core::id::{OperationName, RequestId};
use proofport_core::inquiry::announced;
use proofport_core::state::{IllegalEvent, Standing, State};
use proofport_core::time::UnixMillis;
use proofport_journal::{Batch, BodyKind, JournalError};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, PoisonError};
use tokio::sync::watch;

/// The most questions that one session may have open at a time.
const MOST_OPEN: usize = 64;

/// One question, as a person needs to see it to answer it. For operators only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// Which invocation waits.
    pub request_id: RequestId,
    /// Who asks.
    pub principal: String,
    /// In which session.
    pub session: String,
    /// What is called.
    pub operation: OperationName,
    /// The connector's module.
    pub connector: Digest,
    /// Whether it may change anything.
    pub effect: Effect,
    /// What the remote promises about a second arrival.
    pub repeat: RepeatKind,
    /// Where it goes: an origin, or an SSH host.
    pub target: String,
    /// The method of an HTTP request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The path of an HTTP request, without its query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The program of an SSH exec, without its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// What it does, in the connector's words.
    pub summary: String,
    /// The caller's input, as canonical JSON.
    pub input: String,
    /// Which credential it uses, and how.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<CredentialUse>,
    /// Fingerprint of the exact request: the word is about this.
    pub request: Digest,
    /// Fingerprint of everything that the invocation is bound to.
    pub intent: Digest,
    /// Whose word the admin's policy asks for.
    pub needs: Approval,
    /// When the question lapses.
    pub until: UnixMillis,
}

/// How far an approval reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// As the operation's policy says: once, or for the session.
    Usual,
    /// This request alone.
    Once,
    /// Every call of the same session at the same operation for so many seconds.
    Seconds(u32),
    /// The same, as long as the session lives.
    Session,
}

/// A question can't be answered. For operators.
#[derive(Debug, thiserror::Error)]
pub enum DecideError {
    /// There is no such invocation.
    #[error("there is no such invocation")]
    NoSuchInvocation,
    /// Nobody is asked about it, or not any more.
    #[error("it waits for nobody's approval: it was decided, has lapsed or was cancelled")]
    NotWaiting,
    /// It waits for a word about another request than the one that was looked at.
    #[error("it waits for a word about another request than that one; look at it again")]
    OtherRequest,
    /// The vault is locked.
    #[error("the vault is locked; unlock it first")]
    VaultLocked,
    /// The host is stopping.
    #[error("the host is stopping and takes on nothing new")]
    Stopping,
    /// The record can't be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The journal can't be written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The host decided what can't happen.
    #[error("the host decided what can't happen: {0}")]
    Illegal(#[from] IllegalEvent),
    /// The host failed.
    #[error("the host failed")]
    Internal,
}

impl Broker {
    /// Every question that waits for an answer, the one that lapses first at the front.
    ///
    /// # Errors
    /// When a record can't be read.
    pub fn approvals(&self) -> Result<Vec<Card>, ReadError> {
        let mut cards = Vec::new();
        for id in self.inner().waiting_ids() {
            cards.extend(self.card(&id)?);
        }
        cards.sort_by_key(|card| (card.until, card.request_id));
        Ok(cards)
    }

    /// The question about this invocation; none where none waits.
    ///
    /// # Errors
    /// When its record can't be read.
    pub fn card(&self, id: &RequestId) -> Result<Option<Card>, ReadError> {
        let inner = self.inner();
        let Some(state) = inner.state(id)? else { return Ok(None) };
        let Some((question, binding)) = waiting(&state).zip(state.binding.as_ref()) else { return Ok(None) };
        let body = |kind| inner.journal.body(id, kind);
        let request = body(BodyKind::Request)?.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let halted = body(BodyKind::Halted)?.and_then(|bytes| serde_json::from_slice::<Halted>(&bytes).ok());
        let input = body(BodyKind::Input)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let (Some(request), Some(halted)) = (request, halted) else { return Ok(None) };
        let (target, method, path, program) = what(&request);
        Ok(Some(Card {
            request_id: *id,
            principal: state.accepted.principal.clone(),
            session: state.accepted.session.clone(),
            operation: state.accepted.operation.clone(),
            connector: binding.connector,
            effect: binding.contract.effect,
            repeat: binding.contract.repeat.kind(),
            target,
            method,
            path,
            program,
            summary: halted.summary,
            input: input.unwrap_or_default(),
            credential: state.credential.clone(),
            request: question.request,
            intent: binding.intent,
            needs: binding.approval.needs,
            until: question.until,
        }))
    }

    /// How many questions wait for an answer.
    #[must_use]
    pub fn count_approvals(&self) -> usize {
        self.inner().waiting.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Changes whenever a question is put, answered or over.
    #[must_use]
    pub fn questions(&self) -> watch::Receiver<u64> {
        self.inner().questions.subscribe()
    }

    /// Approves what waits. That is durable before the answer; the work goes on after, in whoever looks after
    /// the host's own moves. `about`: the request that was looked at.
    ///
    /// # Errors
    /// When nothing waits, or what waits is something else, or the vault is locked.
    pub async fn approve(
        &self,
        id: &RequestId,
        about: Option<Digest>,
        reach: Reach,
    ) -> Result<Delivery, DecideError> {
        if self.inner().is_locked() {
            return Err(DecideError::VaultLocked);
        }
        // The broker owns the work: whoever asked may go.
        let task = tokio::spawn(Arc::clone(self.inner()).decide(*id, about, Some(reach)));
        task.await.unwrap_or(Err(DecideError::Internal))
    }

    /// Denies what waits: it does not run.
    ///
    /// # Errors
    /// When nothing waits, or what waits is something else.
    pub async fn deny(&self, id: &RequestId, about: Option<Digest>) -> Result<Delivery, DecideError> {
        let task = tokio::spawn(Arc::clone(self.inner()).decide(*id, about, None));
        task.await.unwrap_or(Err(DecideError::Internal))
    }
}

impl Inner {
    /// Records an answer; none: no.
    async fn decide(
        self: Arc<Self>,
        id: RequestId,
        about: Option<Digest>,
        reach: Option<Reach>,
    ) -> Result<Delivery, DecideError> {
        let _entered = self.enter_asking().ok_or(DecideError::Stopping)?;
        let claim = self.claim_when_free(id).await;
        let state = self.state(&id)?.ok_or(DecideError::NoSuchInvocation)?;
        let question = waiting(&state).ok_or(DecideError::NotWaiting)?;
        if about.is_some_and(|about| about != question.request) {
            return Err(DecideError::OtherRequest);
        }
        let now = self.now();
        if now >= question.until {
            self.lapse(state).await?;
            return Err(DecideError::NotWaiting);
        }
        let grant = reach.and_then(|reach| grant(reach, state.approval_terms().needs, now));
        let word = Word { approved: reach.is_some(), request: question.request, grant, by: None };
        let state = self.say(state, word, now).await?;
        drop(claim);
        if grant.is_some() {
            // The word stands, whatever becomes of the others: each is asked about still.
            if let Err(error) = self.cover_others(&state, now).await {
                tracing::error!(%id, %error, "other questions that this word covers could not be answered");
            }
        }
        Ok(self.answer(&state, false))
    }

    /// Puts a word on record, findable by what it covers.
    async fn say(&self, mut state: State, word: Word, now: UnixMillis) -> Result<State, DecideError> {
        let mut events = Vec::new();
        add(&mut state, &mut events, Input::Decided(word), now)?;
        let key = word.grant.map(|_| (grant_key(&state.accepted), state.accepted.request_id));
        let batch = Batch {
            invocation: Some(state.accepted.request_id),
            at: now,
            events,
            bodies: Vec::new(),
            intents: key.into_iter().collect(),
            open: Some(announced(&state).is_some()),
            tally: None,
        };
        self.append(batch).await?;
        self.keep_in_mind(&state);
        Ok(state)
    }

    /// What waits for the same word as this one has it now.
    async fn cover_others(self: &Arc<Self>, granting: &State, now: UnixMillis) -> Result<(), DecideError> {
        for id in self.waiting_ids() {
            let Some(_claim) = self.claim(id) else { continue };
            let Some(state) = self.state(&id)? else { continue };
            let Some(question) = waiting(&state).filter(|_| granting.grants(&state, now)) else { continue };
            let by = Some(granting.accepted.request_id);
            let word = Word { approved: true, request: question.request, grant: None, by };
            self.say(state, word, now).await?;
        }
        Ok(())
    }

    /// Lets a question lapse whose time is over.
    pub(crate) async fn lapse(&self, mut state: State) -> Result<(), DecideError> {
        let (now, mut events) = (self.now(), Vec::new());
        let lapsed = refuse::refused(Code::ApprovalExpired, StopDetail::None);
        add(&mut state, &mut events, lapsed, now)?;
        self.record(&state, events, now).await?;
        Ok(())
    }

    /// The invocations that wait for an answer.
    pub(crate) fn waiting_ids(&self) -> Vec<RequestId> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).keys().copied().collect()
    }

    /// Keeps the list of questions true to this record.
    pub(crate) fn note_question(&self, state: &State) {
        let id = state.accepted.request_id;
        let mut open = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = match waiting(state) {
            Some(_) => open.insert(id, state.accepted.session.clone()).is_none(),
            None => open.remove(&id).is_some(),
        };
        drop(open);
        if changed {
            self.questions.send_modify(|count| *count = count.wrapping_add(1));
        }
    }

    /// The invocation of this session that waits for a word on the very same read; none: nobody is asked about
    /// one. Reads are not remembered beyond that: each is a new one.
    pub(crate) fn same_question(&self, request: &CallRequest, input: &Digest) -> Option<State> {
        let key = request.call_key.as_deref().map(|key| Digest::of_bytes(key.as_bytes()));
        let session = |id: &RequestId| {
            let open = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            open.get(id).is_some_and(|asking| *asking == request.caller.session)
        };
        let same = |state: &State| {
            let Accepted { principal, operation, call_key, .. } = &state.accepted;
            waiting(state).is_some()
                && *principal == request.caller.principal
                && *operation == request.operation
                && state.accepted.input == *input
                && *call_key == key
        };
        let ids = self.waiting_ids().into_iter().filter(session);
        ids.filter_map(|id| self.state(&id).ok().flatten()).find(same)
    }

    /// Whether this session has as many questions open as it may: people are asked no more for it.
    pub(crate) fn asks_too_much(&self, session: &str) -> bool {
        let open = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        open.values().filter(|asking| *asking == session).count() >= MOST_OPEN
    }
}

/// The question that waits for an answer.
pub(crate) fn waiting(state: &State) -> Option<Question> {
    state.question.filter(|_| state.standing == Standing::AwaitingApproval)
}

fn grant(reach: Reach, needs: Approval, now: UnixMillis) -> Option<Grant> {
    match (reach, needs) {
        (Reach::Once, _) | (Reach::Usual, Approval::Each | Approval::Auto) => None,
        (Reach::Session, _) | (Reach::Usual, Approval::Session) => Some(Grant { until: None }),
        (Reach::Seconds(seconds), _) => Some(Grant { until: Some(now.plus_seconds(seconds.into())) }),
    }
}

/// Where a request goes and what it is, as far as a person needs it.
fn what(request: &Request) -> (String, Option<String>, Option<String>, Option<String>) {
    match request {
        Request::Http(http) => {
            let path = http.path.path().to_owned();
            (http.origin.to_string(), Some(http.method.clone()), Some(path), None)
        }
        Request::Ssh(exec) => {
            let program = match &exec.command {
                SshCommand::Argv(arguments) => arguments.first().cloned(),
                SshCommand::Raw(_) => None,
            };
            (format!("ssh://{}", exec.host.as_deref().unwrap_or_default()), None, None, program)
        }
    }
}
