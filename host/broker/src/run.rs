//! One invocation, driven by the one loop.

use crate::batch::Outputs;
use crate::broker::{Claim, Inner, ReadError};
use crate::cancel::{Cancelled, Entered};
use crate::connection::Connection;
use crate::content::Storage;
use crate::exchange::{Exchanged, Ready};
use crate::failures::Account;
use crate::intent::Authority;
use crate::probe::Point;
use crate::refuse;
use proofport_core::call::Call;
use proofport_core::code::Code;
use proofport_core::contract::{Phase, Role};
use proofport_core::decide::{Input, propose};
use proofport_core::diagnostic::Protected;
use proofport_core::digest::Digest;
use proofport_core::due::{Effect, due};
use proofport_core::event::{Accepted, Event, EventKind, Stop, StopDetail};
use proofport_core::evidence::Cause;
use proofport_core::exchange::{Exchange, Request, Send};
use proofport_core::id::{IdempotencyKey, RequestId};
use proofport_core::inquiry::announced;
use proofport_core::manifest::Contract;
use proofport_core::origin::Origin;
use proofport_core::project::last_boundary;
use proofport_core::state::{IllegalEvent, State};
use proofport_core::time::UnixMillis;
use proofport_core::verdict::Step;
use proofport_egress::{Guard, Watch, WirePoint};
use proofport_journal::{Batch, Body, BodyKind, JournalError};
use serde_json::Value;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::{oneshot, watch};

/// An invocation on its way.
pub(crate) struct Run {
    pub(crate) inner: Arc<Inner>,
    pub(crate) state: State,
    /// Events that are applied and not yet on disk.
    pending: Vec<Event>,
    /// What goes to disk with them.
    pub(crate) bodies: Vec<Body>,
    intents: Vec<(Digest, RequestId)>,
    /// What its failure is counted against; none for what a person asks for.
    pub(crate) account: Option<Account>,
    publish: watch::Sender<Option<State>>,
    /// Whether somebody still waits for it.
    cancelled: Cancelled,
    _entered: Option<Entered>,
    /// Whether somebody else settled it while this run rested.
    pub(crate) adopted: bool,
    /// Whether this run's protected record is the invocation's: a reconciliation leaves the first one.
    protects: bool,
    pub(crate) scratch: Scratch,
}

/// What an invocation needs while it is under way, and what its record doesn't hold.
pub(crate) struct Scratch {
    /// By what right it was called.
    pub(crate) authority: Authority,
    /// The admin's binding; none: there is no such connection.
    pub(crate) connection: Option<Arc<Connection>>,
    /// The input; none: it was not JSON.
    pub(crate) input: Option<Value>,
    pub(crate) canonical: String,
    pub(crate) call: Option<Call>,
    pub(crate) contract: Option<Contract>,
    pub(crate) key: Option<IdempotencyKey>,
    pub(crate) credential: Option<crate::ask::Authorized>,
    /// The connector's newest step, not yet carried out.
    pub(crate) step: Option<Step>,
    pub(crate) steps: u32,
    pub(crate) history: Vec<Exchange>,
    /// The delay that the newest complete answer asked for.
    pub(crate) asked_delay: Option<u32>,
    /// What was seen in the step that is under way, for when it is cut short.
    pub(crate) seen: Vec<Input>,
    /// Whether a query has been handed to its transport.
    pub(crate) asked: Arc<AtomicBool>,
    /// The effect as the connector asked for it, should it be sent again.
    pub(crate) effect: Option<Send>,
    /// The sole right to ask for, or repeat, this invocation.
    pub(crate) claim: Option<Claim>,
    /// Whether it waits for the time of an attempt that is announced; else that is on the agenda.
    pub(crate) rests: bool,
    /// A time that was waited for, and so has come, whatever the clock says.
    pub(crate) waited_for: UnixMillis,
    /// Whether an operator asked for the next attempt.
    pub(crate) by_operator: bool,
    /// Whether its caller did.
    pub(crate) by_caller: bool,
    /// A verified connection with the effect loaded.
    pub(crate) loaded: Option<(Ready, Request)>,
    /// How long setting its connection up took.
    pub(crate) setup_took: Duration,
    /// Where the effect was redirected to, and how often.
    pub(crate) follows: Option<Origin>,
    pub(crate) followed: u32,
    /// Where the content of the newest answer was stored.
    pub(crate) storage: Option<Arc<Storage>>,
    /// The effect's exchange.
    pub(crate) exchange: Option<Exchanged>,
    /// What recognises every secret that was injected in this invocation.
    pub(crate) guards: Vec<Arc<Guard>>,
    /// Whether a secret was injected that can't be recognised any more: then nothing is delivered.
    pub(crate) blind: bool,
    /// The result's value, as its stored bytes parse.
    pub(crate) result: Option<Value>,
    /// The outputs of a batch's children, as they are stored.
    pub(crate) children: Outputs,
    pub(crate) protected: Protected,
}

impl Scratch {
    fn new(connection: Option<Arc<Connection>>) -> Self {
        Self {
            authority: Authority::Operator,
            connection,
            input: None,
            canonical: String::new(),
            call: None,
            contract: None,
            key: None,
            credential: None,
            step: None,
            steps: 0,
            history: Vec::new(),
            asked_delay: None,
            seen: Vec::new(),
            asked: Arc::default(),
            effect: None,
            claim: None,
            rests: true,
            waited_for: UnixMillis::default(),
            by_operator: false,
            by_caller: false,
            loaded: None,
            setup_took: Duration::ZERO,
            follows: None,
            followed: 0,
            storage: None,
            exchange: None,
            guards: Vec::new(),
            blind: false,
            result: None,
            children: Outputs::new(),
            protected: Protected::default(),
        }
    }
}

/// An invocation that has gone as far as it goes by itself. Its record is durable.
pub(crate) struct Finished {
    pub(crate) state: State,
    pub(crate) result: Option<Value>,
    pub(crate) children: Outputs,
    /// Whether somebody else settled it.
    pub(crate) adopted: bool,
}

/// An invocation can't go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("the host decided what can't happen: {0}")]
    Illegal(#[from] IllegalEvent),
    #[error("the host is stopping and takes on nothing new")]
    Stopping,
}

impl Run {
    pub(crate) fn begin(
        inner: Arc<Inner>,
        connection: Option<Arc<Connection>>,
        accepted: Accepted,
        input: Option<Value>,
        canonical: String,
        publish: watch::Sender<Option<State>>,
    ) -> Result<Self, RunError> {
        let (entered, cancelled) =
            inner.enter(accepted.request_id, publish.subscribe()).ok_or(RunError::Stopping)?;
        let event = Event::ActionAccepted(Box::new(accepted));
        let state = State::begin(&event)?;
        let scratch = Scratch { input, canonical, ..Scratch::new(connection) };
        Ok(Self {
            inner,
            state,
            pending: vec![event],
            bodies: Vec::new(),
            intents: Vec::new(),
            account: None,
            publish,
            cancelled,
            _entered: Some(entered),
            adopted: false,
            protects: true,
            scratch,
        })
    }

    /// An invocation whose effect was dispatched before, for asking what became of it. Whoever carries it out
    /// goes on meanwhile, and is whom a cancellation reaches.
    pub(crate) fn ask(
        inner: Arc<Inner>,
        connection: Arc<Connection>,
        state: State,
    ) -> Result<Self, RunError> {
        let (publish, _) = watch::channel(Some(state.clone()));
        let entered = inner.enter_asking().ok_or(RunError::Stopping)?;
        Ok(Self::again(inner, connection, state, publish, (entered, Cancelled::never()), false))
    }

    /// An invocation whose effect was dispatched before, to be sent again.
    pub(crate) fn resume(
        inner: Arc<Inner>,
        connection: Arc<Connection>,
        state: State,
    ) -> Result<Self, RunError> {
        let (publish, newest) = watch::channel(Some(state.clone()));
        let entered = inner.enter(state.accepted.request_id, newest).ok_or(RunError::Stopping)?;
        Ok(Self::again(inner, connection, state, publish, entered, true))
    }

    fn again(
        inner: Arc<Inner>,
        connection: Arc<Connection>,
        state: State,
        publish: watch::Sender<Option<State>>,
        (entered, cancelled): (Entered, Cancelled),
        protects: bool,
    ) -> Self {
        let scratch = Scratch::new(Some(connection));
        Self {
            inner,
            state,
            pending: Vec::new(),
            bodies: Vec::new(),
            intents: Vec::new(),
            account: None,
            publish,
            cancelled,
            _entered: Some(entered),
            adopted: false,
            protects,
            scratch,
        }
    }

    /// Remembers this invocation under these intents, in the commit that makes it durable.
    pub(crate) fn remember(&mut self, keys: Vec<Digest>) {
        let id = self.state.accepted.request_id;
        self.intents = keys.into_iter().map(|key| (key, id)).collect();
    }

    /// Ends before anything else: the caller's key stands for another input.
    pub(crate) async fn refuse_reused_key(self) -> Result<Finished, RunError> {
        let stop = Stop {
            phase: Phase::Validation,
            code: Code::CallKeyReused,
            invalid_fields: Vec::new(),
            detail: StopDetail::None,
        };
        let mut run = self;
        run.learn(Input::Refused(stop))?;
        run.drive().await
    }

    /// The one loop.
    pub(crate) async fn drive(mut self) -> Result<Finished, RunError> {
        loop {
            let effect = due(&self.state);
            self.persist_then_act(effect).await?;
            if let (Effect::Prepare, Some(at)) = (effect, self.state.retry_at)
                && !self.is_sent_on()
            {
                if at > self.inner.now().max(self.scratch.waited_for) && !self.scratch.rests {
                    self.persist().await?;
                    return Ok(self.finished());
                }
                if !self.rest(at).await? {
                    return Ok(self.finished());
                }
                if due(&self.state) != Effect::Prepare {
                    continue;
                }
                if !self.scratch.by_operator && self.inner.is_locked() {
                    // It stays announced: a locked vault spends nothing of its budget.
                    return Ok(self.finished());
                }
                if let Some(refused) = self.load_again() {
                    self.learn(refused)?;
                    self.schedule()?;
                    continue;
                }
            }
            let inputs = match effect {
                Effect::Validate => vec![self.validate().await],
                Effect::Authorize => vec![self.authorize().await],
                Effect::Prepare => self.prepare_unless_cancelled().await,
                Effect::Dispatch => vec![self.dispatch().await?],
                Effect::Judge => vec![self.judge().await],
                Effect::Wait | Effect::Deliver => {
                    return Ok(self.finished());
                }
            };
            for input in inputs {
                self.learn(input)?;
            }
            self.schedule()?;
        }
    }

    /// Whether the newest attempt was answered with a redirect that is followed.
    fn is_sent_on(&self) -> bool {
        let end = self.state.attempts.last().and_then(|last| last.end.as_ref());
        end.is_some_and(|end| end.redirected.is_some())
    }

    /// The newest durable state, as it comes.
    pub(crate) fn newest(&self) -> watch::Receiver<Option<State>> {
        self.publish.subscribe()
    }

    fn finished(self) -> Finished {
        self.inner.keep_in_mind(&self.state);
        let Scratch { result, children, .. } = self.scratch;
        Finished { state: self.state, result, children, adopted: self.adopted }
    }

    /// Before the dispatch, losing interest ends the invocation: nothing of the effect has left.
    async fn prepare_unless_cancelled(&mut self) -> Vec<Input> {
        let mut cancelled = self.cancelled.clone();
        let (read, asked) = (self.is_read(), Arc::clone(&self.scratch.asked));
        let prepared = {
            let mut prepare = pin!(self.prepare());
            tokio::select! {
                biased;
                // A read whose query is out has been received, perhaps: it goes on to its own end.
                () = cancelled.wait(), if !read || !asked.load(Ordering::Relaxed) => {
                    if read && asked.load(Ordering::Relaxed) { Some(prepare.await) } else { None }
                }
                inputs = &mut prepare => Some(inputs),
            }
        };
        if !cancelled.is() {
            self.scratch.seen.clear();
            return prepared.unwrap_or_default();
        }
        if read && asked.load(Ordering::Relaxed) {
            self.scratch.seen.clear();
            let noted = (!self.state.cancel_requested).then_some(Input::Cancelled);
            return noted.into_iter().chain(prepared.unwrap_or_default()).collect();
        }
        self.scratch.loaded = None;
        // What was seen on the way stays on record.
        let mut inputs = match prepared {
            Some(inputs) => inputs,
            None => std::mem::take(&mut self.scratch.seen),
        };
        inputs.retain(|input| matches!(input, Input::Connected(_) | Input::Queried(_)));
        let queried = inputs.iter().any(|input| matches!(input, Input::Queried(_)));
        let phase = if queried { Phase::RemoteExecution } else { last_boundary(&self.state) };
        inputs.push(Input::Cancelled);
        inputs.push(refuse::cancelled(phase));
        inputs
    }

    /// PERSIST, THEN ACT. The one place that decides what must be on disk before something happens:
    /// an effect's first byte (law 1), an answer to the caller (law 5), an id that is shown. A commit
    /// that fails ends the process (law 12), so that nothing goes on from memory.
    async fn persist_then_act(&mut self, next: Effect) -> Result<(), RunError> {
        if next.must_be_durable() { self.persist().await } else { Ok(()) }
    }

    /// Appends what is not on disk yet, and returns when it is.
    pub(crate) async fn persist(&mut self) -> Result<(), RunError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let events = std::mem::take(&mut self.pending);
        let has = |kind: EventKind| events.iter().any(|event| event.kind() == kind);
        let (dispatches, ends) = (has(EventKind::DispatchStarted), has(EventKind::AttemptEnded));
        // A host that comes back looks after what is under way, and after what is announced.
        let turns = [
            EventKind::LeaseTaken,
            EventKind::RetryScheduled,
            EventKind::ReconcileScheduled,
            EventKind::CancelRequested,
            EventKind::OutcomeSettled,
        ];
        let turns = self.state.dispatched() && turns.into_iter().any(has);
        // So does one that waits for a person, until it is over.
        let (asks, asked) = (has(EventKind::ApprovalRequested), self.state.question.is_some());
        let open = self.state.active().is_some()
            || self.state.retry_at.is_some()
            || announced(&self.state).is_some();
        self.keep_protected();
        let at = self.inner.now();
        let tally = match &mut self.account {
            Some(account) => account.mark(&self.inner.journal, &self.state, at)?,
            None => None,
        };
        let batch = Batch {
            invocation: Some(self.state.accepted.request_id),
            at,
            events,
            bodies: std::mem::take(&mut self.bodies),
            // What never reached its dispatch, or a person, is tried anew, so it need not be remembered.
            intents: if dispatches || asks { std::mem::take(&mut self.intents) } else { Vec::new() },
            open: (dispatches || ends || turns || asked).then_some(open),
            tally,
        };
        self.inner.append(batch).await?;
        self.publish.send_replace(Some(self.state.clone()));
        Ok(())
    }

    /// Takes in one input: the core decides, the state follows, the disk is told in time.
    pub(crate) fn learn(&mut self, input: Input) -> Result<(), RunError> {
        for event in propose(&self.state, input, self.inner.now()) {
            // A proposal that the record contradicts ends the run; what is durable stands.
            self.state.apply(&event)?;
            self.pending.push(event);
        }
        Ok(())
    }

    /// Hands the effect to its transport. `DISPATCH_STARTED` is on disk.
    async fn dispatch(&mut self) -> Result<Input, RunError> {
        let Some((ready, request)) = self.scratch.loaded.take() else {
            // The loop only comes here with a loaded connection; without one nothing can leave.
            return Ok(Input::Recovered);
        };
        // Whoever was paused after taking the right to dispatch has lost it when its time is over.
        if self.state.lease.is_none_or(|lease| self.inner.now() >= lease.until) {
            tracing::warn!(id = %self.state.accepted.request_id, "a lease ended before the first byte left");
            return Ok(Input::Exchanged(Box::new(self.state.nothing_seen(Cause::DeadlinePassed))));
        }
        let options = self.exchange_options(Role::Effect);
        let probe = Arc::new(WireProbe(Arc::clone(&self.inner)));
        let sink = self.storage(&ready);
        let mut cancelled = self.cancelled.clone();
        let (close, closing) = oneshot::channel();
        let mut exchange = {
            let mut exchange = pin!(ready.exchange(&options, probe, sink, once(closing)));
            tokio::select! {
                biased;
                exchange = &mut exchange => exchange,
                () = cancelled.wait() => {
                    // It may have left, so that nobody's losing interest takes it back: that is put on
                    // record before anything is done about it, and what the remote still says settles it.
                    self.learn(Input::Cancelled)?;
                    self.persist().await?;
                    let _ = close.send(());
                    exchange.await
                }
            }
        };
        self.screen(&mut exchange);
        self.note(&exchange);
        let evidence = exchange.evidence();
        if let Some(response) = exchange.response() {
            self.scratch.history.push(Exchange { role: Role::Effect, request, response });
        }
        self.scratch.exchange = Some(exchange);
        Ok(Input::Exchanged(Box::new(evidence)))
    }

    /// Tells when nobody waits any more.
    pub(crate) fn cancelled(&self) -> Cancelled {
        self.cancelled.clone()
    }

    fn keep_protected(&mut self) {
        // At dispatch the request itself is kept; what there is to say beside it comes with the end.
        let ended = self.state.attempts.last().is_some_and(|attempt| attempt.end.is_some());
        let over = ended || self.state.stopped.is_some() || self.state.settled.is_some();
        if !(over && self.protects) {
            return;
        }
        if let Ok(bytes) = serde_json::to_vec(&self.scratch.protected) {
            self.bodies.push(Body { kind: BodyKind::Protected, bytes });
        }
    }
}

/// When it is sent. One that can't be sent any more never comes.
async fn once(sent: oneshot::Receiver<()>) {
    if sent.await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Tells the probe what happens on the wire.
pub(crate) struct WireProbe(pub(crate) Arc<Inner>);

impl Watch for WireProbe {
    fn at(&self, point: WirePoint) {
        self.0.probe.at(Point::Wire(point));
    }
}
