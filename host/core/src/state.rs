//! What is known of one invocation: a fold over its events.

use crate::approval::{Question, Word};
use crate::batch::Told;
use crate::closed::closed_enum;
use crate::code::OutcomeRule;
use crate::contract::{Effect, Outcome, Source, Stage};
use crate::event::{
    Accepted, AttemptEnd, Binding, CredentialUse, Dispatch, Event, EventKind, QueryFacts, ResultFacts,
    Settlement, Stop,
};
use crate::evidence::{Cause, Evidence, HttpEvidence, SetupAttempt};
use crate::job::Following;
use crate::ssh::SshEvidence;
use crate::time::UnixMillis;
use serde::{Deserialize, Serialize};

closed_enum! {
    /// How far an invocation has come. The rows of the transition table.
    pub enum Standing {
        /// Taken on under an id.
        Accepted = "accepted",
        /// Bound to what it will use.
        Validated = "validated",
        /// A person is asked.
        AwaitingApproval = "awaiting_approval",
        /// The credential may be used; connections and queries happen here.
        Authorized = "authorized",
        /// The right to dispatch was taken.
        Leased = "leased",
        /// The effect may have left.
        Dispatched = "dispatched",
        /// A complete answer arrived.
        Answered = "answered",
        /// The last attempt is over, and the outcome is not settled.
        Ended = "ended",
        /// The outcome is known.
        Settled = "settled",
        /// What can be delivered is stored.
        Stored = "stored",
        /// It was delivered at least once.
        Delivered = "delivered",
        /// It ended without an effect.
        Stopped = "stopped",
    }
}

/// One try to carry out the effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// The durable fact before the first handoff.
    pub dispatch: Dispatch,
    /// Whether the whole request was offered.
    pub request_sent: bool,
    /// Whether an answer began.
    pub response_started: bool,
    /// Whether a complete answer arrived.
    pub response_complete: bool,
    /// How it ended; none: it has not, or nobody recorded it.
    pub end: Option<AttemptEnd>,
}

impl Attempt {
    /// What is proved of it. Unknown from dispatch on, until something settles it.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.end.as_ref().map_or(Outcome::Unknown, |end| end.outcome)
    }
}

/// The right to dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Which attempt it is for.
    pub generation: u32,
    /// When it ends.
    pub until: UnixMillis,
}

/// What is known of one invocation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// How far it has come.
    pub standing: Standing,
    /// The intent.
    pub accepted: Accepted,
    /// What it is bound to.
    pub binding: Option<Binding>,
    /// Which credential it uses.
    pub credential: Option<CredentialUse>,
    /// The newest question that was put to people.
    pub question: Option<Question>,
    /// The newest word on it, or on another call that covers it.
    pub word: Option<Word>,
    /// Every connection attempt, in order.
    pub setup: Vec<SetupAttempt>,
    /// Every query, in order.
    pub queries: Vec<QueryFacts>,
    /// The newest lease.
    pub lease: Option<Lease>,
    /// Every attempt, in order.
    pub attempts: Vec<Attempt>,
    /// Later attempts that never reached their dispatch.
    pub unsent: Vec<AttemptEnd>,
    /// Why it ended without an effect.
    pub stopped: Option<Stop>,
    /// What was learnt of a batch's children, in order. What is known of each is [`State::child`].
    pub children: Told,
    /// The job that the remote took on.
    pub job: Option<String>,
    /// The outcome.
    pub settled: Option<Settlement>,
    /// What can be delivered.
    pub result: Option<ResultFacts>,
    /// Whether the caller cancelled.
    pub cancel_requested: bool,
    /// Outcomes that came too late or from elsewhere, beside the record.
    pub attached: Vec<Outcome>,
    /// The same of single children of a batch, each by its position.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attached_children: Vec<(u32, Outcome)>,
    /// When the next attempt is due.
    pub retry_at: Option<UnixMillis>,
    /// How often the host has asked by itself what became of the effect.
    pub asked: u32,
    /// When it asks next.
    pub ask_at: Option<UnixMillis>,
    /// How the job that it submitted is followed.
    pub following: Following,
}

/// An event that can't happen now. The journal is refused rather than believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IllegalEvent {
    /// It does not follow from where the invocation stands.
    #[error("{event} can't happen to an invocation that is {standing}")]
    OutOfOrder {
        /// Where it stands.
        standing: Standing,
        /// What was said to happen.
        event: EventKind,
    },
    /// An invocation begins with its acceptance.
    #[error("an invocation begins with ACTION_ACCEPTED, not with {0}")]
    NotABeginning(EventKind),
    /// It is of an attempt that is not the active one.
    #[error("{0} is of a generation that is not the active one")]
    StaleGeneration(EventKind),
    /// It would turn what is proved into something weaker, or settle twice, or settle an unknown
    /// without proof.
    #[error("{0} contradicts what the record proves")]
    Contradiction(EventKind),
}

impl State {
    /// The state after an invocation's first event.
    ///
    /// # Errors
    /// When the event is not an acceptance.
    pub fn begin(event: &Event) -> Result<Self, IllegalEvent> {
        let Event::ActionAccepted(accepted) = event else {
            return Err(IllegalEvent::NotABeginning(event.kind()));
        };
        Ok(Self {
            standing: Standing::Accepted,
            accepted: (**accepted).clone(),
            binding: None,
            credential: None,
            question: None,
            word: None,
            setup: Vec::new(),
            queries: Vec::new(),
            lease: None,
            attempts: Vec::new(),
            unsent: Vec::new(),
            stopped: None,
            children: Told::default(),
            job: None,
            settled: None,
            result: None,
            cancel_requested: false,
            attached: Vec::new(),
            attached_children: Vec::new(),
            retry_at: None,
            asked: 0,
            ask_at: None,
            following: Following::default(),
        })
    }

    /// The state after a whole history.
    ///
    /// # Errors
    /// When the history is empty or an event in it can't happen where it stands.
    pub fn replay<'a>(events: impl IntoIterator<Item = &'a Event>) -> Result<Option<Self>, IllegalEvent> {
        let mut events = events.into_iter();
        let Some(first) = events.next() else { return Ok(None) };
        let mut state = Self::begin(first)?;
        for event in events {
            state.apply(event)?;
        }
        Ok(Some(state))
    }

    /// Takes in the next event. On error nothing has changed.
    ///
    /// # Errors
    /// When the event can't happen now.
    pub fn apply(&mut self, event: &Event) -> Result<(), IllegalEvent> {
        let kind = event.kind();
        let next = self
            .next_standing(kind)
            .ok_or(IllegalEvent::OutOfOrder { standing: self.standing, event: kind })?;
        self.check(event)?;
        self.take(event);
        self.standing = next;
        Ok(())
    }

    /// The contract's effect, as far as it is bound.
    #[must_use]
    pub fn effect(&self) -> Option<Effect> {
        self.binding.as_ref().map(|binding| binding.contract.effect)
    }

    /// What the records prove about the remote: what settled it, or law 3 over the attempts, or, for
    /// an invocation that ended without an effect, what its code says.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        match (&self.settled, &self.stopped) {
            (Some(settled), _) => settled.outcome,
            (None, Some(stop)) => match stop.code.row().outcome {
                OutcomeRule::Is(outcome) => outcome,
                OutcomeRule::AsProved | OutcomeRule::Nothing => Outcome::NotAttempted,
            },
            (None, None) => self.proved_by_attempts(),
        }
    }

    /// Whether the dispatch boundary of the effect was crossed.
    #[must_use]
    pub fn dispatched(&self) -> bool {
        !self.attempts.is_empty()
    }

    /// Whether a person settled it.
    #[must_use]
    pub fn is_attested(&self) -> bool {
        self.settled.as_ref().is_some_and(|settled| settled.source == Source::OperatorAttested)
    }

    /// The attempt that is under way.
    #[must_use]
    pub fn active(&self) -> Option<&Attempt> {
        self.attempts.last().filter(|attempt| attempt.end.is_none())
    }

    /// Nothing, over what its connection was for: an SSH connection ends its setup in stages of its own.
    #[must_use]
    pub fn nothing_seen(&self, cause: Cause) -> Evidence {
        let usable = self.setup.iter().rev().find(|attempt| attempt.cause.is_none());
        match usable.map(|attempt| attempt.stage) {
            Some(Stage::ChannelOpen | Stage::Env) => SshEvidence::nothing_seen(cause).into(),
            Some(
                Stage::AddressCheck
                | Stage::Pool
                | Stage::Dns
                | Stage::TcpConnect
                | Stage::ProxyTunnel
                | Stage::TlsHandshake
                | Stage::IdentityVerified
                | Stage::HttpHandshake
                | Stage::Transport
                | Stage::HostVerified
                | Stage::UserAuth,
            )
            | None => HttpEvidence::nothing_seen(cause).into(),
        }
    }

    /// The generation that the next attempt would have.
    #[must_use]
    pub fn next_generation(&self) -> u32 {
        self.lease.map_or(1, |lease| lease.generation.saturating_add(1))
    }

    /// The transition table: where an event of this kind leads, none where it is illegal. The golden
    /// file `tests/laws/transitions.golden` of this crate shows it whole.
    #[must_use]
    pub fn next_standing(&self, kind: EventKind) -> Option<Standing> {
        use Standing::{
            Accepted, Answered, Authorized, AwaitingApproval, Delivered, Dispatched, Ended, Leased, Settled,
            Stopped, Stored, Validated,
        };
        let here = self.standing;
        let from = |allowed: &[Standing], to: Standing| allowed.contains(&here).then_some(to);
        let before_dispatch = [Accepted, Validated, AwaitingApproval, Authorized, Leased];
        match kind {
            EventKind::ActionAccepted => None,
            EventKind::PreflightValidated => from(&[Accepted], Validated),
            EventKind::CredentialAuthorized => from(&[Validated], Authorized),
            EventKind::ApprovalRequested => from(&[Authorized], AwaitingApproval),
            // What was decided before, of another call, needs no question.
            EventKind::ApprovalDecided => from(&[AwaitingApproval, Authorized], Authorized),
            EventKind::ConnectionAttempted | EventKind::QueryExchanged => {
                from(&[Authorized, Ended, Stored, Delivered], here)
            }
            EventKind::Stopped => from(&before_dispatch, Stopped),
            EventKind::CancelRequested => from(
                &[Accepted, Validated, AwaitingApproval, Authorized, Leased, Dispatched, Answered, Ended],
                here,
            ),
            EventKind::LeaseTaken => from(&[Authorized, Ended], Leased),
            EventKind::DispatchStarted => from(&[Leased], Dispatched),
            EventKind::RequestSent | EventKind::RemoteResponseStarted => from(&[Dispatched], Dispatched),
            EventKind::RemoteResponseComplete => from(&[Dispatched], Answered),
            EventKind::AttemptEnded => from(&[Leased, Dispatched, Answered], Ended),
            EventKind::ChildSettled => from(&[Ended, Stored, Delivered], here),
            EventKind::JobAccepted => from(&[Authorized, Ended], here),
            EventKind::OutcomeSettled => from(&[Authorized, Ended], Settled),
            EventKind::ResultCommitted => from(&[Settled], Stored),
            EventKind::ResultDelivered => from(&[Stored, Delivered], Delivered),
            EventKind::JobFollowed => from(&[Stored, Delivered], here),
            EventKind::RetryScheduled | EventKind::ReconcileScheduled => from(&[Ended], Ended),
            EventKind::EvidenceAttached => from(&[Ended, Settled, Stored, Delivered], here),
            EventKind::SessionDecided
            | EventKind::VaultStateChanged
            | EventKind::UnlockFailed
            | EventKind::OperatorRefused
            | EventKind::SecretChanged
            | EventKind::ConnectorDecided
            | EventKind::ConfigLoaded => None,
        }
    }

    fn take(&mut self, event: &Event) {
        match event {
            Event::PreflightValidated(binding) => self.binding = Some((**binding).clone()),
            Event::ApprovalRequested(question) => self.question = Some(*question),
            Event::ApprovalDecided(word) => self.word = Some(*word),
            Event::CredentialAuthorized(credential) => self.credential = Some(credential.clone()),
            Event::ConnectionAttempted(attempt) => self.setup.push(attempt.clone()),
            Event::QueryExchanged(query) => self.queries.push(query.clone()),
            Event::Stopped(stop) => self.stopped = Some(stop.clone()),
            Event::CancelRequested => {
                self.cancel_requested = true;
                // Nobody waits for a repeat that is not sent yet.
                if self.outcome() == Outcome::Unknown {
                    self.retry_at = None;
                }
            }
            Event::LeaseTaken { generation, until } => {
                self.lease = Some(Lease { generation: *generation, until: *until });
                self.retry_at = None;
                self.ask_at = None;
            }
            Event::DispatchStarted(dispatch) => self.attempts.push(Attempt {
                dispatch: dispatch.clone(),
                request_sent: false,
                response_started: false,
                response_complete: false,
                end: None,
            }),
            Event::RequestSent { .. } => self.with_active(|attempt| attempt.request_sent = true),
            Event::RemoteResponseStarted { .. } => {
                self.with_active(|attempt| attempt.response_started = true)
            }
            Event::RemoteResponseComplete { .. } => {
                self.with_active(|attempt| attempt.response_complete = true)
            }
            Event::AttemptEnded(end) if end.outcome == Outcome::NotAttempted => self.unsent.push(end.clone()),
            Event::AttemptEnded(end) => self.with_active(|attempt| attempt.end = Some(end.clone())),
            Event::ChildSettled(child) => self.children.push(child.clone()),
            Event::JobAccepted { id } => self.job = Some(id.clone()),
            Event::OutcomeSettled(settlement) => {
                self.settled = Some(settlement.clone());
                self.retry_at = None;
                self.ask_at = None;
            }
            Event::ResultCommitted(result) => self.result = Some(result.clone()),
            Event::RetryScheduled { at, .. } => self.retry_at = Some(*at),
            Event::ReconcileScheduled { asked, at } => {
                self.asked = *asked;
                self.ask_at = *at;
            }
            Event::JobFollowed(following) => self.following = *following,
            Event::EvidenceAttached { outcome, child: None, .. } => self.attached.push(*outcome),
            Event::EvidenceAttached { outcome, child: Some(child), .. } => {
                self.attached_children.push((*child, *outcome));
            }
            Event::ActionAccepted(_) | Event::ResultDelivered | Event::Host(_) => {}
        }
    }

    fn with_active(&mut self, change: impl FnOnce(&mut Attempt)) {
        if let Some(attempt) = self.attempts.last_mut().filter(|attempt| attempt.end.is_none()) {
            change(attempt);
        }
    }
}
