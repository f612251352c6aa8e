//! What is known of one child, and what may be claimed of it.

use super::again::is_known_alone;
use super::bound::ChildId;
use crate::attempts::together;
use crate::closed::closed_enum;
use crate::code::Code;
use crate::contract::{Action, Outcome, Retry, Source};
use crate::digest::Digest;
use crate::event::ChildFacts;
use crate::manifest::BatchMode;
use crate::project::{action, code, retry};
use crate::state::{Attempt, State};
use crate::time::UnixMillis;

/// What is known of one child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChildRecord {
    /// What is proved of it.
    pub outcome: Outcome,
    /// The code; none: success.
    pub code: Option<Code>,
    /// Whether the caller can repair it.
    pub repairable: bool,
    /// Digest of its output's canonical JSON.
    pub output: Option<Digest>,
}

impl ChildRecord {
    const fn plain(outcome: Outcome, code: Option<Code>) -> Self {
        Self { outcome, code, repairable: false, output: None }
    }
}

impl From<&ChildFacts> for ChildRecord {
    fn from(facts: &ChildFacts) -> Self {
        let ChildFacts { outcome, code, repairable, output, .. } = facts;
        Self { outcome: *outcome, code: *code, repairable: *repairable, output: *output }
    }
}

impl State {
    /// Whether it carries children.
    #[must_use]
    pub fn is_batch(&self) -> bool {
        self.binding.as_ref().is_some_and(|binding| !binding.children.is_empty())
    }

    /// Whether a child may have been carried out or not.
    #[must_use]
    pub fn has_unknown_child(&self) -> bool {
        self.unknown_children().next().is_some()
    }

    /// The positions of the children that may have been carried out or not.
    pub fn unknown_children(&self) -> impl Iterator<Item = u32> {
        let count = self.binding.as_ref().map_or(0, |binding| binding.children.len());
        let sent = if self.dispatched() { count } else { 0 };
        (0..).take(sent).filter(|index| self.child(*index).outcome == Outcome::Unknown)
    }

    pub(crate) fn count_unknown_children(&self) -> u32 {
        u32::try_from(self.unknown_children().count()).unwrap_or(u32::MAX)
    }

    /// Whether a child is known to have been carried out, by whatever proof.
    #[must_use]
    pub fn has_committed_child(&self) -> bool {
        self.child_records().iter().any(|record| record.outcome == Outcome::Committed)
    }

    pub(crate) fn child_records(&self) -> Vec<ChildRecord> {
        let count = self.binding.as_ref().map_or(0, |binding| binding.children.len());
        (0..).take(count).map(|index| self.child(index)).collect()
    }

    /// Whether a person settled a child by itself.
    #[must_use]
    pub fn has_attested_child(&self) -> bool {
        self.children.iter().any(|facts| facts.source == Source::OperatorAttested)
    }

    /// Whether what is known of this child is a person's word and nothing else.
    pub(crate) fn is_childs_word(&self, index: u32) -> bool {
        self.child(index).outcome.is_settled() && !self.child_proved(index).outcome.is_settled()
    }

    /// Unknown where something is sent again that is unknown in the record of the invocation that sent it
    /// first: that is an attempt, too, as law 3 counts them.
    pub(crate) fn taken_over(&self) -> Option<Outcome> {
        let continues = self.accepted.continues.as_ref()?;
        (!continues.unknown.is_empty()).then_some(Outcome::Unknown)
    }

    /// Whether this child is sent again here and unknown in the record of the invocation that sent it first.
    pub(crate) fn is_taken_over(&self, index: u32) -> bool {
        self.accepted.continues.as_ref().is_some_and(|continues| continues.unknown.contains(&index))
    }

    /// What is known of the child at this position: by law 3 over the attempts, each of which says what its
    /// answer said of the child, or else what became of the attempt; unless a query or a person settled it.
    #[must_use]
    pub fn child(&self, index: u32) -> ChildRecord {
        self.child_by(index, |_| true)
    }

    /// The same, of what answers and queries said, whatever a person said.
    pub(crate) fn child_proved(&self, index: u32) -> ChildRecord {
        self.child_by(index, |source| source != Source::OperatorAttested)
    }

    fn child_by(&self, index: u32, counts: impl Fn(Source) -> bool) -> ChildRecord {
        // What a query or a person said holds for the attempts up to then, and for none that came after.
        let own = |facts: &&ChildFacts| !is_answer(facts.source) && counts(facts.source);
        let later = self.children.of(index).rev().find(own);
        let since = later.map_or(0, |facts| facts.generation);
        let unknown = ChildRecord::plain(Outcome::Unknown, Some(Code::OutcomeUnknown));
        let taken_over = self.is_taken_over(index).then_some(unknown);
        let before = later.map(ChildRecord::from).or(taken_over);
        let open = self.attempts.iter().filter(|attempt| attempt.dispatch.generation > since);
        let told = open.map(|attempt| (self.child_in(attempt, index), attempt.is_answered_as_the_first()));
        let told: Vec<_> = told.collect();
        let own = together(told.iter().map(|(record, is_firsts)| (record.outcome, *is_firsts)));
        let outcome = Outcome::aggregate(before.iter().map(|record| record.outcome).chain([own]));
        let all = before.iter().chain(told.iter().map(|(record, _)| record));
        let newest = all.rev().find(|record| record.outcome == outcome).copied();
        let record =
            newest.unwrap_or_else(|| ChildRecord::plain(outcome, Some(code(self).unwrap_or(Code::Internal))));
        match outcome {
            Outcome::Unknown => self.settled_with_all(counts).unwrap_or(record),
            Outcome::NotAttempted | Outcome::Rejected | Outcome::Committed => record,
        }
    }

    /// What this attempt alone says of the child.
    fn child_in(&self, attempt: &Attempt, index: u32) -> ChildRecord {
        let generation = attempt.dispatch.generation;
        let own = |facts: &&ChildFacts| facts.generation == generation && is_answer(facts.source);
        if let Some(facts) = self.children.of(index).find(own) {
            return facts.into();
        }
        let ended = attempt.end.as_ref().map_or_else(|| code(self), |end| end.code);
        match (attempt.outcome(), self.batch_mode()) {
            (Outcome::Committed, BatchMode::Atomic) => ChildRecord::plain(Outcome::Committed, ended),
            (Outcome::Committed, BatchMode::Independent) => {
                ChildRecord::plain(Outcome::Unknown, Some(Code::OutcomeUnknown))
            }
            (outcome @ (Outcome::Rejected | Outcome::Unknown | Outcome::NotAttempted), _) => ChildRecord {
                repairable: self.settled.as_ref().is_some_and(|settled| settled.repairable),
                ..ChildRecord::plain(outcome, Some(ended.unwrap_or(Code::OutcomeUnknown)))
            },
        }
    }

    /// What a query or a person that settled the whole says of a child of which nothing else is known.
    fn settled_with_all(&self, counts: impl Fn(Source) -> bool) -> Option<ChildRecord> {
        let settled = self.settled.as_ref().filter(|settled| counts(settled.source))?;
        if is_answer(settled.source) {
            return None;
        }
        match (settled.outcome, self.batch_mode()) {
            (Outcome::Rejected, _) => Some(ChildRecord {
                repairable: settled.repairable,
                ..ChildRecord::plain(Outcome::Rejected, settled.code)
            }),
            // It happened, and nobody has what it brought.
            (Outcome::Committed, BatchMode::Atomic) => Some(ChildRecord::plain(
                Outcome::Committed,
                Some(settled.code.unwrap_or(Code::ResultUnavailable)),
            )),
            (Outcome::Committed, BatchMode::Independent)
            | (Outcome::Unknown | Outcome::NotAttempted, BatchMode::Atomic | BatchMode::Independent) => None,
        }
    }

    /// Why nothing is known of the child at this position; for one that is unknown.
    #[must_use]
    pub fn why_unknown(&self, index: u32) -> WhyUnknown {
        if self.settled.as_ref().is_some_and(|settled| !is_answer(settled.source)) {
            return WhyUnknown::OnlyTheWhole;
        }
        let unknown = |attempt: &&Attempt| self.child_in(attempt, index).outcome == Outcome::Unknown;
        match self.attempts.iter().rev().find(unknown) {
            Some(attempt) if attempt.end.is_none() => WhyUnknown::UnderWay,
            Some(attempt) if attempt.outcome() == Outcome::Committed => WhyUnknown::NotInAnswer,
            Some(attempt) => {
                let generation = attempt.dispatch.generation;
                match self.children.of(index).any(|facts| facts.generation == generation) {
                    true => WhyUnknown::NotInAnswer,
                    false => WhyUnknown::NoAnswer,
                }
            }
            None => WhyUnknown::SentBefore,
        }
    }

    /// Whether its children stand or fall together.
    #[must_use]
    pub fn is_atomic(&self) -> bool {
        self.is_batch() && self.batch_mode() == BatchMode::Atomic
    }

    fn batch_mode(&self) -> BatchMode {
        let batch = self.binding.as_ref().and_then(|binding| binding.contract.batch.as_ref());
        batch.map_or(BatchMode::Independent, |batch| batch.mode)
    }
}

closed_enum! {
    /// Why nothing is known of a child that was sent.
    pub enum WhyUnknown {
        /// It is being carried out.
        UnderWay = "under_way",
        /// No complete answer came to the request that carried it.
        NoAnswer = "no_answer",
        /// The answer says nothing of it that settles it: it is not there, or there twice, or it is unclear.
        NotInAnswer = "not_in_answer",
        /// It is unknown in the invocation that sent it first, and a refusal here doesn't settle that.
        SentBefore = "sent_before",
        /// What settled the whole says nothing of this one.
        OnlyTheWhole = "only_the_whole",
    }
}

/// Whether an attempt's own exchange says it.
const fn is_answer(source: Source) -> bool {
    match source {
        Source::TransportObserved | Source::RemoteResponse => true,
        Source::RemoteQuery | Source::OperatorAttested => false,
    }
}

/// What may be claimed of one child: its row of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildClaim {
    /// Its position.
    pub index: u32,
    /// Its identity.
    pub id: ChildId,
    /// What the records prove of it.
    pub outcome: Outcome,
    /// What happened; none: it was carried out, with success.
    pub code: Option<Code>,
    /// What automation may do.
    pub retry: Retry,
    /// What an agent should do; none for a success.
    pub action: Option<Action>,
    /// Digest of its output's canonical JSON.
    pub output: Option<Digest>,
}

/// What may be claimed of each child now; one claim for each that was bound, in order.
#[must_use]
pub fn claims(state: &State, now: UnixMillis) -> Vec<ChildClaim> {
    let Some(binding) = &state.binding else { return Vec::new() };
    let claim = |(index, id): (u32, &ChildId)| {
        let record = state.child(index);
        let row = record.code.map(Code::row);
        let retry = row.map_or(Retry::Never, |row| {
            of_child(state, record.outcome, retry(row.retry, state, record.outcome, now))
        });
        ChildClaim {
            index,
            id: id.clone(),
            outcome: record.outcome,
            code: record.code,
            retry,
            action: row.map(|row| action(row.action, record.repairable, retry, record.outcome)),
            output: record.output,
        }
    };
    (0..).zip(&binding.children).map(claim).collect()
}

/// Once the batch is settled it is not sent again whole. What is unknown in it is sent again alone, if at all,
/// and only where the remote would know it again.
fn of_child(state: &State, outcome: Outcome, retry: Retry) -> Retry {
    let lost = state.settled.is_some() && outcome == Outcome::Unknown && !is_known_alone(state);
    match retry {
        Retry::SameIdempotencyKey | Retry::Backoff if lost => Retry::Reconcile,
        Retry::SameIdempotencyKey
        | Retry::Never
        | Retry::AfterCorrection
        | Retry::Backoff
        | Retry::Reconcile
        | Retry::FetchResult => retry,
    }
}
