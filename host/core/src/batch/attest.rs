//! What a person says of one child, what is found of it afterwards, and what of a batch is left unknown.

use super::child::ChildRecord;
use crate::attestation::{AttestedOutcome, AttestedReason};
use crate::classify::Judgement;
use crate::code::Code;
use crate::contract::{Outcome, Source};
use crate::event::{ChildFacts, Event, ResultFacts, Settlement};
use crate::state::State;

/// The events of a person's word on one child. Where it is the last that was unknown, all of them together
/// settle the whole; what settled the whole before stays, and what the children make of it stands beside.
pub(crate) fn attested(
    state: &State,
    index: u32,
    outcome: AttestedOutcome,
    reason: AttestedReason,
) -> Vec<Event> {
    let position = usize::try_from(index).unwrap_or(usize::MAX);
    let bound = state.binding.as_ref().and_then(|binding| binding.children.get(position));
    let Some(id) = bound.cloned() else { return Vec::new() };
    let newest = state.attempts.last().map_or(0, |attempt| attempt.dispatch.generation);
    let told = Event::ChildSettled(ChildFacts {
        index,
        id,
        generation: newest,
        outcome: outcome.outcome(),
        code: Some(match outcome {
            AttestedOutcome::Rejected => Code::RemoteRejected,
            // It happened, and nobody has what it brought.
            AttestedOutcome::Committed => Code::ResultUnavailable,
        }),
        source: Source::OperatorAttested,
        repairable: false,
        output: None,
        attested_reason: Some(reason.as_str().to_owned()),
        left_unknown: None,
    });
    let mut after = state.clone();
    let known = after.apply(&told).is_ok() && !after.has_unknown_child();
    let mut events = vec![told];
    if !known {
        return events;
    }
    let (outcome, code) = of_records(&after.child_records());
    match &state.settled {
        None => {
            events.push(Event::OutcomeSettled(Settlement {
                outcome,
                code,
                source: Source::OperatorAttested,
                repairable: false,
                retry_after_seconds: None,
                http_status: None,
                attested_reason: None,
                unknown_children: 0,
            }));
            events.push(Event::ResultCommitted(ResultFacts::Nothing));
        }
        Some(settled) if settled.outcome != outcome => events.push(Event::EvidenceAttached {
            source: Source::OperatorAttested,
            source_sequence: after.children.len() as u64,
            outcome,
            child: None,
        }),
        Some(_) => {}
    }
    events
}

/// What children of which each is known make of a whole.
fn of_records(records: &[ChildRecord]) -> (Outcome, Option<Code>) {
    let first = records.first().and_then(|record| record.code);
    let alike =
        records.windows(2).all(|pair| (pair[0].outcome, pair[0].code) == (pair[1].outcome, pair[1].code));
    let happened = records.iter().any(|record| record.outcome == Outcome::Committed);
    match (happened, alike) {
        (true, true) => (Outcome::Committed, first),
        (true, false) => (Outcome::Committed, Some(Code::Partial)),
        (false, true) => (Outcome::Rejected, first),
        (false, false) => (Outcome::Rejected, Some(Code::RemoteRejected)),
    }
}

/// The settlement and result that a judgement of the whole leads to, after these events, where a person spoke of
/// single children: what their records make of it together. None: they leave it open, or say otherwise than the
/// answer that was judged.
pub(crate) fn with_words(
    state: &State,
    events: &[Event],
    settlement: Settlement,
    result: ResultFacts,
) -> Option<(Settlement, ResultFacts)> {
    let mut after = state.clone();
    for event in events {
        after.apply(event).ok()?;
    }
    let records = after.child_records();
    if !(0..).zip(&records).any(|(index, _)| after.is_childs_word(index)) {
        return Some((settlement, result));
    }
    let (outcome, code) = of_records(&records);
    if (outcome, code) == (settlement.outcome, settlement.code) {
        return Some((settlement, result));
    }
    let asked = settlement.source == Source::RemoteQuery && !after.has_unknown_child();
    asked.then_some((Settlement { outcome, code, repairable: false, ..settlement }, ResultFacts::Nothing))
}

/// What is found of children that a person settled: it stands beside that word.
pub(crate) fn beside(state: &State, judgement: &Judgement, source: Source, sequence: u64) -> Vec<Event> {
    let settled = judgement.children.iter().filter(|child| state.is_childs_word(child.index));
    let evidence = settled.map(|child| Event::EvidenceAttached {
        source,
        source_sequence: sequence,
        outcome: child.outcome,
        child: Some(child.index),
    });
    evidence.collect()
}

/// These events, with what they leave unknown of a batch's children in the last of them that bears on it:
/// without it nobody finds those of a batch that is settled.
pub(crate) fn with_what_is_left(state: &State, mut events: Vec<Event>) -> Vec<Event> {
    let bears = |event: &&mut Event| matches!(event, Event::OutcomeSettled(_) | Event::ChildSettled(_));
    if !state.is_batch() || !events.iter_mut().any(|event| bears(&event)) {
        return events;
    }
    let mut after = state.clone();
    if !events.iter().all(|event| after.apply(event).is_ok()) || after.settled.is_none() {
        return events;
    }
    let left = after.count_unknown_children();
    match events.iter_mut().rev().find(bears) {
        Some(Event::OutcomeSettled(settlement)) => settlement.unknown_children = left,
        Some(Event::ChildSettled(child)) => child.left_unknown = Some(left),
        Some(_) | None => {}
    }
    events
}
