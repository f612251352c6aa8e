//! Sending the same bytes again: by the host within its budget, or because an operator says so. What permits
//! it is the core's to say ([`proofport_core::retry`]).

use crate::ask::Authorized;
use crate::broker::{Broker, Inner, ReadError};
use crate::connection::Connection;
use crate::delivery::Delivery;
use crate::intent::Caller;
use crate::refuse;
use crate::run::{Finished, Run, RunError};
use proofport_core::code::Code;
use proofport_core::contract::{KeyPlace, Outcome, Repeat, Role};
use proofport_core::decide::Input;
use proofport_core::diagnostic::Protected;
use proofport_core::digest::Digest;
use proofport_core::event::{QueryPurpose, StopDetail};
use proofport_core::evidence::{Cause, PeerIdentity};
use proofport_core::exchange::{Request, Send};
use proofport_core::id::RequestId;
use proofport_core::inquiry::after_an_end;
use proofport_core::job::after_submitting;
use proofport_core::retry::{self, Leave, asked_again, permitted};
use proofport_core::state::{Standing, State};
use proofport_core::time::UnixMillis;
use proofport_core::verdict::Step;
use proofport_journal::{BodyKind, JournalError};
use std::sync::Arc;

/// An effect can't be sent again. For operators.
#[derive(Debug, thiserror::Error)]
pub enum RetryError {
    /// There is no such invocation.
    #[error("there is no such invocation")]
    NoSuchInvocation,
    /// The vault is locked.
    #[error("the vault is locked; unlock it first")]
    VaultLocked,
    /// It is being carried out, repeated or reconciled.
    #[error("it is being carried out, repeated or reconciled right now; look again in a moment")]
    UnderWay,
    /// The record and the contract do not permit it.
    #[error("it may not be sent again: {}", words(*.0))]
    NotPermitted(Leave),
    /// It asked the remote before its effect, and what it learnt then is not kept.
    #[error("it asked the remote before its effect, and what it learnt is not kept; reconcile it")]
    Prepared,
    /// The connection is gone or is not what the invocation was bound to.
    #[error(
        "the connection is gone or its connector, config, origins or SSH hosts have changed since; restore them first"
    )]
    BindingChanged,
    /// What the invocation sent is not in the journal.
    #[error("the record of what was sent is missing")]
    RecordMissing,
    /// The record can't be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The journal can't be written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The host is stopping.
    #[error("the host is stopping and takes on nothing new")]
    Stopping,
    /// The host failed.
    #[error("the host failed: {0}")]
    Internal(String),
}

const fn words(leave: Leave) -> &'static str {
    match leave {
        Leave::NotUnknown => "its outcome is not unknown",
        Leave::UnderWay => "it is under way",
        Leave::Cancelled => "its caller cancelled",
        Leave::NotRepeatable => {
            "its contract does not say that a second arrival is harmless; reconcile it, or attest"
        }
        Leave::Redirected => "it was sent on to another origin; reconcile it, or attest",
        Leave::KeyExpires => "the remote may have forgotten its idempotency key; reconcile it, or attest",
        Leave::OtherBytes => "what would be sent is not what was sent first; reconcile it, or attest",
        Leave::NoBudget | Leave::AttemptsSpent | Leave::TimeSpent => "its budget is spent",
    }
}

/// Who has an effect sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// An operator, now.
    Operator,
    /// The caller whose invocation it is, now.
    Caller,
    /// The host, as it announced.
    Host {
        /// A time that was waited for, and so has come, whatever the clock says.
        due: UnixMillis,
    },
}

impl From<RunError> for RetryError {
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
    /// Sends an unknown effect once more, with its own bytes, key and credential, where the contract permits
    /// it now. An operator's word needs no budget; the host goes on by itself as far as one reaches.
    ///
    /// # Errors
    /// When nothing may be sent. Nothing was, then.
    pub async fn retry(&self, id: &RequestId) -> Result<Delivery, RetryError> {
        // The broker owns the work: whoever asked may go.
        let task = tokio::spawn(Arc::clone(self.inner()).send_again(*id, By::Operator));
        task.await.unwrap_or_else(|_| Err(RetryError::Internal("it panicked".to_owned())))
    }
}

impl Broker {
    /// The same by the word of the caller whose invocation it is, which needs a budget: the connection's, or
    /// else three attempts in a day. Another's invocation is as unknown as none.
    ///
    /// # Errors
    /// When nothing may be sent. Nothing was, then.
    pub async fn retry_by(&self, id: &RequestId, caller: &Caller) -> Result<Delivery, RetryError> {
        match self.inner().state(id)? {
            Some(state) if state.accepted.principal == caller.principal => {}
            Some(_) | None => return Err(RetryError::NoSuchInvocation),
        }
        let task = tokio::spawn(Arc::clone(self.inner()).send_again(*id, By::Caller));
        task.await.unwrap_or_else(|_| Err(RetryError::Internal("it panicked".to_owned())))
    }
}

impl Inner {
    /// Sends an effect again: by an operator's word, or as the host announced it.
    pub(crate) async fn send_again(self: Arc<Self>, id: RequestId, by: By) -> Result<Delivery, RetryError> {
        let asked = match by {
            By::Operator | By::Caller => true,
            By::Host { .. } => false,
        };
        if self.is_locked() {
            return Err(RetryError::VaultLocked);
        }
        let claim = self.claim(id).ok_or(RetryError::UnderWay)?;
        if self.is_entered(&id) {
            return Err(RetryError::UnderWay);
        }
        let state = self.state(&id)?.ok_or(RetryError::NoSuchInvocation)?;
        let now = self.now();
        match by {
            By::Operator => permitted(&state, now).map_err(RetryError::NotPermitted)?,
            By::Caller => asked_again(&state, now).map_err(RetryError::NotPermitted)?,
            By::Host { .. } => {}
        }
        if state.queries.iter().any(|query| query.purpose == QueryPurpose::Prepare) {
            return Err(RetryError::Prepared);
        }
        let connection = self.bound_connection(&state).ok_or(RetryError::BindingChanged)?;
        let binding = state.binding.as_ref().ok_or(RetryError::RecordMissing)?;
        if binding.ways != Some(connection.ways()) || binding.redirect_origins != connection.redirect_origins
        {
            return Err(RetryError::BindingChanged);
        }
        // The admin may have taken the contract away since.
        let granted = connection.manifest.operation(&state.accepted.operation.operation);
        if granted.map(|operation| connection.contract(operation).repeat)
            != Some(binding.contract.repeat.clone())
        {
            return Err(RetryError::NotPermitted(Leave::NotRepeatable));
        }
        let body = |kind| -> Result<Vec<u8>, RetryError> {
            Ok(self.journal.body(&id, kind)?.ok_or(RetryError::RecordMissing)?.to_vec())
        };
        let canonical = String::from_utf8(body(BodyKind::Input)?).map_err(|_| RetryError::RecordMissing)?;
        let request = serde_json::from_slice(&body(BodyKind::Request)?);
        let request: Request = request.map_err(|_| RetryError::RecordMissing)?;
        let protected = self.journal.body(&id, BodyKind::Protected)?;
        let protected: Option<Protected> = protected.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let protected = protected.unwrap_or_default();
        let send = without_key(request, &state, protected.summary.clone());
        let call =
            crate::reconcile::call_of(&state, &connection, canonical).ok_or(RetryError::RecordMissing)?;
        let operation = state.accepted.operation.clone();
        let mut run = Run::resume(Arc::clone(&self), Arc::clone(&connection), state)?;
        run.recall(call, send);
        // What was learnt of the attempts before stays.
        run.scratch.protected = protected;
        run.scratch.claim = Some(claim);
        run.scratch.by_operator = by == By::Operator;
        run.scratch.by_caller = by == By::Caller;
        run.scratch.rests = asked;
        if let By::Host { due } = by {
            run.scratch.waited_for = due;
        }
        if asked {
            run.learn(Input::Repeat(now))?;
        }
        let newest = run.newest();
        // A task of its own: a panic in it must not take with it what is proved.
        let finished = match tokio::spawn(run.drive()).await {
            Ok(finished) => finished.map_err(|error| error.to_string()),
            Err(_) => Err("it panicked".to_owned()),
        };
        match finished {
            Ok(finished) => Ok(self.delivered(finished)),
            Err(error) => {
                tracing::error!(%operation, %error, "a repeat could not go on");
                let durable = newest.borrow().clone();
                Ok(self.failed(durable, operation).await)
            }
        }
    }

    /// The connection, if it still is what this invocation was bound to.
    pub(crate) fn bound_connection(&self, state: &State) -> Option<Arc<Connection>> {
        let binding = state.binding.as_ref()?;
        let connection = self.connections.get(&state.accepted.operation.connection).cloned();
        connection.filter(|connection| {
            connection.connector.digest() == binding.connector
                && connection.config_digest() == binding.config
                && connection.origins == binding.origins
                && connection.ssh_hosts() == binding.ssh_hosts
        })
    }
}

/// What the connector asked for, made of what was sent: the key's header is the host's, which adds it again.
fn without_key(mut request: Request, state: &State, summary: Option<String>) -> Send {
    let repeat = state.binding.as_ref().map(|binding| &binding.contract.repeat);
    if let (Request::Http(http), Some(Repeat::Keyed(keyed))) = (&mut request, repeat)
        && let KeyPlace::Header(name) = &keyed.place
    {
        http.headers.retain(|header| !header.name.eq_ignore_ascii_case(name));
    }
    Send { role: Role::Effect, request, summary: summary.unwrap_or_default() }
}

impl Run {
    /// What an invocation needs to go on that its record does not hold as values.
    fn recall(&mut self, call: proofport_core::call::Call, send: Send) {
        let binding = self.state.binding.as_ref();
        self.scratch.contract = binding.map(|binding| binding.contract.clone());
        self.scratch.key.clone_from(&call.idempotency_key);
        self.scratch.canonical.clone_from(&call.input);
        self.scratch.call = Some(call);
        // Effects stay pinned to their credential's version.
        self.scratch.credential = self.state.credential.as_ref().and_then(|used| {
            let (secret, version) = (used.secret.clone()?, used.version?);
            let slot = send.request.credential().cloned()?;
            Some(Authorized { slot, secret, version })
        });
        self.scratch.effect = Some(send);
    }

    /// Whether the next attempt is the host's own, within its budget.
    const fn by_host(&self) -> bool {
        !self.scratch.by_operator && !self.scratch.by_caller
    }

    /// What the host does by itself about an attempt that ended without a settlement, or about a job that it
    /// submitted, put on record with its end.
    pub(crate) fn schedule(&mut self) -> Result<(), RunError> {
        if self.state.standing == Standing::Stored {
            let next = after_submitting(&self.state, self.inner.now(), self.inner.roll());
            return next.map_or(Ok(()), |input| self.learn(input));
        }
        if self.state.standing != Standing::Ended
            || self.state.retry_at.is_some()
            || self.state.ask_at.is_some()
        {
            return Ok(());
        }
        let now = self.inner.now();
        match after_an_end(&self.state, now, now, self.inner.roll()) {
            Some(input) => {
                (self.scratch.by_operator, self.scratch.by_caller) = (false, false);
                self.learn(input)
            }
            None => Ok(()),
        }
    }

    /// Waits for the next attempt's time, with everything on disk and nothing held. Afterwards the record is
    /// looked at anew: somebody may have settled it meanwhile. False: the host is stopping, and the attempt
    /// stays announced.
    pub(crate) async fn rest(&mut self, at: UnixMillis) -> Result<bool, RunError> {
        self.persist().await?;
        let (mut gone, mut left) = (false, false);
        let wait = at.0.saturating_sub(self.inner.now().max(self.scratch.waited_for).0);
        if wait > 0 {
            self.scratch.claim = None;
            let (inner, mut cancelled) = (Arc::clone(&self.inner), self.cancelled());
            // From now by the clock, which may be behind what was recorded once.
            let at = UnixMillis(inner.clock.now().0.saturating_add(wait));
            tokio::select! {
                biased;
                () = cancelled.wait() => gone = true,
                () = inner.stopping() => left = true,
                () = inner.clock.until(at) => {}
            }
        }
        let id = self.state.accepted.request_id;
        if self.scratch.claim.is_none() {
            self.scratch.claim = Some(self.inner.claim_when_free(id).await);
        }
        if let Some(newest) = self.inner.state(&id)? {
            self.adopted |= newest.settled != self.state.settled;
            self.state = newest;
        }
        if gone {
            // Only now: losing interest in what is settled meanwhile is no event.
            self.learn(Input::Cancelled)?;
            self.schedule()?;
            self.persist().await?;
        }
        Ok(!left)
    }

    /// The effect as it was, to be sent again; or why it is not: what was announced may be too late by now.
    pub(crate) fn load_again(&mut self) -> Option<Input> {
        if retry::still(&self.state, self.inner.now(), self.by_host()).is_err() {
            return Some(too_late());
        }
        // The connector gets to see one answer to its effect: the last.
        self.scratch.history.retain(|exchange| exchange.role == Role::Query);
        self.scratch.exchange = None;
        self.scratch.step = self.scratch.effect.clone().map(Step::Send);
        None
    }

    /// The last look before a repeat: it may have become too late while the connection was made; what is stored
    /// may not be what was sent; and over SSH only the machine that had the command before may have it again.
    pub(crate) fn refuse_repeat(&self, peer: &PeerIdentity, request: &Digest) -> Option<Input> {
        let first = self.state.attempts.first()?;
        if self.state.outcome() != Outcome::Unknown {
            return None;
        }
        if retry::still(&self.state, self.inner.now(), self.by_host()).is_err() {
            return Some(too_late());
        }
        if let Err(code) = retry::is_same_effect(&self.state, request, self.scratch.key.as_ref()) {
            return Some(refuse::refused(code, StopDetail::None));
        }
        let exec = matches!(self.scratch.effect.as_ref().map(|send| &send.request), Some(Request::Ssh(_)));
        let refused =
            || refuse::refused(Code::PeerUnverified, StopDetail::Setup { cause: Cause::HostKeyUnknown });
        (exec && first.dispatch.peer != *peer).then(refused)
    }
}

/// An attempt that may not begin any more.
fn too_late() -> Input {
    refuse::refused(Code::Internal, StopDetail::Setup { cause: Cause::DeadlinePassed })
}

impl Inner {
    /// The answer of a run that is over.
    pub(crate) fn delivered(self: &Arc<Self>, finished: Finished) -> Delivery {
        if finished.adopted {
            // Somebody else settled it, with a result that this run never saw.
            return self.answer(&finished.state, false);
        }
        self.delivery(finished)
    }
}
