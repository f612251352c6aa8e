//! What an event needs beside its place in the transition table: proof. A record that claims more than
//! it proves is refused rather than believed.

use crate::approval::Word;
use crate::batch::again::{is_same_credential, keeps_its_reference, may_send_again};
use crate::ceiling::Ceiling;
use crate::code::{Code, OutcomeRule, PhaseRule};
use crate::contract::{Effect, Outcome, Phase, Repeat, Role, Source};
use crate::event::{
    AttemptEnd, Binding, ChildFacts, CredentialUse, Dispatch, Event, EventKind, QueryFacts, QueryPurpose,
    Settlement, Stop,
};
use crate::evidence::Evidence;
use crate::inquiry;
use crate::job::{Following, submitted};
use crate::retry;
use crate::ssh::SshRow;
use crate::state::{IllegalEvent, Standing, State};
use crate::time::UnixMillis;

impl State {
    /// The conditions beyond the table.
    pub(crate) fn check(&self, event: &Event) -> Result<(), IllegalEvent> {
        let kind = event.kind();
        match event {
            Event::RequestSent { generation }
            | Event::RemoteResponseStarted { generation }
            | Event::RemoteResponseComplete { generation } => self.check_active(*generation, kind),
            Event::LeaseTaken { generation, .. } => self.check_lease(*generation),
            Event::DispatchStarted(dispatch) => self.check_dispatch(dispatch),
            Event::AttemptEnded(end) => self.check_end(end),
            Event::RetryScheduled { generation, at } => self.check_schedule(*generation, *at),
            Event::ReconcileScheduled { asked, .. } => self.check_question(*asked),
            Event::JobFollowed(following) => self.check_look(following),
            Event::Stopped(stop) if !self.may_stop(stop) => Err(IllegalEvent::Contradiction(kind)),
            Event::OutcomeSettled(settlement) if !self.is_proof(settlement) => {
                Err(IllegalEvent::Contradiction(kind))
            }
            Event::PreflightValidated(binding) if !self.may_bind(binding) => {
                Err(IllegalEvent::Contradiction(kind))
            }
            Event::CredentialAuthorized(credential) if !self.may_use(credential) => {
                Err(IllegalEvent::Contradiction(kind))
            }
            Event::ConnectionAttempted(_) if !self.may_ask(None) => Err(IllegalEvent::Contradiction(kind)),
            Event::QueryExchanged(query)
                if !self.may_ask(Some(query.purpose)) || self.is_without_word(query) =>
            {
                Err(IllegalEvent::Contradiction(kind))
            }
            Event::ApprovalRequested(_) if self.dispatched() => Err(IllegalEvent::Contradiction(kind)),
            Event::ApprovalDecided(word) if !self.may_decide(word) => Err(IllegalEvent::Contradiction(kind)),
            Event::EvidenceAttached { source, child, .. } if !self.is_evidence(*source, *child) => {
                Err(IllegalEvent::Contradiction(kind))
            }
            Event::ChildSettled(child) if !self.is_proof_of_child(child) => {
                Err(IllegalEvent::Contradiction(kind))
            }
            Event::ActionAccepted(_)
            | Event::PreflightValidated(_)
            | Event::ApprovalRequested(_)
            | Event::ApprovalDecided(_)
            | Event::CredentialAuthorized(_)
            | Event::ConnectionAttempted(_)
            | Event::QueryExchanged(_)
            | Event::Stopped(_)
            | Event::CancelRequested
            | Event::ChildSettled(_)
            | Event::JobAccepted { .. }
            | Event::OutcomeSettled(_)
            | Event::ResultCommitted(_)
            | Event::ResultDelivered
            | Event::EvidenceAttached { .. }
            | Event::Host(_) => Ok(()),
        }
    }

    /// A question is answered with what was asked, and an earlier word only ever permits.
    fn may_decide(&self, word: &Word) -> bool {
        let about_this = match (self.standing == Standing::AwaitingApproval, &self.question) {
            (true, Some(question)) => word.request == question.request,
            (true, None) => false,
            (false, Some(_) | None) => word.approved && word.by.is_some(),
        };
        let reach = word.grant.is_none() || word.approved && word.by.is_none();
        about_this && reach && !self.dispatched()
    }

    /// Whether somebody's word was needed for this query, and none was given.
    fn is_without_word(&self, query: &QueryFacts) -> bool {
        match query.purpose {
            QueryPurpose::Read | QueryPurpose::Prepare => self.needs_word(Role::Query, &query.request),
            QueryPurpose::Reconcile => false,
        }
    }

    fn check_active(&self, generation: u32, kind: EventKind) -> Result<(), IllegalEvent> {
        match self.active() {
            Some(attempt) if attempt.dispatch.generation == generation => Ok(()),
            Some(_) | None => Err(IllegalEvent::StaleGeneration(kind)),
        }
    }

    /// A read has no effect to dispatch, a denied action never runs, and a committed attempt is never
    /// repeated.
    fn check_lease(&self, generation: u32) -> Result<(), IllegalEvent> {
        let kind = EventKind::LeaseTaken;
        let read = self.effect() == Some(Effect::Read);
        if read || self.word.is_some_and(|word| !word.approved) || self.outcome() == Outcome::Committed {
            Err(IllegalEvent::Contradiction(kind))
        } else if generation == self.next_generation() {
            Ok(())
        } else {
            Err(IllegalEvent::StaleGeneration(kind))
        }
    }

    /// Another attempt is announced only where it may be sent: on to where the last one was redirected, or
    /// over an unknown as the contract permits.
    fn check_schedule(&self, generation: u32, at: UnixMillis) -> Result<(), IllegalEvent> {
        let kind = EventKind::RetryScheduled;
        if generation != self.next_generation() {
            return Err(IllegalEvent::StaleGeneration(kind));
        }
        let end = self.attempts.last().and_then(|last| last.end.as_ref());
        let redirected = self.may_be_sent_on() && end.is_some_and(|end| end.redirected.is_some());
        if redirected || retry::permitted(self, at).is_ok() {
            Ok(())
        } else {
            Err(IllegalEvent::Contradiction(kind))
        }
    }

    /// The host asks by itself only where the operation declares it and nothing is known, and each time counts.
    fn check_question(&self, asked: u32) -> Result<(), IllegalEvent> {
        let counted = asked == self.asked || asked == self.asked.saturating_add(1);
        if counted && inquiry::may_ask(self) {
            Ok(())
        } else {
            Err(IllegalEvent::Contradiction(EventKind::ReconcileScheduled))
        }
    }

    /// A job is followed where one was submitted, and each look of the host's own counts.
    fn check_look(&self, following: &Following) -> Result<(), IllegalEvent> {
        let before = self.following.looks;
        let counted = following.looks == before || following.looks == before.saturating_add(1);
        if counted && submitted(self).is_some() {
            Ok(())
        } else {
            Err(IllegalEvent::Contradiction(EventKind::JobFollowed))
        }
    }

    /// Whether nothing that was sent before may have been carried out where it was sent: another origin knows
    /// nothing of that.
    #[must_use]
    pub fn may_be_sent_on(&self) -> bool {
        let ended = self.attempts.iter().filter(|attempt| attempt.end.is_some());
        let refused = ended.map(crate::state::Attempt::outcome).all(|outcome| outcome == Outcome::Rejected);
        // Records from before the first one's reference was taken along may have been sent on all the same.
        let bound = self.accepted.continues.as_ref().is_some_and(|continues| continues.reference.is_some());
        refused && !(bound && self.taken_over().is_some())
    }

    fn check_dispatch(&self, dispatch: &Dispatch) -> Result<(), IllegalEvent> {
        let kind = EventKind::DispatchStarted;
        match self.lease {
            Some(lease) if lease.generation == dispatch.generation && dispatch.at < lease.until => {}
            Some(_) | None => return Err(IllegalEvent::StaleGeneration(kind)),
        }
        if self.may_dispatch(dispatch) { Ok(()) } else { Err(IllegalEvent::Contradiction(kind)) }
    }

    /// A repeat sends the bytes and the key of the first attempt, and goes out over an unknown only
    /// as the declared contract permits (laws 6 and 8).
    fn may_dispatch(&self, dispatch: &Dispatch) -> bool {
        let contract = self.binding.as_ref().map(|binding| &binding.contract.repeat);
        let Some(first) = self.attempts.first().map(|attempt| &attempt.dispatch) else {
            // What is unknown elsewhere is no first attempt, either.
            // What was approved is what is sent (law 8).
            if self.needs_word(Role::Effect, &dispatch.request) {
                return false;
            }
            return self.accepted.continues.as_ref().is_none_or(|continues| {
                contract.is_some_and(|repeat| may_send_again(continues, repeat, dispatch))
            });
        };
        let permitted = match (self.outcome(), contract) {
            (Outcome::Rejected | Outcome::NotAttempted, _) => true,
            (Outcome::Committed, _) => false,
            (Outcome::Unknown, Some(Repeat::Idempotent)) => true,
            (Outcome::Unknown, Some(Repeat::Keyed(_))) => {
                first.key.as_ref().is_some_and(|key| dispatch.at < key.expires)
            }
            (Outcome::Unknown, Some(Repeat::None | Repeat::Conditional) | None) => false,
        };
        // What an SSH server has done only it knows, and a name may lead to several.
        let exec = self
            .attempts
            .iter()
            .any(|attempt| attempt.end.as_ref().is_some_and(|end| end.evidence.ssh().is_some()));
        let same_machine = !exec || self.outcome() != Outcome::Unknown || first.peer == dispatch.peer;
        let bytes = match &dispatch.follows {
            Some(_) => self.may_follow(dispatch),
            None => first.request == dispatch.request,
        };
        permitted && same_machine && first.key == dispatch.key && bytes
    }

    /// A followed redirect goes where the attempt before was sent on to, and where the connection lets it.
    /// A redirect of what may have been a second copy says nothing of the first.
    fn may_follow(&self, dispatch: &Dispatch) -> bool {
        if !self.may_be_sent_on() {
            return false;
        }
        let end = self.attempts.last().and_then(|last| last.end.as_ref());
        let once = |end: &&AttemptEnd| end.evidence.http().is_some_and(|http| !http.may_be_repeated);
        let redirected = end.filter(once).and_then(|end| end.redirected.as_ref());
        match (redirected, &dispatch.follows, &self.binding) {
            (Some(there), Some(here), Some(binding)) => {
                there == here && binding.redirect_origins.contains(here)
            }
            (Some(_) | None, Some(_) | None, Some(_) | None) => false,
        }
    }

    fn check_end(&self, end: &AttemptEnd) -> Result<(), IllegalEvent> {
        let kind = EventKind::AttemptEnded;
        let leased = self.lease.is_some_and(|lease| lease.generation == end.generation);
        let proved = match (self.active(), end.outcome) {
            // Not attempted is for a lease whose dispatch never came, after an earlier attempt.
            (None, Outcome::NotAttempted) => self.dispatched() && leased,
            (None, Outcome::Rejected | Outcome::Committed | Outcome::Unknown)
            | (Some(_), Outcome::NotAttempted) => false,
            // Only a complete answer settles an attempt at its end, or what the protocol itself proves: a
            // refusal, or the end of a command whose output was cut.
            (Some(_), Outcome::Committed) => {
                self.standing == Standing::Answered || proves_its_end(&end.evidence)
            }
            (Some(_), Outcome::Rejected) => {
                self.standing == Standing::Answered || end.source == Source::TransportObserved
            }
            (Some(_), Outcome::Unknown) => true,
        };
        // An attempt's end is what its own exchange showed; queries and people settle beside it.
        let own = matches!(end.source, Source::RemoteResponse | Source::TransportObserved);
        let firsts = !end.evidence.replayed() || self.may_answer_as_the_first(end);
        if !proved || !own || !firsts || !agrees(end.code, end.outcome) {
            return Err(IllegalEvent::Contradiction(kind));
        }
        match self.active() {
            Some(_) => self.check_active(end.generation, kind),
            None => Ok(()),
        }
    }

    /// Stopping says that no effect was sent. Only a read, which has none, may stop as unknown.
    fn may_stop(&self, stop: &Stop) -> bool {
        let said = match stop.code.row().outcome {
            OutcomeRule::Is(outcome) => outcome,
            OutcomeRule::AsProved | OutcomeRule::Nothing => Outcome::NotAttempted,
        };
        agrees(Some(stop.code), said)
            && match said {
                Outcome::NotAttempted => !self.dispatched(),
                Outcome::Unknown => self.was_queried(QueryPurpose::Read),
                Outcome::Rejected | Outcome::Committed => false,
            }
    }

    /// Settling takes proof: the attempts themselves, a query, or a person. Once, and never against
    /// what the attempts prove.
    fn is_proof(&self, settlement: &Settlement) -> bool {
        let known = self.outcome();
        let proved = match settlement.source {
            Source::RemoteQuery if self.effect() == Some(Effect::Read) => {
                self.was_queried(QueryPurpose::Read)
            }
            Source::RemoteQuery if settlement.outcome == Outcome::Rejected => {
                self.dispatched() && self.was_answered() && self.taken_over().is_none()
            }
            Source::RemoteQuery => self.dispatched() && self.was_answered(),
            Source::OperatorAttested => self.dispatched(),
            Source::RemoteResponse | Source::TransportObserved => {
                self.dispatched() && known == settlement.outcome
            }
        };
        proved
            && settlement.outcome.is_settled()
            && agrees(settlement.code, settlement.outcome)
            && self.settled.is_none()
            && self.children_agree(settlement)
            && self.leaves_as_many_unknown(settlement)
            && (!known.is_settled() || known == settlement.outcome)
    }

    /// Of a batch, a success needs every child carried out, and a refusal none.
    fn children_agree(&self, settlement: &Settlement) -> bool {
        let count = self.binding.as_ref().map_or(0, |binding| binding.children.len());
        let mut outcomes = (0..).take(count).map(|index| self.child(index).outcome);
        match (settlement.source, settlement.outcome, settlement.code) {
            // A person speaks of the whole; what the children's records say stays.
            (Source::OperatorAttested, _, _) => true,
            (_, Outcome::Committed, None) => outcomes.all(|outcome| outcome == Outcome::Committed),
            (_, Outcome::Rejected, _) => outcomes.all(|outcome| outcome != Outcome::Committed),
            (_, Outcome::Committed, Some(_)) | (_, Outcome::Unknown | Outcome::NotAttempted, _) => true,
        }
    }

    /// What a settlement says of its children's number is so, where it says anything.
    fn leaves_as_many_unknown(&self, settlement: &Settlement) -> bool {
        if settlement.unknown_children == 0 {
            return true;
        }
        let after = Self { settled: Some(settlement.clone()), ..self.clone() };
        after.count_unknown_children() == settlement.unknown_children
    }

    /// A child's record needs the proof that an invocation's does: the newest attempt's answer, under the
    /// ceiling that it sets, once; or a query or a person, for what is unknown.
    fn is_proof_of_child(&self, child: &ChildFacts) -> bool {
        let bound = self.binding.as_ref().and_then(|binding| {
            let position = usize::try_from(child.index).ok()?;
            binding.children.get(position)
        });
        let newest = self.attempts.last().map(|attempt| attempt.dispatch.generation);
        let open = || newest == Some(child.generation) && self.child(child.index).outcome == Outcome::Unknown;
        let proved = match child.source {
            Source::RemoteResponse | Source::TransportObserved => self.was_told_of(child),
            // A query looks for this call's effect, and not for the one that sent the child first.
            Source::RemoteQuery if child.outcome == Outcome::Rejected => {
                open() && self.was_answered() && !self.is_taken_over(child.index)
            }
            Source::RemoteQuery => open() && child.outcome.is_settled() && self.was_answered(),
            Source::OperatorAttested => open() && child.outcome.is_settled() && self.dispatched(),
        };
        proved && bound == Some(&child.id) && agrees(child.code, child.outcome)
    }

    /// Whether the answer to the newest attempt can say this of a child.
    fn was_told_of(&self, child: &ChildFacts) -> bool {
        let newest = self.attempts.last().filter(|_| self.standing == Standing::Ended);
        let Some((attempt, binding)) = newest.zip(self.binding.as_ref()) else { return false };
        let Some(end) = &attempt.end else { return false };
        let generation = attempt.dispatch.generation;
        let first = |told: &ChildFacts| told.generation != generation;
        let ceiling = Ceiling::of(&end.evidence, &binding.contract);
        let permitted = match (end.outcome, child.outcome) {
            (Outcome::NotAttempted, _) | (_, Outcome::NotAttempted) => false,
            (Outcome::Rejected | Outcome::Unknown, Outcome::Committed) => false,
            // Of what was refused whole, nothing may have happened.
            (Outcome::Rejected, Outcome::Unknown) => false,
            (Outcome::Unknown | Outcome::Committed, Outcome::Unknown) => true,
            (Outcome::Rejected, Outcome::Rejected) => true,
            (Outcome::Unknown | Outcome::Committed, Outcome::Rejected)
            | (Outcome::Committed, Outcome::Committed) => ceiling.allows(child.outcome, child.code.is_none()),
        };
        permitted && child.generation == generation && self.children.of(child.index).all(first)
    }

    fn may_bind(&self, binding: &Binding) -> bool {
        self.accepted.continues.as_ref().is_none_or(|continues| keeps_its_reference(continues, binding))
    }

    fn may_use(&self, credential: &CredentialUse) -> bool {
        self.accepted.continues.as_ref().is_none_or(|continues| is_same_credential(continues, credential))
    }

    /// Evidence is about an effect, and a query's is what its answer showed. Of a child it stands beside a
    /// person's word; else it would be that child's record.
    fn is_evidence(&self, source: Source, child: Option<u32>) -> bool {
        self.dispatched()
            && child.is_none_or(|child| self.is_childs_word(child))
            && match source {
                Source::RemoteQuery => self.was_answered(),
                Source::RemoteResponse | Source::TransportObserved | Source::OperatorAttested => true,
            }
    }

    /// What is settled is asked about no more, unless it was a person who settled it, or it is a batch some
    /// of whose children are not: then the remote may still be asked what became of the effect.
    fn may_ask(&self, purpose: Option<QueryPurpose>) -> bool {
        let asks_for_fate = purpose.is_none_or(|purpose| purpose == QueryPurpose::Reconcile);
        let spoken_of = || self.is_attested() || self.has_attested_child();
        self.settled.is_none() || (asks_for_fate && (spoken_of() || self.has_unknown_child()))
    }

    /// Whether the newest query of a reconciliation got a complete answer of the verified origin.
    fn was_answered(&self) -> bool {
        let newest = self.queries.iter().rev().find(|query| query.purpose == QueryPurpose::Reconcile);
        newest.is_some_and(|query| {
            query.evidence.complete() && query.evidence.from_peer() && self.is_same_machine(query)
        })
    }

    /// Whether a query was answered by the machine that the effect was sent to. What an SSH server has
    /// done only it knows, and a name may lead to several.
    #[must_use]
    pub fn is_same_machine(&self, query: &QueryFacts) -> bool {
        match &query.evidence {
            Evidence::Http(_) => true,
            Evidence::Ssh(_) => self.attempts.iter().all(|attempt| attempt.dispatch.peer == query.peer),
        }
    }

    /// Whether a query with this purpose is in the record. A query is a read's only where the
    /// operation is one.
    fn was_queried(&self, purpose: QueryPurpose) -> bool {
        let fits = purpose != QueryPurpose::Read || self.effect() == Some(Effect::Read);
        fits && self.queries.iter().any(|query| query.purpose == purpose)
    }
}

/// Whether the transport told how a command ended, whatever became of its output.
fn proves_its_end(evidence: &Evidence) -> bool {
    evidence.ssh().is_some_and(|ssh| SshRow::of(ssh).claims().0 == Outcome::Committed)
}

/// Whether a code may stand beside an outcome: no code is a success, a code with an outcome of its own
/// has that one, and only what is settled can have trouble with its delivery.
fn agrees(code: Option<Code>, outcome: Outcome) -> bool {
    let Some(row) = code.map(Code::row) else { return outcome == Outcome::Committed };
    match row.outcome {
        OutcomeRule::Is(said) => said == outcome,
        OutcomeRule::AsProved => row.phase != PhaseRule::Is(Phase::ResultDelivery) || outcome.is_settled(),
        OutcomeRule::Nothing => false,
    }
}
