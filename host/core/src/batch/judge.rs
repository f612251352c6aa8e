//! What an answer says of each child, and what that makes of the whole.

use super::bound::ChildId;
use crate::ceiling::Ceiling;
use crate::classify::{self, Judgement, Reading, code_of, repairable};
use crate::code::Code;
use crate::contract::{Outcome, Reason, Source};
use crate::evidence::Evidence;
use crate::manifest::{BatchMode, Contract};
use crate::row::may_be_a_copys_refusal;
use crate::verdict::ChildVerdict;
use serde_json::Value;

/// What there is of a child's output.
#[derive(Clone, Debug, PartialEq)]
pub enum Held {
    /// There is none, and none was promised.
    Nothing,
    /// It satisfies its schema and may be handed over.
    Usable(Value),
    /// It breaks its schema, or was promised and is not there.
    Broken,
    /// It may hold a secret, or is over the limit.
    Unavailable,
}

/// What a connector said of one child.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    /// Its reading. The output in it is not looked at.
    pub verdict: ChildVerdict,
    /// The output, held against its schema and the leak guard.
    pub output: Held,
}

/// What is claimed of one child.
#[derive(Clone, Debug, PartialEq)]
pub struct ChildJudgement {
    /// Its position.
    pub index: u32,
    /// The outcome.
    pub outcome: Outcome,
    /// The code; none: success.
    pub code: Option<Code>,
    /// Whether the caller can repair its input.
    pub repairable: bool,
    /// Its output.
    pub output: Option<Value>,
}

impl ChildJudgement {
    fn new(index: u32, outcome: Outcome, code: Option<Code>) -> Self {
        Self { index, outcome, code, repairable: false, output: None }
    }

    fn unknown(index: u32) -> Self {
        Self::new(index, Outcome::Unknown, Some(Code::OutcomeUnknown))
    }
}

/// An effect's exchange, for those who judge it.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// The children that were bound; none where the operation is no batch.
    pub bound: &'a [ChildId],
    /// What was seen.
    pub evidence: &'a Evidence,
    /// What the operation promises.
    pub contract: &'a Contract,
    /// The delay that the answer asked for, in seconds.
    pub asked_delay: Option<u32>,
}

/// Judges one attempt: as a whole, and child by child under the same ceiling. `said` are the children of
/// the reading's verdict.
///
/// An answer that nobody read says nothing of any child: then no child is judged, and each shares what is
/// known of the attempt.
#[must_use]
pub fn judge(answer: Answer<'_>, reading: Reading, said: Vec<Said>) -> Judgement {
    let Answer { bound, evidence, contract, asked_delay } = answer;
    let word = match &reading {
        Reading::Verdict(verdict) => Some((verdict.outcome, verdict.success)),
        Reading::None | Reading::Withheld | Reading::Faulted(_) => None,
    };
    let answered = reading != Reading::None;
    let whole = classify::judge(evidence, contract, reading, asked_delay);
    let Some(batch) = contract.batch.as_ref().filter(|_| answered && !bound.is_empty()) else {
        return whole;
    };
    let ceiling = Ceiling::of(evidence, contract);
    // A verdict that the transport overruled speaks for no child either.
    match word.filter(|_| !whole.above_ceiling && ceiling != Ceiling::Nothing) {
        None => unspoken(whole, bound, batch.mode),
        Some(word) => {
            let (matched, unmatched) = matched(bound, said);
            let judged = match batch.mode {
                BatchMode::Atomic => atomic(whole, word, matched),
                BatchMode::Independent => independent(whole, word, answer, ceiling, matched),
            };
            Judgement { unmatched_children: unmatched, ..judged }
        }
    }
}

/// What was said of a bound child.
pub(super) enum Match {
    Missing,
    /// Twice, and not the same.
    Contradictory,
    Once(Said),
}

/// What was said of each child, by position and identity, and how much was said of nobody.
pub(super) fn matched(bound: &[ChildId], said: Vec<Said>) -> (Vec<Match>, u32) {
    let mut matches: Vec<Match> = bound.iter().map(|_| Match::Missing).collect();
    let mut unmatched: u32 = 0;
    for said in said {
        let position = usize::try_from(said.verdict.index).unwrap_or(usize::MAX);
        let known = bound.get(position).is_some_and(|id| id.as_str() == said.verdict.id);
        match matches.get_mut(position).filter(|_| known) {
            None => unmatched = unmatched.saturating_add(1),
            Some(slot) => {
                *slot = match std::mem::replace(slot, Match::Contradictory) {
                    Match::Missing => Match::Once(said),
                    Match::Once(first) if first == said => Match::Once(first),
                    Match::Once(_) | Match::Contradictory => Match::Contradictory,
                }
            }
        }
    }
    (matches, unmatched)
}

/// Nobody read what the answer says of the children.
fn unspoken(whole: Judgement, bound: &[ChildId], mode: BatchMode) -> Judgement {
    let children = (0..).zip(bound).map(|(index, _)| shared(&whole, mode, index)).collect();
    let unread = mode == BatchMode::Independent && whole.outcome == Outcome::Committed;
    let code = if unread { whole.code.or(Some(Code::ResultUnreadable)) } else { whole.code };
    Judgement { children, code, ..whole }
}

/// A child of which nothing was said. A whole that was refused, or that is unknown, has no child that is
/// not; of one that happened, a child says nothing by itself unless all stand or fall together.
pub(super) fn shared(whole: &Judgement, mode: BatchMode, index: u32) -> ChildJudgement {
    match (whole.outcome, mode) {
        (Outcome::Rejected | Outcome::Unknown | Outcome::NotAttempted, _) => ChildJudgement {
            repairable: whole.repairable,
            ..ChildJudgement::new(index, whole.outcome, whole.code)
        },
        (Outcome::Committed, BatchMode::Atomic) => {
            // A success whose answer nobody may read has nothing to hand over.
            ChildJudgement::new(index, Outcome::Committed, whole.code.or(Some(Code::ResultUnavailable)))
        }
        (Outcome::Committed, BatchMode::Independent) => ChildJudgement::unknown(index),
    }
}

/// All have the whole's fate, and nothing that was said of a child may contradict it.
pub(super) fn atomic(whole: Judgement, word: (Outcome, bool), matched: Vec<Match>) -> Judgement {
    let contradicts = |said: &Match| match said {
        Match::Missing => false,
        Match::Contradictory => true,
        Match::Once(said) => (said.verdict.outcome, said.verdict.success) != word,
    };
    if matched.iter().any(contradicts) {
        let children = (0..).zip(matched).map(|(index, _)| ChildJudgement::unknown(index)).collect();
        return Judgement { children, ..contradicted(whole) };
    }
    let child = |(index, said): (u32, Match)| {
        let (code, output) = match said {
            Match::Once(Said { output, .. }) => handed_over(whole.code, output),
            Match::Missing | Match::Contradictory => (whole.code, None),
        };
        ChildJudgement {
            repairable: whole.repairable,
            output,
            ..ChildJudgement::new(index, whole.outcome, code)
        }
    };
    let children: Vec<_> = (0..).zip(matched).map(child).collect();
    // A success is claimed only with everything that was promised.
    let broken = children.iter().find_map(|child| child.code);
    let code = whole.code.or(broken);
    let output = if code == whole.code { whole.output } else { None };
    Judgement { children, code, output, ..whole }
}

/// What is left of a whole whose own children contradict it: nothing is refused, and nothing is a success.
fn contradicted(whole: Judgement) -> Judgement {
    let (outcome, code) = match whole.outcome {
        Outcome::Committed => (Outcome::Committed, Code::ResultUnreadable),
        Outcome::Rejected | Outcome::Unknown | Outcome::NotAttempted => {
            (Outcome::Unknown, Code::OutcomeUnknown)
        }
    };
    overruled(whole, outcome, code)
}

fn independent(
    whole: Judgement,
    (_, success): (Outcome, bool),
    answer: Answer<'_>,
    ceiling: Ceiling,
    matched: Vec<Match>,
) -> Judgement {
    // Refused as a whole, with a word for no child.
    if whole.outcome == Outcome::Rejected && matched.iter().all(|said| matches!(said, Match::Missing)) {
        let children =
            (0..).zip(matched).map(|(index, _)| shared(&whole, BatchMode::Independent, index)).collect();
        return Judgement { children, ..whole };
    }
    let unsaid = if whole.outcome == Outcome::Unknown { whole.code } else { Some(Code::OutcomeUnknown) };
    let mut above_ceiling = whole.above_ceiling;
    let children: Vec<_> = (0..)
        .zip(matched)
        .map(|(index, said)| match said {
            Match::Missing | Match::Contradictory => ChildJudgement::new(index, Outcome::Unknown, unsaid),
            Match::Once(said) if is_proved(&said.verdict, answer, ceiling) => claimed(index, said),
            Match::Once(_) => {
                above_ceiling = true;
                ChildJudgement::unknown(index)
            }
        })
        .collect();
    let outcomes: Vec<_> = children.iter().map(|child| (child.outcome, child.code)).collect();
    let whole = of_children(whole, success, &outcomes);
    Judgement { children, above_ceiling, ..whole }
}

/// Whether the transport proves as much as is claimed of a child.
fn is_proved(verdict: &ChildVerdict, answer: Answer<'_>, ceiling: Ceiling) -> bool {
    let claims = (verdict.outcome, verdict.reason);
    // A child may have been refused because an earlier copy of the request carried it out.
    let copied =
        answer.evidence.http().is_some_and(|http| may_be_a_copys_refusal(http, answer.contract, claims));
    ceiling.allows(verdict.outcome, verdict.success) && !copied
}

pub(super) fn claimed(index: u32, said: Said) -> ChildJudgement {
    let Said { verdict: ChildVerdict { outcome, success, reason, .. }, output } = said;
    // A child has no parts that could differ.
    let reason = if reason == Reason::Partial { Reason::RemoteFailed } else { reason };
    let (code, output) = handed_over(code_of(outcome, success, reason), output);
    ChildJudgement { index, outcome, code, repairable: repairable(outcome, reason), output }
}

/// A success is none without the output that was promised; a failure stands without it.
fn handed_over(code: Option<Code>, output: Held) -> (Option<Code>, Option<Value>) {
    match (code, output) {
        (code, Held::Nothing) => (code, None),
        (code, Held::Usable(output)) => (code, Some(output)),
        (None, Held::Broken) => (Some(Code::ResultUnreadable), None),
        (None, Held::Unavailable) => (Some(Code::ResultUnavailable), None),
        (Some(code), Held::Broken | Held::Unavailable) => (Some(code), None),
    }
}

/// What the children make of the whole. A batch is committed if any child is, a success only if each is,
/// and refused only if each is refused: what its own verdict says beyond that is not believed.
pub(super) fn of_children(
    whole: Judgement,
    success: bool,
    children: &[(Outcome, Option<Code>)],
) -> Judgement {
    let all = |wanted: Outcome| children.iter().all(|(outcome, _)| *outcome == wanted);
    let any_committed = children.iter().any(|(outcome, _)| *outcome == Outcome::Committed);
    let all_ok = children.iter().all(|(_, code)| code.is_none());
    let uniform = children.windows(2).all(|pair| pair[0] == pair[1]);
    let partial = |whole| overruled(whole, Outcome::Committed, Code::Partial);
    match whole.outcome {
        // All is well with each child, and the whole says otherwise.
        Outcome::Committed if all_ok && whole.code == Some(Code::Partial) => {
            overruled(whole, Outcome::Committed, Code::ResultUnreadable)
        }
        Outcome::Rejected | Outcome::Unknown | Outcome::NotAttempted if all_ok => {
            overruled(whole, Outcome::Committed, Code::ResultUnreadable)
        }
        Outcome::Committed if all_ok => whole,
        // Where all failed alike, the verdict has the better word for it.
        Outcome::Committed if uniform && !success => whole,
        Outcome::Committed => partial(whole),
        Outcome::Rejected | Outcome::Unknown | Outcome::NotAttempted if any_committed => partial(whole),
        Outcome::Rejected if !all(Outcome::Rejected) => {
            overruled(whole, Outcome::Unknown, Code::OutcomeUnknown)
        }
        Outcome::Rejected | Outcome::Unknown | Outcome::NotAttempted => whole,
    }
}

/// The judgement with another outcome and code. An output goes with the code that it was given for.
pub(super) fn overruled(whole: Judgement, outcome: Outcome, code: Code) -> Judgement {
    let same = whole.code == Some(code) && whole.outcome == outcome;
    let output = if same { whole.output } else { None };
    let source = match (outcome.is_settled(), whole.outcome.is_settled()) {
        (true, true) => whole.source,
        (true, false) => Source::RemoteResponse,
        (false, _) => Source::TransportObserved,
    };
    Judgement { outcome, code: Some(code), source, repairable: false, output, ..whole }
}
