//! What is learnt after the first answer: by another attempt, by a query, by a person.

use super::*;
use crate::common::values::{
    child_id, complete, digest, end, keyed, lost, output, peer, query, reason, reconcilable, settlement,
};
use proofport_core::attestation::AttestedOutcome;
use proofport_core::batch::found;
use proofport_core::classify;
use proofport_core::contract::Source;
use proofport_core::decide::Readiness;
use proofport_core::event::{ChildFacts, QueryPurpose};
use proofport_core::project::project;
use proofport_core::state::IllegalEvent;

use Outcome::{Committed, Rejected, Unknown};

const PRESENT: Claim = (Committed, true, Reason::Present);
const ABSENT: Claim = (Rejected, false, Reason::Absent);

fn outcomes(state: &State) -> Vec<Outcome> {
    claims(state, START).into_iter().map(|claim| claim.outcome).collect()
}

/// Law 3, child by child: a second attempt's refusal settles no child that the first left unknown.
#[test]
fn a_later_refusal_settles_no_unknown_child() {
    let terms = independent(Repeat::Idempotent);
    let check = |first: Option<Vec<Said>>, second: Vec<Said>, word: Claim, expected: [Outcome; 3]| {
        let mut state = match first {
            Some(said) => answered(&terms, complete(200), verdict(UNCLEAR), said),
            None => answered(&terms, lost(), Reading::None, vec![]),
        };
        assert_eq!(state.outcome(), Unknown);
        let ready = Readiness { request: digest(9), peer: peer(), key: None, lease_millis: 9, follows: None };
        take(&mut state, Input::Ready(Box::new(ready)));
        answer(&mut state, &terms, complete(200), verdict(word), second.clone());
        assert_eq!(outcomes(&state), expected, "{second:?}");
    };
    check(None, three(DONE, CONFLICT, DONE), DONE, [Committed, Unknown, Committed]);
    check(None, three(CONFLICT, CONFLICT, CONFLICT), CONFLICT, [Unknown; 3]);
    check(None, vec![], CONFLICT, [Unknown; 3]);
    let refused_first = three(LATER, UNCLEAR, UNCLEAR);
    check(Some(refused_first.clone()), three(DONE, DONE, CONFLICT), DONE, [Committed, Committed, Unknown]);
    check(Some(refused_first), three(CONFLICT, UNCLEAR, DONE), DONE, [Rejected, Unknown, Committed]);
}

/// What a reconciliation says after a complete answer to its query.
fn reconcile(state: &mut State, word: Claim, said: Vec<Said>) -> Vec<EventKind> {
    let evidence = Evidence::from(complete(200));
    take(state, Input::Queried(Box::new(query(QueryPurpose::Reconcile, complete(200)))));
    let terms = state.binding.as_ref().unwrap().contract.clone();
    let plain = Contract { batch: None, ..terms };
    let whole = classify::judge(&evidence, &plain, verdict(word), None);
    let judgement = found(state, whole, (word.0, word.1), said);
    take(state, Input::Reconciled(Box::new(Judged { judgement, evidence, result: output() })))
}

/// A batch that was carried out and not read, or that a person says was carried out: that nothing is found of
/// it is no word on any child.
#[test]
fn absence_of_a_settled_batch_says_nothing_of_its_children() {
    let terms = reconcilable(independent(Repeat::None));
    let unread = answered(&terms, complete(200), Reading::Faulted("trap".to_owned()), vec![]);
    let mut attested = answered(&terms, lost(), Reading::None, vec![]);
    let outcome = AttestedOutcome::Committed;
    take(&mut attested, Input::Attested { outcome, reason: reason() });
    for mut state in [unread, attested] {
        assert_eq!((state.outcome(), outcomes(&state)), (Committed, vec![Unknown; 3]));
        reconcile(&mut state, ABSENT, vec![]);
        assert_eq!((state.outcome(), outcomes(&state)), (Committed, vec![Unknown; 3]));
    }
}

#[test]
fn a_query_settles_the_unknown_children_of_a_settled_batch() {
    let check = |word: Claim, said: Vec<Said>, expected: [Outcome; 3], told: usize| {
        let terms = reconcilable(independent(Repeat::None));
        let missing = vec![say(0, "a", DONE), say(1, "b", CONFLICT)];
        let mut state = answered(&terms, complete(200), verdict(DIFFER), missing);
        let (before, first) = (state.settled.clone(), state.children.clone());
        assert!(state.has_unknown_child());
        let events = reconcile(&mut state, word, said.clone());
        assert_eq!(outcomes(&state), expected, "{said:?}");
        assert_eq!(events.len(), told, "{said:?}");
        assert!(events.iter().all(|kind| *kind == EventKind::ChildSettled), "{events:?}");
        // What the answer said stays on record, and so does what settled the whole.
        assert_eq!((state.settled, &state.children[..3]), (before, &first[..]));
    };
    check(DIFFER, vec![say(2, "c", PRESENT)], [Committed, Rejected, Committed], 1);
    check(DIFFER, vec![say(2, "c", ABSENT)], [Committed, Rejected, Rejected], 1);
    check(DIFFER, vec![say(2, "c", UNCLEAR)], [Committed, Rejected, Unknown], 0);
    check(DIFFER, vec![say(1, "c", PRESENT)], [Committed, Rejected, Unknown], 0);
    // A query may not unsay what an answer said.
    let all = three(ABSENT, PRESENT, PRESENT);
    check(DIFFER, all, [Committed, Rejected, Committed], 1);
}

#[test]
fn a_query_settles_a_lost_batch_child_by_child() {
    use Code::{ConfirmedAbsent, Partial};
    type Settled = Option<(Outcome, Option<Code>)>;
    let check = |word: Claim, said: Vec<Said>, whole: Settled, expected: [Outcome; 3]| {
        let terms = reconcilable(independent(Repeat::None));
        let mut state = answered(&terms, lost(), Reading::None, vec![]);
        reconcile(&mut state, word, said.clone());
        let settled = state.settled.as_ref().map(|settled| (settled.outcome, settled.code));
        assert_eq!(settled, whole, "{said:?}");
        assert_eq!(outcomes(&state), expected, "{said:?}");
        let source = state.settled.as_ref().map(|settled| settled.source);
        assert_eq!(source, whole.map(|_| Source::RemoteQuery));
    };
    let partly = Some((Committed, Some(Partial)));
    check(PRESENT, three(PRESENT, PRESENT, PRESENT), Some((Committed, None)), [Committed; 3]);
    check(PRESENT, three(PRESENT, ABSENT, PRESENT), partly, [Committed, Rejected, Committed]);
    check(PRESENT, vec![], partly, [Unknown; 3]);
    check(ABSENT, vec![], Some((Rejected, Some(ConfirmedAbsent))), [Rejected; 3]);
    check(ABSENT, three(ABSENT, PRESENT, ABSENT), partly, [Rejected, Committed, Rejected]);
    check(ABSENT, vec![say(0, "a", ABSENT)], None, [Rejected, Unknown, Unknown]);
    check(UNCLEAR, vec![say(1, "b", ABSENT)], None, [Unknown, Rejected, Unknown]);
    check(UNCLEAR, vec![say(1, "b", PRESENT)], partly, [Unknown, Committed, Unknown]);
}

#[test]
fn an_atomic_batch_is_reconciled_whole() {
    let check = |word: Claim, said: Vec<Said>, expected: Outcome| {
        let terms = batch(BatchMode::Atomic, contract(Effect::Write, Repeat::None));
        let mut state = answered(&reconcilable(terms), lost(), Reading::None, vec![]);
        reconcile(&mut state, word, said.clone());
        assert_eq!(state.outcome(), expected, "{said:?}");
        assert_eq!(outcomes(&state), [expected; 3], "{said:?}");
    };
    check(PRESENT, vec![], Committed);
    check(ABSENT, vec![], Rejected);
    check(PRESENT, vec![say(0, "a", PRESENT)], Committed);
    check(PRESENT, vec![say(0, "a", ABSENT)], Unknown);
    check(ABSENT, vec![say(0, "a", PRESENT)], Unknown);
    check(UNCLEAR, vec![say(0, "a", PRESENT)], Unknown);
}

/// A person speaks of the whole. What that says of a child depends on whether all have one fate.
#[test]
fn an_attestation_says_of_a_child_what_it_can() {
    let check = |mode: BatchMode, attested: AttestedOutcome, expected: Outcome| {
        let terms = batch(mode, contract(Effect::Write, Repeat::None));
        let mut state = answered(&terms, lost(), Reading::None, vec![]);
        take(&mut state, Input::Attested { outcome: attested, reason: reason() });
        assert_eq!(outcomes(&state), [expected; 3], "{mode:?}, {attested}");
        assert!(claims(&state, START).iter().all(|claim| claim.code.is_some()));
    };
    check(BatchMode::Independent, AttestedOutcome::Rejected, Rejected);
    check(BatchMode::Independent, AttestedOutcome::Committed, Unknown);
    check(BatchMode::Atomic, AttestedOutcome::Rejected, Rejected);
    check(BatchMode::Atomic, AttestedOutcome::Committed, Committed);
}

/// A restart finds an answer that nobody judged: everything in it is unknown, and nothing is sent.
#[test]
fn a_restart_leaves_every_child_unknown() {
    for standing in [Standing::Dispatched, Standing::Answered] {
        let mut state = fold(&reach(standing, Way::Write, &independent(keyed())).unwrap());
        assert_eq!(claims(&state, START)[0].code, Some(Code::InProgress));
        take(&mut state, Input::Recovered);
        assert_eq!(outcomes(&state), [Unknown; 3]);
        assert_eq!(project(&state, START).outcome, Unknown);
    }
}

/// A record that claims more of a child than it proves is refused.
#[test]
fn a_childs_record_needs_proof() {
    let terms = independent(Repeat::None);
    let told = |change: &dyn Fn(&mut ChildFacts)| {
        let mut facts = ChildFacts {
            index: 2,
            id: child_id("c"),
            generation: 1,
            outcome: Committed,
            code: None,
            source: Source::OperatorAttested,
            repairable: false,
            output: None,
            attested_reason: None,
            left_unknown: None,
        };
        change(&mut facts);
        Event::ChildSettled(facts)
    };
    let check = |what: &str, change: &dyn Fn(&mut ChildFacts), permitted: bool| {
        let said = vec![say(0, "a", DONE), say(1, "b", CONFLICT)];
        let mut state = answered(&terms, complete(200), verdict(DIFFER), said);
        let refused = Err(IllegalEvent::Contradiction(EventKind::ChildSettled));
        let got = state.apply(&told(change));
        assert_eq!(got, if permitted { Ok(()) } else { refused }, "{what}");
    };
    check("a person, of an unknown child", &|_| {}, true);
    check("another identity", &|child| child.id = child_id("d"), false);
    check("another position", &|child| child.index = 1, false);
    check("no such position", &|child| child.index = 3, false);
    check("of an attempt that is still to come", &|child| child.generation = 2, false);
    check("unknown again", &|child| child.outcome = Unknown, false);
    check("a code of another outcome", &|child| child.code = Some(Code::RateLimited), false);
    check("a query that nobody sent", &|child| child.source = Source::RemoteQuery, false);
    check(
        "an answer's word after its time",
        &|child| {
            child.source = Source::RemoteResponse;
        },
        false,
    );
    check(
        "a child that is settled",
        &|child| {
            child.index = 1;
            child.id = child_id("b");
        },
        false,
    );
}

/// That nothing was there says nothing of an attempt that is made afterwards.
#[test]
fn a_child_that_was_absent_may_be_carried_out_later() {
    let terms = reconcilable(independent(Repeat::Idempotent));
    let mut state = answered(&terms, lost(), Reading::None, vec![]);
    reconcile(&mut state, UNCLEAR, vec![say(1, "b", ABSENT)]);
    assert_eq!(outcomes(&state), [Unknown, Rejected, Unknown]);
    let ready = Readiness { request: digest(9), peer: peer(), key: None, lease_millis: 9, follows: None };
    take(&mut state, Input::Ready(Box::new(ready)));
    assert_eq!(outcomes(&state), [Unknown; 3], "it is on its way again");
    answer(&mut state, &terms, complete(200), verdict(DONE), three(DONE, DONE, CONFLICT));
    assert_eq!(outcomes(&state), [Committed, Committed, Unknown]);
    let mut state = answered(&terms, lost(), Reading::None, vec![]);
    reconcile(&mut state, UNCLEAR, vec![say(1, "b", ABSENT)]);
    take(
        &mut state,
        Input::Ready(Box::new(Readiness {
            request: digest(9),
            peer: peer(),
            key: None,
            lease_millis: 9,
            follows: None,
        })),
    );
    answer(&mut state, &terms, complete(200), verdict(CONFLICT), vec![]);
    // The first attempt did not carry it out, and the second was refused.
    assert_eq!(outcomes(&state), [Unknown, Rejected, Unknown]);
}

/// The record refuses a settlement that its own children contradict.
#[test]
fn a_settlement_agrees_with_the_children() {
    let terms = reconcilable(independent(Repeat::None));
    let told = |index: u32, id: &str, outcome: Outcome, code: Option<Code>, source: Source| {
        let id = child_id(id);
        let (repairable, output) = (false, None);
        Event::ChildSettled(ChildFacts {
            index,
            id,
            generation: 1,
            outcome,
            code,
            source,
            repairable,
            output,
            attested_reason: None,
            left_unknown: None,
        })
    };
    let refused = Err(IllegalEvent::Contradiction(EventKind::OutcomeSettled));
    let check = |mut state: State, outcome: Outcome, source: Source, permitted: bool| {
        let got = state.apply(&Event::OutcomeSettled(settlement(outcome, source)));
        assert_eq!(got, if permitted { Ok(()) } else { refused }, "{outcome} {source}");
    };
    let answered = |second: Outcome| {
        let mut state = fold(&reach(Standing::Answered, Way::Write, &terms).unwrap());
        let code = (second == Rejected).then_some(Code::RateLimited);
        let answer = Source::RemoteResponse;
        let events = [
            Event::AttemptEnded(end(1, Committed)),
            told(0, "a", Committed, None, answer),
            told(1, "b", second, code, answer),
            told(2, "c", Committed, None, answer),
        ];
        events.iter().for_each(|event| state.apply(event).unwrap());
        state
    };
    check(answered(Committed), Committed, Source::RemoteResponse, true);
    check(answered(Rejected), Committed, Source::RemoteResponse, false);
    let mut found = fold(&reach(Standing::Ended, Way::Write, &terms).unwrap());
    take(&mut found, Input::Queried(Box::new(query(QueryPurpose::Reconcile, complete(200)))));
    check(found.clone(), Rejected, Source::RemoteQuery, true);
    found.apply(&told(0, "a", Committed, None, Source::RemoteQuery)).unwrap();
    check(found.clone(), Rejected, Source::RemoteQuery, false);
    check(found, Rejected, Source::OperatorAttested, true);
}
