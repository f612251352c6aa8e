//! What a person says of single children, what that makes of the whole, and what is found afterwards.

use super::*;
use crate::common::values::{complete, lost, query, reason, reconcilable};
use proofport_core::attestation::AttestedOutcome;
use proofport_core::batch::{WhyUnknown, found};
use proofport_core::classify;
use proofport_core::contract::{RetryOwner, Source};
use proofport_core::event::QueryPurpose;
use proofport_core::project::project;
use proofport_core::unknown::{NextStep, UnknownEffect, leaves_unsettled};

use Outcome::{Committed, Rejected, Unknown};

const PRESENT: Claim = (Committed, true, Reason::Present);
const ABSENT: Claim = (Rejected, false, Reason::Absent);

fn outcomes(state: &State) -> Vec<Outcome> {
    claims(state, START).into_iter().map(|claim| claim.outcome).collect()
}

fn word(index: u32, outcome: AttestedOutcome) -> Input {
    Input::ChildAttested { index, outcome, reason: reason() }
}

fn terms() -> Contract {
    reconcilable(independent(Repeat::None))
}

/// A batch of which only what is said here is known.
fn partly(said: Vec<Said>) -> State {
    answered(&terms(), complete(200), verdict(DIFFER), said)
}

fn unanswered() -> State {
    answered(&terms(), lost(), Reading::None, vec![])
}

/// The events of this input, applied.
fn take_all(state: &mut State, input: Input) -> Vec<Event> {
    let events = decide(state, input, START).unwrap();
    events.iter().for_each(|event| state.apply(event).unwrap());
    events
}

fn reconcile(state: &mut State, word: Claim, said: Vec<Said>) -> Vec<Event> {
    let evidence = Evidence::from(complete(200));
    take(state, Input::Queried(Box::new(query(QueryPurpose::Reconcile, complete(200)))));
    let plain = Contract { batch: None, ..terms() };
    let whole = classify::judge(&evidence, &plain, verdict(word), None);
    let judgement = found(state, whole, (word.0, word.1), said);
    let result = ResultFacts::Nothing;
    take_all(state, Input::Reconciled(Box::new(Judged { judgement, evidence, result })))
}

/// What stands beside a person's word after these events, by child.
fn beside(events: &[Event]) -> Vec<(Option<u32>, Outcome)> {
    let evidence = events.iter().filter_map(|event| {
        let Event::EvidenceAttached { child, outcome, .. } = event else { return None };
        Some((*child, *outcome))
    });
    evidence.collect()
}

#[test]
fn a_word_settles_one_unknown_child_once() {
    let check = |mut state: State, index: u32, permitted: bool| {
        for outcome in AttestedOutcome::ALL {
            let got = decide(&state, word(index, *outcome), START);
            assert_eq!(got.is_ok_and(|events| !events.is_empty()), permitted, "{index}, {outcome}");
        }
        if permitted {
            let (attempts, told) = (state.attempts.clone(), state.children.clone());
            take(&mut state, word(index, AttestedOutcome::Rejected));
            assert_eq!((&state.attempts, &state.children[..told.len()]), (&attempts, &told[..]));
            assert!(decide(&state, word(index, AttestedOutcome::Committed), START).is_err());
        }
    };
    let state = partly(vec![say(0, "a", DONE), say(1, "b", CONFLICT)]);
    check(state.clone(), 0, false);
    check(state.clone(), 1, false);
    check(state.clone(), 2, true);
    check(state, 3, false);
    check(unanswered(), 1, true);
    let under_way = fold(&reach(Standing::Dispatched, Way::Write, &terms()).unwrap());
    check(under_way, 1, false);
}

/// What is attested has no output to hand over, and each child keeps the reason that was given for it.
#[test]
fn a_childs_word_claims_no_success() {
    let check = |outcome: AttestedOutcome, row: (Outcome, Option<Code>, Retry)| {
        let mut state = partly(vec![say(0, "a", DONE), say(1, "b", CONFLICT)]);
        take(&mut state, word(2, outcome));
        assert_eq!(rows(&state)[2], row);
        let told = state.children.last().unwrap();
        assert_eq!(
            (told.source, told.attested_reason.as_deref()),
            (Source::OperatorAttested, Some(reason().as_str()))
        );
    };
    check(AttestedOutcome::Committed, (Committed, Some(Code::ResultUnavailable), Retry::Never));
    check(AttestedOutcome::Rejected, (Rejected, Some(Code::RemoteRejected), Retry::AfterCorrection));
}

/// The last word that was missing settles a whole that nothing has, by all of its children.
#[test]
fn the_last_word_settles_the_whole() {
    use AttestedOutcome::{Committed as Yes, Rejected as No};
    let check = |first: Option<Vec<Said>>,
                 said: &[(u32, AttestedOutcome)],
                 expected: (Outcome, Option<Code>)| {
        let mut state = unanswered();
        if let Some(found) = first {
            reconcile(&mut state, UNCLEAR, found);
        }
        let (last, before) = said.split_last().unwrap();
        for (index, outcome) in before {
            take(&mut state, word(*index, *outcome));
            assert_eq!((state.settled.clone(), state.outcome()), (None, Unknown), "{said:?}");
        }
        let attempts = state.attempts.clone();
        let events = take(&mut state, word(last.0, last.1));
        assert_eq!(events, [EventKind::ChildSettled, EventKind::OutcomeSettled, EventKind::ResultCommitted]);
        let settled = state.settled.clone().unwrap();
        assert_eq!(
            (settled.outcome, settled.code, settled.source),
            (expected.0, expected.1, Source::OperatorAttested)
        );
        assert_eq!((project(&state, START).outcome, project(&state, START).ok), (expected.0, false));
        assert_eq!(state.attempts, attempts, "what was seen stays");
    };
    check(None, &[(0, Yes), (1, Yes), (2, Yes)], (Committed, Some(Code::ResultUnavailable)));
    check(None, &[(2, No), (1, No), (0, No)], (Rejected, Some(Code::RemoteRejected)));
    check(None, &[(0, No), (1, Yes), (2, No)], (Committed, Some(Code::Partial)));
    let absent = vec![say(0, "a", ABSENT), say(1, "b", ABSENT)];
    check(Some(absent.clone()), &[(2, No)], (Rejected, Some(Code::RemoteRejected)));
    check(Some(absent), &[(2, Yes)], (Committed, Some(Code::Partial)));
}

/// What settled the whole stays. What its children make of it stands beside that, where it is not the same.
#[test]
fn a_settlement_is_not_taken_back() {
    let check = |mut state: State, said: &[(u32, AttestedOutcome)], expected: &[(Option<u32>, Outcome)]| {
        let settled = state.settled.clone();
        let mut events = Vec::new();
        for (index, outcome) in said {
            events.extend(take_all(&mut state, word(*index, *outcome)));
        }
        assert_eq!(state.settled, settled);
        assert_eq!(beside(&events), expected);
    };
    use AttestedOutcome::{Committed as Yes, Rejected as No};
    let unread = || answered(&terms(), complete(200), Reading::Faulted("trap".to_owned()), vec![]);
    check(unread(), &[(0, No), (1, No)], &[]);
    check(unread(), &[(0, No), (1, No), (2, No)], &[(None, Rejected)]);
    check(unread(), &[(0, No), (1, Yes), (2, No)], &[]);
    check(partly(vec![say(0, "a", DONE), say(1, "b", CONFLICT)]), &[(2, No)], &[]);
}

/// What is found later of what a person settled is kept, child by child, and changes nothing that is claimed.
#[test]
fn what_is_found_stands_beside_a_word() {
    let check = |mut state: State,
                 word: Claim,
                 said: Vec<Said>,
                 expected: &[(Option<u32>, Outcome)],
                 then: [Outcome; 3]| {
        let events = reconcile(&mut state, word, said.clone());
        assert_eq!(beside(&events), expected, "{said:?}");
        assert_eq!(outcomes(&state), then, "{said:?}");
        assert!(
            state
                .attached_children
                .iter()
                .all(|(child, outcome)| expected.contains(&(Some(*child), *outcome)))
        );
    };
    let whole = |outcome: AttestedOutcome| {
        let mut state = unanswered();
        take(&mut state, Input::Attested { outcome, reason: reason() });
        state
    };
    let (yes, no) = (AttestedOutcome::Committed, AttestedOutcome::Rejected);
    let mixed = || vec![say(0, "a", PRESENT), say(1, "b", ABSENT)];
    // Attested as refused: the remote says that one happened.
    let all = [(Some(0), Committed), (Some(1), Rejected), (None, Committed)];
    check(whole(no), UNCLEAR, mixed(), &all, [Rejected; 3]);
    check(whole(no), UNCLEAR, vec![say(1, "b", ABSENT)], &[(Some(1), Rejected)], [Rejected; 3]);
    check(
        whole(no),
        UNCLEAR,
        three(ABSENT, ABSENT, ABSENT),
        &[(Some(0), Rejected), (Some(1), Rejected), (Some(2), Rejected)],
        [Rejected; 3],
    );
    check(whole(no), ABSENT, vec![], &[(None, Rejected)], [Rejected; 3]);
    // Attested as carried out, which says nothing of a child: what is found settles it.
    check(whole(yes), UNCLEAR, mixed(), &[(None, Committed)], [Committed, Rejected, Unknown]);
    check(whole(yes), ABSENT, vec![], &[(None, Rejected)], [Unknown; 3]);
    // One child by itself.
    let mut one = partly(vec![say(0, "a", DONE)]);
    take(&mut one, word(1, yes));
    check(one.clone(), UNCLEAR, mixed(), &[(Some(1), Rejected)], [Committed, Committed, Unknown]);
    check(one, UNCLEAR, vec![say(2, "c", ABSENT)], &[], [Committed, Committed, Rejected]);
    let mut open = unanswered();
    take(&mut open, word(0, no));
    check(open, UNCLEAR, vec![say(0, "a", PRESENT)], &[(Some(0), Committed)], [Rejected, Unknown, Unknown]);
}

/// What is found of a whole that is open is held to what a person said of one child: it neither takes that back
/// nor is lost over it.
#[test]
fn a_finding_of_the_whole_is_held_to_a_word() {
    let check = |said_before: AttestedOutcome, whole: Claim, said: Vec<Said>, then: [Outcome; 3]| {
        let mut state = unanswered();
        take(&mut state, word(0, said_before));
        reconcile(&mut state, whole, said.clone());
        assert_eq!(outcomes(&state), then, "{said:?}");
        let settled = state.settled.as_ref().map(|settled| (settled.outcome, settled.code));
        assert_eq!(settled, Some((Committed, Some(Code::Partial))), "{said:?}");
    };
    let (yes, no) = (AttestedOutcome::Committed, AttestedOutcome::Rejected);
    check(yes, ABSENT, vec![], [Committed, Rejected, Rejected]);
    check(no, PRESENT, three(PRESENT, PRESENT, PRESENT), [Rejected, Committed, Committed]);
    // Nobody has what the first one brought.
    check(yes, PRESENT, three(PRESENT, PRESENT, PRESENT), [Committed; 3]);
    // One that is open still leaves the whole open.
    let mut open = unanswered();
    take(&mut open, word(0, yes));
    reconcile(&mut open, UNCLEAR, vec![say(1, "b", ABSENT)]);
    assert!(open.settled.is_none());
    assert_eq!(outcomes(&open), [Committed, Rejected, Unknown]);
}

/// Children of a batch that is settled wait for somebody, too, until each is known.
#[test]
fn unknown_children_of_a_settled_batch_are_listed() {
    use WhyUnknown::{NoAnswer, NotInAnswer, OnlyTheWhole};
    let check = |state: &State, children: &[(u32, WhyUnknown)], next: &[NextStep]| {
        let listed = UnknownEffect::of(state, Some(START), START);
        let got = listed.as_ref().map_or(&[][..], |listed| &listed.children);
        assert_eq!(got.iter().map(|child| (child.index, child.why)).collect::<Vec<_>>(), children);
        assert_eq!(listed.as_ref().map_or(&[][..], |listed| &listed.next), next);
        if let Some(listed) = listed.filter(|_| state.settled.is_some()) {
            assert_eq!((listed.retry, listed.retry_owner), (Retry::Reconcile, RetryOwner::Operator));
        }
    };
    let ask = NextStep::Reconcile { absence_counts_from: Some(START.plus_seconds(60)) };
    let settled = [ask, NextStep::AttestChildren];
    let mut state = partly(vec![say(0, "a", DONE)]);
    check(&state, &[(1, NotInAnswer), (2, NotInAnswer)], &settled);
    take(&mut state, word(1, AttestedOutcome::Committed));
    check(&state, &[(2, NotInAnswer)], &settled);
    take(&mut state, word(2, AttestedOutcome::Rejected));
    check(&state, &[], &[]);
    let mut lost = unanswered();
    let all = |why| [(0, why), (1, why), (2, why)];
    check(&lost, &all(NoAnswer), &[ask, NextStep::Attest]);
    take(&mut lost, Input::Attested { outcome: AttestedOutcome::Committed, reason: reason() });
    check(&lost, &all(OnlyTheWhole), &settled);
    let repeatable = answered(&independent(Repeat::Idempotent), complete(200), verdict(DIFFER), vec![]);
    check(&repeatable, &all(NotInAnswer), &[NextStep::Repeat, NextStep::AttestChildren]);
}

/// The index says the same, whatever settles the batch or its children.
#[test]
fn the_index_follows_the_children() {
    let check = |history: &[Event], expected: bool| {
        assert_eq!(leaves_unsettled(history), Some(expected), "{history:?}");
    };
    let answer = |said: Vec<Said>| {
        let mut state = fold(&reach(Standing::Answered, Way::Write, &terms()).unwrap());
        let evidence = Evidence::from(complete(200));
        let judgement = judged(&terms(), &evidence, verdict(DIFFER), said);
        let result = ResultFacts::Nothing;
        let events = take_all(&mut state, Input::Judged(Box::new(Judged { judgement, evidence, result })));
        (state, events)
    };
    let (_, events) = answer(three(DONE, CONFLICT, DONE));
    check(&events, false);
    let (mut state, mut events) = answer(vec![say(0, "a", DONE)]);
    check(&events, true);
    events.extend(take_all(&mut state, word(1, AttestedOutcome::Committed)));
    check(&events, true);
    events.extend(take_all(&mut state, Input::Delivered));
    events.extend(reconcile(&mut state, UNCLEAR, vec![say(2, "c", ABSENT)]));
    check(&events, false);
    let mut lost = unanswered();
    let attested = Input::Attested { outcome: AttestedOutcome::Committed, reason: reason() };
    check(&take_all(&mut lost, attested), true);
    check(&reconcile(&mut lost, UNCLEAR, three(PRESENT, ABSENT, PRESENT)), false);
    let mut lost = unanswered();
    assert_eq!(leaves_unsettled(&take_all(&mut lost, word(0, AttestedOutcome::Committed))), None);
}

/// A settlement that says how many it leaves unknown says it right.
#[test]
fn a_settlement_counts_what_it_leaves_unknown() {
    let check = |count: u32, permitted: bool| {
        let mut state = unanswered();
        let attested = Input::Attested { outcome: AttestedOutcome::Committed, reason: reason() };
        let mut events = decide(&state, attested, START).unwrap();
        let Event::OutcomeSettled(settlement) = &mut events[0] else { panic!("{events:?}") };
        assert_eq!(settlement.unknown_children, 3);
        settlement.unknown_children = count;
        assert_eq!(state.apply(&events[0]).is_ok(), permitted, "{count}");
    };
    check(3, true);
    check(2, false);
    check(4, false);
    // Records from before it was kept say nothing.
    check(0, true);
}
