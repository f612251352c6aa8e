//! Asking the remote what became of an effect. Only queries leave; what settles carries the source
//! `remote_query`, and the first evidence stays as it was.

use crate::ask::NotRecognised;
use crate::broker::{Broker, Inner, ReadError};
use crate::connection::Connection;
use crate::delivery::Delivery;
use crate::driver::ended_at;
use crate::judge::found;
use crate::prepare::Connected;
use crate::run::{Run, RunError};
use crate::validate::{MOST_STEPS, rules};
use proofport_core::batch;
use proofport_core::call::{Call, DispatchFacts};
use proofport_core::ceiling::Ceiling;
use proofport_core::classify::{Judgement, Reading, code_of};
use proofport_core::contract::{Outcome, Reason, Role, Source};
use proofport_core::decide::{Input, Judged};
use proofport_core::event::{QueryFacts, QueryPurpose, ResultFacts};
use proofport_core::evidence::{Cause, HttpEvidence};
use proofport_core::exchange::{Exchange, Request};
use proofport_core::id::RequestId;
use proofport_core::state::State;
use proofport_core::verdict::{Step, Verdict};
use proofport_journal::{BodyKind, JournalError};
use std::sync::Arc;

/// A reconciliation can't be carried out. For operators.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    /// There is no such invocation.
    #[error("there is no such invocation")]
    NoSuchInvocation,
    /// The vault is locked.
    #[error("the vault is locked; unlock it first")]
    VaultLocked,
    /// It is being carried out, or somebody else is asking.
    #[error("it is being carried out or reconciled right now; look again in a moment")]
    UnderWay,
    /// Its outcome is known, and not by a person's word.
    #[error("there is nothing to reconcile: the outcome is {0}")]
    NotUnknown(Outcome),
    /// The operation declares no reconciliation.
    #[error(
        "the operation declares no way to ask for its fate; somebody has to look at the remote and attest it"
    )]
    NotDeclared,
    /// The connection is gone or runs another module than the invocation was bound to.
    #[error(
        "the connection is gone or its connector, config, origins or SSH hosts have changed since; restore them to reconcile"
    )]
    BindingChanged,
    /// What the invocation sent is not in the journal.
    #[error("the record of what was sent is missing")]
    RecordMissing,
    /// A query found no answer, or the connector failed; nothing was settled.
    #[error("nothing was learnt: {0}")]
    NothingLearnt(String),
    /// The record can't be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The journal can't be written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The host is stopping.
    #[error("the host is stopping and takes on nothing new")]
    Stopping,
    /// The host decided what can't happen.
    #[error("the host failed: {0}")]
    Internal(String),
}

impl From<RunError> for ReconcileError {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Journal(error) => Self::Journal(error),
            RunError::Read(error) => Self::Read(error),
            RunError::Illegal(error) => Self::Internal(error.to_string()),
            RunError::Stopping => Self::Stopping,
        }
    }
}

impl Broker {
    /// Asks the remote what became of an unknown effect, through the connector's declared queries,
    /// and answers with the record as it is afterwards: settled, or still unknown. What a person
    /// settled may be asked about too; what is found is then attached to the record, whatever it says,
    /// and settles nothing.
    ///
    /// # Errors
    /// When it can't be asked. Nothing changed then, except that queries may be on record.
    pub async fn reconcile(&self, id: &RequestId) -> Result<Delivery, ReconcileError> {
        // The broker owns the work: whoever asked may go.
        let task = tokio::spawn(Arc::clone(self.inner()).reconcile(*id));
        task.await.unwrap_or_else(|_| Err(ReconcileError::Internal("it panicked".to_owned())))
    }
}

impl Inner {
    async fn reconcile(self: Arc<Self>, id: RequestId) -> Result<Delivery, ReconcileError> {
        if self.is_locked() {
            return Err(ReconcileError::VaultLocked);
        }
        let _claim = self.claim(id).ok_or(ReconcileError::UnderWay)?;
        self.reconcile_claimed(&id).await
    }

    /// The same, for whoever has the sole right to.
    pub(crate) async fn reconcile_claimed(
        self: &Arc<Self>,
        id: &RequestId,
    ) -> Result<Delivery, ReconcileError> {
        let inner = self;
        let history = inner.journal.history(id)?;
        let state = State::replay(history.iter().map(|recorded| &recorded.event)).map_err(ReadError::from)?;
        let Some(state) = state else { return Err(ReconcileError::NoSuchInvocation) };
        if state.active().is_some() {
            return Err(ReconcileError::UnderWay);
        }
        let open = state.outcome() == Outcome::Unknown || state.has_unknown_child();
        // A person's word is no reason not to ask; what is found then stands beside it.
        let may_be_asked = (open && state.dispatched()) || state.is_attested() || state.has_attested_child();
        if !may_be_asked {
            return Err(ReconcileError::NotUnknown(state.outcome()));
        }
        let binding = state.binding.as_ref().ok_or(ReconcileError::RecordMissing)?;
        let settles_after =
            binding.contract.reconcile.ok_or(ReconcileError::NotDeclared)?.absence_settles_after_seconds;
        let connection = inner.bound_connection(&state).ok_or(ReconcileError::BindingChanged)?;
        if inner.is_revoked(&connection) {
            return Err(ReconcileError::BindingChanged);
        }
        let input = inner.journal.body(id, BodyKind::Input)?.ok_or(ReconcileError::RecordMissing)?;
        let request = inner.journal.body(id, BodyKind::Request)?.ok_or(ReconcileError::RecordMissing)?;
        let request: Request = serde_json::from_slice(&request).map_err(|_| ReconcileError::RecordMissing)?;
        let canonical = String::from_utf8(input.to_vec()).map_err(|_| ReconcileError::RecordMissing)?;
        // Absence is proof only so long after the last moment at which the effect could have left.
        let last = ended_at(&history).unwrap_or(inner.now());
        // By the clock alone: one that was ahead once must not have it proved early.
        let waited = inner.clock.now().seconds_since(last);
        let call = call_of(&state, &connection, canonical).ok_or(ReconcileError::RecordMissing)?;
        let facts = facts_of(&state, request, inner.now());
        let mut run = Run::ask(Arc::clone(inner), Arc::clone(&connection), state)?;
        run.guard_against_dispatched(&connection).await;
        let verdict = run.ask_for_fate(&connection, &call, &facts).await?;
        run.check_ground(&verdict)?;
        let proved = |outcome, reason| found(outcome, reason, settles_after, waited);
        if let Some(judged) = run.reconciled(&connection, verdict, &proved) {
            run.learn(Input::Reconciled(Box::new(judged)))?;
        }
        run.persist().await?;
        Ok(inner.answer(&run.state, false))
    }
}

/// The call as the connector knows it; none where the record lacks what it is made of.
pub(crate) fn call_of(state: &State, connection: &Connection, canonical: String) -> Option<Call> {
    let binding = state.binding.as_ref()?;
    Some(Call {
        operation: state.accepted.operation.operation.clone(),
        input: canonical,
        config: connection.config.clone(),
        reference: binding.reference.clone(),
        idempotency_key: state
            .attempts
            .iter()
            .find_map(|a| a.dispatch.key.as_ref().map(|key| key.key.clone())),
        accepted_at: state.accepted.known_since(),
    })
}

fn facts_of(state: &State, request: Request, now: proofport_core::time::UnixMillis) -> DispatchFacts {
    let at =
        |attempt: Option<&proofport_core::state::Attempt>| attempt.map(|a| a.dispatch.at).unwrap_or_default();
    DispatchFacts {
        first_dispatched_at: at(state.attempts.first()),
        last_dispatched_at: at(state.attempts.last()),
        now,
        attempts: u32::try_from(state.attempts.len()).unwrap_or(u32::MAX),
        request,
    }
}

impl Run {
    /// Carries out the connector's queries until it says what it found.
    async fn ask_for_fate(
        &mut self,
        connection: &Arc<Connection>,
        call: &Call,
        facts: &DispatchFacts,
    ) -> Result<Verdict, ReconcileError> {
        let nothing = |why: String| ReconcileError::NothingLearnt(why);
        loop {
            if self.scratch.steps >= MOST_STEPS {
                return Err(nothing("the connector asked for more queries than it may".to_owned()));
            }
            let report = connection
                .connector
                .reconcile(call, facts, &self.scratch.history, &rules(connection, call))
                .await;
            match self.spent(report).map_err(|fault| nothing(fault.to_string()))? {
                Step::Settle(verdict) => return Ok(verdict),
                Step::Refuse(_) => return Err(nothing("the connector refused".to_owned())),
                Step::Send(send) => {
                    if self.inner.is_revoked(connection) {
                        return Err(ReconcileError::BindingChanged);
                    }
                    self.pin_newest_credential(connection, &send.request);
                    let connected = self.connect(connection, &send, &[]).await;
                    let Connected { ready, peer, request, inputs } = match connected {
                        Ok(connected) => connected,
                        Err(inputs) => {
                            // The attempts are kept; the stop is not this invocation's.
                            for input in
                                inputs.into_iter().filter(|input| matches!(input, Input::Connected(_)))
                            {
                                self.learn(input)?;
                            }
                            self.persist().await?;
                            return Err(nothing("no connection could be used for the query".to_owned()));
                        }
                    };
                    for input in inputs {
                        self.learn(input)?;
                    }
                    let exchange = self.exchange_query(ready).await;
                    let query = QueryFacts {
                        purpose: QueryPurpose::Reconcile,
                        request: send.request.fingerprint(),
                        peer,
                        evidence: exchange.evidence(),
                    };
                    self.learn(Input::Queried(Box::new(query)))?;
                    let Some(response) = exchange.response() else {
                        self.persist().await?;
                        return Err(nothing("a query got no complete answer that may be read".to_owned()));
                    };
                    self.scratch.history.push(Exchange { role: Role::Query, request, response });
                }
            }
        }
    }

    /// What was injected at dispatch may come back in an answer to a query.
    async fn guard_against_dispatched(&mut self, connection: &Connection) {
        match self.dispatched_guard(connection).await {
            Ok(Some(guard)) => self.guard_against(guard),
            Ok(None) => {}
            // It can't be recognised any more, so nothing that the queries bring is handed out.
            Err(NotRecognised) => self.scratch.blind = true,
        }
    }

    /// A claim needs ground: a complete answer, of the verified origin, to a query of this
    /// reconciliation, that is no refusal to answer.
    fn check_ground(&self, verdict: &Verdict) -> Result<(), ReconcileError> {
        let nothing = |why: &str| Err(ReconcileError::NothingLearnt(why.to_owned()));
        let mut children = verdict.children.iter();
        if verdict.outcome == Outcome::Unknown && children.all(|child| child.outcome == Outcome::Unknown) {
            return Ok(());
        }
        let (Some(query), Some(binding)) = (self.state.queries.last(), &self.state.binding) else {
            return nothing("the connector claimed something without asking");
        };
        if self.scratch.history.is_empty() {
            return nothing("the connector claimed something without asking");
        }
        let refused = matches!(query.evidence.http_status(), Some(401 | 403 | 407 | 408 | 421 | 425 | 429));
        if refused || Ceiling::of(&query.evidence, &binding.contract) != Ceiling::Any {
            return nothing("the remote did not answer the question");
        }
        if !self.state.is_same_machine(query) {
            return nothing("another server answered than the command was sent to");
        }
        Ok(())
    }

    /// What the queries proved, of the whole and of each child; none: nothing.
    fn reconciled(
        &mut self,
        connection: &Arc<Connection>,
        mut verdict: Verdict,
        proved: &dyn Fn(Outcome, Reason) -> Outcome,
    ) -> Option<Judged> {
        let mut children = std::mem::take(&mut verdict.children);
        for child in &mut children {
            child.outcome = proved(child.outcome, child.reason);
            child.success &= child.outcome == Outcome::Committed;
        }
        let outcome = proved(verdict.outcome, verdict.reason);
        let said = self.held_children(connection, children);
        if outcome == Outcome::Unknown && said.is_empty() {
            return None;
        }
        let newest = self.state.queries.last().map(|query| query.evidence.clone());
        let evidence = newest.unwrap_or_else(|| HttpEvidence::nothing_seen(Cause::LocalIo).into());
        let success = verdict.success && outcome == Outcome::Committed;
        let (code, output) = match self.held_to_schema(connection, Reading::Verdict(verdict)) {
            _ if outcome == Outcome::Unknown => (code_of(outcome, false, Reason::Unreadable), None),
            Reading::Verdict(verdict) => (code_of(outcome, verdict.success, verdict.reason), verdict.output),
            // It was found, and what was found can't be shown.
            Reading::Faulted(_) | Reading::None | Reading::Withheld => {
                (code_of(outcome, false, Reason::Unreadable), None)
            }
        };
        let whole = Judgement {
            outcome,
            code,
            source: Source::RemoteQuery,
            repairable: false,
            retry_after_seconds: None,
            above_ceiling: false,
            connector_fault: None,
            output,
            job: None,
            children: Vec::new(),
            unmatched_children: 0,
        };
        let mut judgement = batch::found(&self.state, whole, (outcome, success), said);
        self.keep_children(&judgement);
        // What settled the whole stays, and so does the result that came with it.
        let result = match judgement.output.take().filter(|_| self.state.settled.is_none()) {
            Some(output) => self.deliverable(connection, Some(output)),
            None => ResultFacts::Nothing,
        };
        Some(Judged { judgement, evidence, result })
    }
}
