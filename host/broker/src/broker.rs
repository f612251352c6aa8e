//! The broker: what callers and operators can ask of it.

use crate::cancel::Interest;
use crate::connection::Connection;
use crate::driver::{Agenda, add};
use crate::failures::{self, Account};
use crate::figures::Figures;
use crate::host::{Clock, Entropy};
use crate::intent::{Caller, IntentKeys};
use crate::line::Line;
use crate::meeting::{Going, Meeting, UnderWay};
use crate::notes::Notes;
use crate::prepared::Prepared;
use crate::probe::{Point, Probe};
use crate::revoked::Revoked;
use crate::run::{Finished, Run};
use crate::watch::Watchers;
use proofport_core::batch::ChildId;
use proofport_core::canonical::canonical;
use proofport_core::code::Code;
use proofport_core::content::ContentFacts;
use proofport_core::contract::{Effect, Outcome, Repeat};
use proofport_core::decide::{Input, decide};
use proofport_core::diagnostic::{Diagnostic, Protected};
use proofport_core::digest::Digest;
use proofport_core::envelope::{Envelope, RemoteData, Stored};
use proofport_core::event::{Accepted, Continues, Event, EventKind, ResultFacts};
use proofport_core::id::{Name, OperationName, RequestId};
use proofport_core::inquiry::announced;
use proofport_core::state::{IllegalEvent, State};
use proofport_core::time::UnixMillis;
use proofport_egress::ssh::SshEgress;
use proofport_egress::{ConnectionFigures, HttpEgress};
use proofport_journal::{Batch, BodyKind, Journal, JournalError, Recorded, Room};
use proofport_vault::{State as VaultState, Vault};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Instant;
use tokio::sync::{Notify, watch};

/// What a broker is made of.
pub struct Parts {
    /// The records.
    pub journal: Journal,
    /// The secrets.
    pub vault: Arc<RwLock<Vault>>,
    /// The way out over HTTP.
    pub egress: HttpEgress,
    /// The way out over SSH.
    pub ssh_egress: SshEgress,
    /// The admin's bindings.
    pub connections: HashMap<Name, Arc<Connection>>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
    /// A test's watch.
    pub probe: Arc<dyn Probe>,
}

pub(crate) struct Inner {
    pub(crate) journal: Journal,
    pub(crate) vault: Arc<RwLock<Vault>>,
    pub(crate) egress: HttpEgress,
    pub(crate) ssh_egress: SshEgress,
    pub(crate) connections: HashMap<Name, Arc<Connection>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) probe: Arc<dyn Probe>,
    pub(crate) prepared: Prepared,
    /// Intents whose invocation is under way in this process, with its newest durable state.
    pub(crate) under_way: Mutex<HashMap<Digest, Vec<Going>>>,
    /// Invocations whose fate is being asked for.
    asking: Mutex<HashSet<RequestId>>,
    /// Tells that somebody has ended asking.
    pub(crate) asked: Notify,
    /// Who waits for what.
    pub(crate) interest: Interest,
    /// What is under way of what failures are counted against.
    pub(crate) failures: failures::UnderWay,
    /// What the host does by itself, and when.
    pub(crate) agenda: Agenda,
    /// Who waits for news of what.
    pub(crate) watchers: Watchers,
    /// The invocations that wait for a person, with their sessions. What is forgotten here is in the journal.
    pub(crate) waiting: Mutex<BTreeMap<RequestId, String>>,
    /// What was taken back.
    pub(crate) revoked: Revoked,
    /// What is counted.
    pub(crate) figures: Figures,
    /// Who makes traces, if anybody does.
    pub(crate) notes: Notes,
    /// Changes with the questions.
    pub(crate) questions: watch::Sender<u64>,
}

/// The one loop that meets core, journal, vault, egress and sandbox. Cheap to clone.
#[derive(Clone)]
pub struct Broker {
    inner: Arc<Inner>,
}

/// One call.
#[derive(Clone, Debug)]
pub struct CallRequest {
    /// What is asked for.
    pub operation: OperationName,
    /// The input's JSON text as it came.
    pub input: Vec<u8>,
    /// The caller's key, if one was given.
    pub call_key: Option<String>,
    /// Who calls.
    pub caller: Caller,
}

/// An answer on its way to the caller.
pub struct Delivery {
    /// The answer.
    pub envelope: Envelope,
    /// The record that it was made of; none where nothing was taken on.
    pub(crate) state: Option<Box<State>>,
    inner: Arc<Inner>,
}

impl Delivery {
    /// What the newest evidence says that came after the outcome was settled, for operators. It changes
    /// nothing about the answer.
    #[must_use]
    pub fn attached(&self) -> Option<Outcome> {
        self.state.as_ref().and_then(|state| state.attached.last().copied())
    }

    /// The same of single children of a batch, the newest of each: its identity, what the record says, and
    /// what the evidence does.
    #[must_use]
    pub fn attached_children(&self) -> Vec<(ChildId, Outcome, Outcome)> {
        let Some(state) = &self.state else { return Vec::new() };
        let bound = state.binding.as_ref().map_or(&[][..], |binding| &binding.children);
        let newest: BTreeMap<u32, Outcome> = state.attached_children.iter().copied().collect();
        let of = |(index, said): (u32, Outcome)| {
            let id = bound.get(usize::try_from(index).ok()?)?.clone();
            Some((id, state.child(index).outcome, said))
        };
        newest.into_iter().filter_map(of).collect()
    }

    /// The caller's protocol confirmed a complete handoff. The mark rides along with a later commit;
    /// losing it loses nothing but the mark.
    pub fn confirmed(self) {
        let Some(state) = self.state else { return };
        let id = state.accepted.request_id;
        let now = self.inner.now();
        if let Ok(events) = decide(&state, Input::Delivered, now)
            && !events.is_empty()
        {
            self.inner.probe.at(Point::BeforeCommit(EventKind::ResultDelivered));
            self.inner.journal.ride_along(Batch {
                invocation: Some(id),
                at: now,
                events,
                bodies: Vec::new(),
                intents: Vec::new(),
                open: None,
                tally: None,
            });
        }
    }
}

impl Broker {
    pub(crate) const fn of(inner: Arc<Inner>) -> Self {
        Self { inner }
    }

    /// Carries out a call, or answers with the first call of the same intent. The work goes on when
    /// the returned future is dropped.
    pub async fn call(&self, request: CallRequest) -> Delivery {
        self.call_on(request, None).await
    }

    /// The same, with a line to the call while there is no answer.
    pub async fn call_on(&self, request: CallRequest, line: Option<Line>) -> Delivery {
        let inner = Arc::clone(&self.inner);
        let operation = request.operation.clone();
        // The broker owns the work: dropping this future must not drop the exchange.
        let task = tokio::spawn(Arc::clone(&inner).answered(request, line));
        match task.await {
            Ok(delivery) => delivery,
            Err(_) => inner.refusal(Code::Internal, Some(operation)),
        }
    }

    /// The stored answer of an invocation. Another's invocation is as unknown as none.
    #[must_use]
    pub fn result(&self, id: &RequestId, caller: &Caller) -> Delivery {
        match self.inner.state(id) {
            Ok(Some(state)) if state.accepted.principal == caller.principal => {
                self.inner.answer(&state, true)
            }
            Ok(Some(_) | None) => self.inner.refusal(Code::NoSuchInvocation, None),
            Err(_) => self.inner.refusal(Code::Internal, None),
        }
    }

    /// The protected record, for operators.
    ///
    /// # Errors
    /// When the record can't be read.
    pub fn diagnostic(&self, id: &RequestId) -> Result<Option<Diagnostic>, ReadError> {
        let Some(state) = self.inner.state(id)? else { return Ok(None) };
        let protected = self.inner.journal.body(id, BodyKind::Protected)?;
        let protected: Option<Protected> = protected.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let continued_by = self.continued_by(id)?;
        Ok(Some(Diagnostic::of(state, protected, self.inner.now()).continued_by(continued_by)))
    }

    /// The events of an invocation in order, for operators.
    ///
    /// # Errors
    /// When the record can't be read.
    pub fn timeline(&self, id: &RequestId) -> Result<Vec<Recorded>, JournalError> {
        self.inner.journal.history(id)
    }

    /// The journal.
    #[must_use]
    pub fn journal(&self) -> &Journal {
        &self.inner.journal
    }

    /// Now, and never before anything that is on record: the one clock of this host.
    #[must_use]
    pub fn now(&self) -> UnixMillis {
        self.inner.now()
    }

    /// Whether nothing may begin: the vault is locked, or an operator's mark is set.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        self.inner.is_locked()
    }

    /// The connections, in no order.
    pub fn connections(&self) -> impl Iterator<Item = &Arc<Connection>> {
        self.inner.connections.values()
    }

    /// The answer where nothing is taken on.
    #[must_use]
    pub fn refuse(&self, code: Code, operation: Option<OperationName>) -> Delivery {
        self.inner.refusal(code, operation)
    }

    /// What this process counted so far.
    #[must_use]
    pub fn figures(&self) -> &Figures {
        &self.inner.figures
    }

    /// Connections over HTTP since the start.
    #[must_use]
    pub fn http_connections(&self) -> ConnectionFigures {
        self.inner.egress.figures()
    }

    /// Connections over SSH since the start.
    #[must_use]
    pub fn ssh_connections(&self) -> ConnectionFigures {
        self.inner.ssh_egress.figures()
    }

    /// How many invocations are under way.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.inner.count_under_way()
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }
}

/// A record can't be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The journal says so.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// It holds what can't have happened.
    #[error("the record can't have happened: {0}")]
    History(#[from] IllegalEvent),
}

impl Inner {
    pub(crate) fn of(parts: Parts) -> Arc<Self> {
        let Parts { journal, vault, egress, ssh_egress, connections, clock, entropy, probe } = parts;
        Arc::new(Self {
            journal,
            vault,
            egress,
            ssh_egress,
            connections,
            clock,
            entropy,
            probe,
            prepared: Prepared::default(),
            under_way: Mutex::new(HashMap::new()),
            asking: Mutex::new(HashSet::new()),
            asked: Notify::new(),
            interest: Interest::default(),
            failures: failures::UnderWay::default(),
            agenda: Agenda::default(),
            watchers: Watchers::default(),
            waiting: Mutex::default(),
            revoked: Revoked::default(),
            figures: Figures::default(),
            notes: Notes::default(),
            questions: watch::Sender::new(0),
        })
    }

    /// Now, and never before anything that is recorded.
    pub(crate) fn now(&self) -> UnixMillis {
        self.clock.now().max(self.journal.high_water())
    }

    pub(crate) fn state(&self, id: &RequestId) -> Result<Option<State>, ReadError> {
        let history = self.journal.history(id)?;
        Ok(State::replay(history.iter().map(|recorded| &recorded.event))?)
    }

    /// Whether the vault is locked, or the operator's mark is set. Then nothing may begin.
    pub(crate) fn is_locked(&self) -> bool {
        let locked = {
            let vault = self.vault.read().unwrap_or_else(PoisonError::into_inner);
            vault.state() == VaultState::Locked || vault.latched()
        };
        if locked {
            self.prepared.forget();
        }
        locked
    }

    /// The sole right to ask for an invocation's fate; none while another asks.
    pub(crate) fn claim(self: &Arc<Self>, id: RequestId) -> Option<Claim> {
        let mut asking = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        asking.insert(id).then(|| Claim { inner: Arc::clone(self), id })
    }

    /// The same, once nobody else has it.
    pub(crate) async fn claim_when_free(self: &Arc<Self>, id: RequestId) -> Claim {
        loop {
            let mut freed = std::pin::pin!(self.asked.notified());
            // From here on an end is heard of, whenever it comes.
            freed.as_mut().enable();
            if let Some(claim) = self.claim(id) {
                return claim;
            }
            freed.await;
        }
    }

    pub(crate) fn refusal(self: &Arc<Self>, code: Code, operation: Option<OperationName>) -> Delivery {
        Delivery { envelope: Envelope::refusal(code, operation), state: None, inner: Arc::clone(self) }
    }

    /// The answer that a durable record gives.
    pub(crate) fn answer(self: &Arc<Self>, state: &State, repeated: bool) -> Delivery {
        let id = state.accepted.request_id;
        let result = match &state.result {
            // What belongs to the answer and is past its time makes all of it unavailable.
            Some(ResultFacts::Output { content: Some(facts), .. }) if !self.has_content(&id, facts) => None,
            Some(ResultFacts::Output { digest, .. }) => match self.journal.body(&id, BodyKind::Result) {
                // Exactly the bytes that were settled, or none.
                Ok(Some(bytes)) if Digest::of_bytes(&bytes) == *digest => serde_json::from_slice(&bytes).ok(),
                Ok(Some(_) | None) | Err(_) => None,
            },
            Some(ResultFacts::Nothing | ResultFacts::Withheld | ResultFacts::OverLimit) | None => None,
        };
        let envelope = Envelope::of(state, self.stored(state, result), repeated, self.now());
        Delivery { envelope, state: Some(Box::new(state.clone())), inner: Arc::clone(self) }
    }

    /// Whether the content that is on record is still stored.
    fn has_content(&self, id: &RequestId, facts: &ContentFacts) -> bool {
        match self.journal.content(id) {
            Ok(Some(content)) => {
                content.facts().digest == facts.digest && content.facts().bytes == facts.bytes
            }
            Ok(None) => false,
            Err(error) => {
                tracing::error!(%id, %error, "a stored content can't be read");
                false
            }
        }
    }

    /// The answer of a run that saw everything itself.
    pub(crate) fn delivery(self: &Arc<Self>, finished: Finished) -> Delivery {
        let Finished { state, result, children, adopted: _ } = finished;
        let stored = Stored { result: result.map(RemoteData::checked), children };
        Delivery {
            envelope: Envelope::of(&state, stored, false, self.now()),
            state: Some(Box::new(state)),
            inner: Arc::clone(self),
        }
    }

    /// Carries out a call, and counts its answer.
    async fn answered(self: Arc<Self>, request: CallRequest, line: Option<Line>) -> Delivery {
        let since = Instant::now();
        let delivery = Arc::clone(&self).carry_out_on(request, None, None, line).await;
        let took = since.elapsed();
        self.figures.answered(&delivery.envelope, took);
        self.note_answer(&delivery, took);
        delivery
    }

    /// Carries out a call. `link`: it sends children of a batch once more, and is found again by this. `follows`:
    /// it looks at the job that this one submitted.
    pub(crate) async fn carry_out(
        self: Arc<Self>,
        request: CallRequest,
        link: Option<(Continues, Digest)>,
        follows: Option<RequestId>,
    ) -> Delivery {
        self.carry_out_on(request, link, follows, None).await
    }

    async fn carry_out_on(
        self: Arc<Self>,
        request: CallRequest,
        link: Option<(Continues, Digest)>,
        follows: Option<RequestId>,
        line: Option<Line>,
    ) -> Delivery {
        let (continues, link) = link.map(|(continues, link)| (Box::new(continues), link)).unzip();
        // The first gate, before anything is said about what exists.
        if self.is_locked() {
            return self.refusal(Code::VaultLocked, Some(request.operation));
        }
        let connection = self.connections.get(&request.operation.connection).cloned();
        let value = serde_json::from_slice::<serde_json::Value>(&request.input).ok();
        let canonical = value.as_ref().map_or_else(String::new, canonical);
        let declared = connection.as_ref().and_then(|c| c.manifest.operation(&request.operation.operation));
        let contract = connection.as_ref().zip(declared).map(|(c, operation)| c.contract(operation));
        // What sends children again keeps the whole call away by itself.
        let may_be_divided = link.is_none() && contract.as_ref().is_some_and(|terms| terms.batch.is_some());
        let contract_known = contract.is_some();
        let keys =
            contract.filter(|contract| contract.effect == Effect::Write && value.is_some()).map(|contract| {
                let spans = contract.repeat == Repeat::None;
                IntentKeys::of(
                    &request.caller,
                    spans,
                    &request.operation,
                    &canonical,
                    request.call_key.as_deref(),
                )
            });
        let (publish, watcher) = watch::channel(None);
        let under_way = UnderWay { inner: &self, keys: keys.as_ref(), own: watcher.clone() };
        let mut call_key_reused = false;
        if let Some(keys) = &keys {
            match self.meet(keys, &canonical, &watcher, may_be_divided).await {
                Meeting::Other(delivery) => return *delivery,
                Meeting::KeyReused => {
                    // It carries out nothing, so nobody may meet it.
                    under_way.leave();
                    call_key_reused = true;
                }
                Meeting::First => {}
            }
        }
        // A look at a job has a budget of its own, and its answer must be that job's; so must that to children
        // sent again be theirs.
        let by_itself = contract_known && follows.is_none() && link.is_none();
        let bound = connection.as_ref().filter(|_| by_itself);
        let account = bound.map(|c| {
            let who = (request.caller.principal.as_str(), request.caller.session.as_str());
            Account::of(&self.failures, who, &request.operation, c.failures)
        });
        let spent = account.as_ref().filter(|_| !call_key_reused);
        if let Some(stopped) = spent.and_then(|account| self.too_often(account, &request)) {
            return stopped;
        }
        let reads = declared.is_some_and(|operation| operation.contract.effect == Effect::Read);
        if reads && let Some(state) = self.same_question(&request, &Digest::of_bytes(canonical.as_bytes())) {
            return self.answer(&state, true);
        }
        if self.asks_too_much(&request.caller.session) {
            tracing::warn!("a session has as many questions open as it may; nothing more is taken on for it");
            return self.refusal(Code::ApprovalPending, Some(request.operation));
        }
        if self.journal.room() == Room::Short {
            // What is under way keeps the space that is left, for its settlement.
            tracing::error!("the disk is nearly full, so that nothing new is taken on; free some space");
            return self.refusal(Code::Internal, Some(request.operation));
        }
        let Ok(random) = self.entropy.bytes() else {
            return self.refusal(Code::Internal, Some(request.operation));
        };
        let accepted = Accepted {
            request_id: RequestId::from_random(random),
            operation: request.operation.clone(),
            principal: request.caller.principal.clone(),
            session: request.caller.session.clone(),
            input: Digest::of_bytes(if value.is_some() { canonical.as_bytes() } else { &request.input }),
            call_key: request.call_key.as_deref().map(|key| Digest::of_bytes(key.as_bytes())),
            at: self.now(),
            continues,
            follows,
        };
        let begun = Run::begin(Arc::clone(&self), connection, accepted, value, canonical, publish);
        let finished = match begun {
            Ok(mut run) => {
                run.account = account;
                run.scratch.authority = request.caller.authority;
                if let Some(line) = line {
                    let id = run.state.accepted.request_id;
                    tokio::spawn(line.attend(Arc::clone(&self), id, watcher.clone()));
                }
                // Whoever sent children again holds their batch until this is over: it does not rest meanwhile.
                run.scratch.rests = link.is_none();
                if let Some(keys) = keys.as_ref().filter(|_| !call_key_reused) {
                    run.remember(keys.all().into_iter().chain(link).collect());
                }
                // A task of its own: a panic in it must not take with it what is proved.
                let work = async move {
                    if call_key_reused { run.refuse_reused_key().await } else { run.drive().await }
                };
                tokio::spawn(work).await.map_err(|_| "it panicked".to_owned())
            }
            Err(error) => Ok(Err(error)),
        };
        let delivery = match finished.and_then(|finished| finished.map_err(|error| error.to_string())) {
            Ok(finished) => self.delivered(finished),
            Err(error) => {
                tracing::error!(operation = %request.operation, %error, "an invocation could not go on");
                let durable = watcher.borrow().clone();
                self.failed(durable, request.operation.clone()).await
            }
        };
        // Only now may another call of this intent look at the journal instead of at this one.
        drop(under_way);
        delivery
    }

    /// The answer when this host failed: by the last boundary that is proved, never by where it
    /// failed.
    pub(crate) async fn failed(
        self: &Arc<Self>,
        durable: Option<State>,
        operation: OperationName,
    ) -> Delivery {
        let Some(mut state) = durable else { return self.refusal(Code::Internal, Some(operation)) };
        let id = state.accepted.request_id;
        let now = self.now();
        let mut events = Vec::new();
        let decided = add(&mut state, &mut events, Input::Recovered, now)
            .and_then(|()| self.add_next_move(&mut state, &mut events, now));
        if decided.is_ok() && !events.is_empty() {
            if self.record(&state, events, now).await.is_err() {
                tracing::error!(%id, "the end of a failed invocation could not be recorded");
            }
        } else if announced(&state).is_some() {
            // What it announced stands, and is tried again; not at once, since it has just failed.
            self.put_off(id);
        }
        Delivery {
            envelope: Envelope::internal(&state, now),
            state: Some(Box::new(state)),
            inner: Arc::clone(self),
        }
    }
}

/// The sole right to ask for an invocation's fate.
pub(crate) struct Claim {
    inner: Arc<Inner>,
    id: RequestId,
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.inner.asking.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
        self.inner.asked.notify_waiters();
    }
}

impl Inner {
    /// Appends events of one invocation and waits until they are on disk.
    pub(crate) async fn append(&self, batch: Batch) -> Result<(), JournalError> {
        let kinds: Vec<_> = batch.events.iter().map(Event::kind).collect();
        kinds.iter().for_each(|kind| self.probe.at(Point::BeforeCommit(*kind)));
        let id = batch.invocation;
        let committed = self.journal.append(batch).await?;
        self.note_record(id, committed);
        if let Some(id) = &id {
            self.watchers.tell(id);
        }
        for kind in kinds {
            self.figures.recorded(kind);
            self.probe.at(Point::AfterCommit(kind));
            tracing::debug!(invocation = ?id, event = %kind, "on record");
        }
        Ok(())
    }
}
