//! The broker: what callers and operators can ask of it.

use crate::cancel::Interest;
use crate::connection::Connection;
use crate::delivery::Delivery;
use crate::driver::Agenda;
use crate::failures;
use crate::figures::Figures;
use crate::host::{Clock, Entropy};
use crate::intent::Caller;
use crate::line::Line;
use crate::meeting::Going;
use crate::notes::Notes;
use crate::prepared::Prepared;
use crate::probe::{Point, Probe};
use crate::revoked::Revoked;
use crate::watch::Watchers;
use proofport_core::code::Code;
use proofport_core::diagnostic::{Diagnostic, Protected};
use proofport_core::digest::Digest;
use proofport_core::event::Event;
use proofport_core::id::{Name, OperationName, RequestId};
use proofport_core::state::{IllegalEvent, State};
use proofport_core::time::UnixMillis;
use proofport_egress::ssh::SshEgress;
use proofport_egress::{ConnectionFigures, HttpEgress};
use proofport_journal::{Batch, BodyKind, Journal, JournalError, Recorded};
use proofport_vault::{State as VaultState, Vault};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
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
