//! What a reconciliation says of each child, and what that makes of the whole.

use super::judge::{ChildJudgement, Match, Said, atomic, claimed, matched, of_children, overruled, shared};
use crate::classify::Judgement;
use crate::code::Code;
use crate::contract::{Outcome, Source};
use crate::manifest::BatchMode;
use crate::state::State;

/// What a reconciliation found, child by child. `whole` is what it found of the batch, and each outcome in
/// `said` is cut down to what a query proves. Only children are judged whose fate no answer and no earlier
/// query proved; where a person spoke of one, what is found stands beside that word and takes nothing of it.
#[must_use]
pub fn found(state: &State, whole: Judgement, word: (Outcome, bool), said: Vec<Said>) -> Judgement {
    let binding = state.binding.as_ref().filter(|binding| !binding.children.is_empty());
    let Some((binding, batch)) = binding.and_then(|b| b.contract.batch.as_ref().map(|batch| (b, batch)))
    else {
        return whole;
    };
    let (matched, unmatched) = matched(&binding.children, said);
    let judged = match batch.mode {
        BatchMode::Atomic => found_atomic(state, whole, word, matched),
        BatchMode::Independent => found_independent(state, whole, word.1, matched),
    };
    Judgement { unmatched_children: unmatched, ..judged }
}

/// An atomic batch is found whole, or nothing is.
fn found_atomic(state: &State, whole: Judgement, word: (Outcome, bool), matched: Vec<Match>) -> Judgement {
    let judged = atomic(whole, word, matched);
    let settled = judged.children.iter().all(|child| child.outcome.is_settled());
    if !(judged.outcome.is_settled() && settled) {
        return Judgement {
            children: Vec::new(),
            ..overruled(judged, Outcome::Unknown, Code::OutcomeUnknown)
        };
    }
    let open = |child: &ChildJudgement| state.child(child.index).outcome == Outcome::Unknown;
    let children = judged.children.iter().filter(|child| open(child)).cloned().collect();
    Judgement { children, ..judged }
}

fn found_independent(state: &State, whole: Judgement, success: bool, matched: Vec<Match>) -> Judgement {
    // What the remote itself settled was there: that nothing is found of it now says nothing of its children.
    let was_there = state.settled.as_ref().is_some_and(|settled| match settled.source {
        Source::TransportObserved | Source::RemoteResponse | Source::RemoteQuery => true,
        Source::OperatorAttested => false,
    });
    let absent = !was_there
        && whole.outcome == Outcome::Rejected
        && matched.iter().all(|m| matches!(m, Match::Missing));
    let mut children = Vec::new();
    let mut outcomes = Vec::with_capacity(matched.len());
    for (index, said) in (0..).zip(matched) {
        let before = state.child_proved(index);
        // That this call's effect is absent does not say that the first one's is.
        let refusable = !state.is_taken_over(index);
        let now = match said {
            _ if before.outcome.is_settled() => None,
            Match::Once(said) if said.verdict.outcome == Outcome::Rejected && !refusable => None,
            Match::Once(said) if said.verdict.outcome.is_settled() => Some(claimed(index, said)),
            // Nothing of the batch is there.
            Match::Missing if absent && refusable => Some(shared(&whole, BatchMode::Independent, index)),
            Match::Missing | Match::Once(_) | Match::Contradictory => None,
        };
        outcomes
            .push(now.as_ref().map_or((before.outcome, before.code), |child| (child.outcome, child.code)));
        let open = state.child(index).outcome == Outcome::Unknown;
        // That nothing is found of a whole that a person settled is no word on a single child.
        let told = !(absent && state.settled.is_some());
        children.extend(now.filter(|_| told).map(|child| match open {
            true => child,
            // What a person settled has no output, whatever is found of it.
            false => ChildJudgement { output: None, ..child },
        }));
    }
    Judgement { children, ..of_children(whole, success, &outcomes) }
}
