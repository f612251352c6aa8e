//! Laws that hold of children on every walk, and of every answer.

use super::*;
use crate::common::inputs::decided_walk;
use crate::common::values::{KEY_END, complete, keyed};
use crate::common::walk::{contracts, picks, walk};
use proofport_core::batch::again::again;
use proofport_core::ceiling::Ceiling;
use proofport_core::code::OutcomeRule;
use proofport_core::contract::{KeyPlace, Source};
use proofport_core::project::project;
use proofport_core::time::UnixMillis;
use proptest::prelude::{ProptestConfig, Strategy, any, prop, proptest};

const STEPS: usize = 40;

fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

/// Exactly one row for each child that was bound, and none that claims what the invocation can't.
fn check_rows(state: &State, now: UnixMillis) {
    let rows = claims(state, now);
    let bound = state.binding.as_ref().map_or(0, |binding| binding.children.len());
    assert_eq!(rows.len(), bound);
    let bound = state.binding.iter().flat_map(|binding| &binding.children);
    for ((row, id), index) in rows.iter().zip(bound).zip(0..) {
        assert_eq!((row.index, &row.id), (index, id));
        assert_eq!(row.code.is_none(), row.action.is_none());
        if let Some(OutcomeRule::Is(outcome)) = row.code.map(|code| code.row().outcome) {
            assert_eq!(row.outcome, outcome, "{row:?}");
        }
        if row.code.is_none() {
            assert_eq!((row.outcome, row.retry), (Outcome::Committed, Retry::Never), "{row:?}");
        }
        if state.dispatched() {
            assert_ne!(row.outcome, Outcome::NotAttempted, "{row:?}");
        } else {
            assert_eq!(row.outcome, Outcome::NotAttempted, "{row:?}");
        }
        if row.outcome == Outcome::Committed {
            assert!(!matches!(row.retry, Retry::Backoff | Retry::SameIdempotencyKey), "{row:?}");
        }
    }
    let settled = state.settled.as_ref();
    // A person speaks of the whole alone.
    if settled.is_some_and(|settled| settled.source == Source::OperatorAttested) {
        return;
    }
    // A success is one of each child, and a batch that was refused has none that was carried out.
    if project(state, now).ok {
        assert!(rows.iter().all(|row| row.outcome == Outcome::Committed), "{state:?}");
    }
    if settled.is_some_and(|settled| settled.outcome == Outcome::Rejected) {
        assert!(rows.iter().all(|row| row.outcome != Outcome::Committed), "{state:?}");
    }
}

/// Nothing that is carried out is sent again, nor anything unknown that its contract does not cover.
fn check_again(state: &State, now: UnixMillis) {
    let found = again(state, now);
    let Some(binding) = &state.binding else { return assert!(found.children.is_empty()) };
    let children = claims(state, now);
    for index in &found.children {
        let child = &children[*index as usize];
        match child.outcome {
            Outcome::Rejected => assert!(!found.unknown.contains(index)),
            Outcome::Unknown => {
                assert!(found.unknown.contains(index));
                match &binding.contract.repeat {
                    Repeat::Idempotent => {}
                    Repeat::Keyed(keyed) => {
                        assert_eq!(keyed.place, KeyPlace::Connector);
                        assert!(now < KEY_END);
                    }
                    other @ (Repeat::None | Repeat::Conditional) => panic!("{other:?}"),
                }
            }
            other @ (Outcome::NotAttempted | Outcome::Committed) => panic!("{other} is sent again"),
        }
    }
    if !found.children.is_empty() {
        assert_eq!(binding.contract.batch.as_ref().unwrap().mode, BatchMode::Independent);
    }
}

fn rank(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::NotAttempted => 0,
        Outcome::Unknown => 1,
        Outcome::Rejected | Outcome::Committed => 2,
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_child_has_one_row_in_every_state(terms in contracts(), picks in picks(STEPS)) {
        walk(&terms, &picks, |step| {
            for now in [START, KEY_END, UnixMillis(u64::MAX)] {
                check_rows(step.after, now);
                check_again(step.after, now);
            }
        });
    }

    #[test]
    fn what_is_decided_gives_each_child_its_row(terms in contracts(), picks in picks(STEPS)) {
        decided_walk(&terms, &picks, |_, _, _, state| {
            check_rows(state, START);
            check_again(state, START);
        });
    }

    /// What is settled of a child stays so, whatever else is learnt; a refusal, unless all are sent again.
    #[test]
    fn a_childs_outcome_only_gets_stronger(terms in contracts(), picks in picks(STEPS)) {
        walk(&terms, &picks, |step| {
            // What an answer says of a child comes in one step with what it says of the whole.
            let with_end = matches!(step.event, Event::ChildSettled(child) if child.source == Source::RemoteResponse
                || child.source == Source::TransportObserved);
            if with_end || step.before.binding.is_none() || step.event.kind() == EventKind::DispatchStarted {
                return;
            }
            for (before, after) in claims(step.before, START).iter().zip(claims(step.after, START)) {
                let again = before.outcome == Outcome::Rejected && step.before.settled.is_none();
                assert!(again || rank(after.outcome) >= rank(before.outcome), "{:?}", step.event);
                if rank(before.outcome) == 2 && !again {
                    assert_eq!(before.outcome, after.outcome, "{:?}", step.event);
                }
            }
        });
    }

    /// No child above the ceiling, whatever a connector says.
    #[test]
    fn no_child_is_judged_above_its_ceiling(said in said(), word in claim(), seen in seen(), atomic in any::<bool>()) {
        let mode = if atomic { BatchMode::Atomic } else { BatchMode::Independent };
        let terms = batch(mode, contract(Effect::Write, Repeat::None));
        let judgement = judged(&terms, &seen, verdict(word), said);
        let ceiling = Ceiling::of(&seen, &terms);
        assert_eq!(judgement.children.len(), 3);
        for (child, index) in judgement.children.iter().zip(0..) {
            assert_eq!(child.index, index);
            let alone = ceiling.allows(child.outcome, child.code.is_none());
            let of_all = (child.outcome, child.code) == (judgement.outcome, judgement.code);
            assert!(alone || of_all, "{child:?} under {ceiling:?} of {judgement:?}");
        }
        let all = |wanted: Outcome| judgement.children.iter().all(|child| child.outcome == wanted);
        let any = |wanted: Outcome| judgement.children.iter().any(|child| child.outcome == wanted);
        match (judgement.outcome, judgement.code) {
            (Outcome::Committed, None) => {
                assert!(judgement.children.iter().all(|child| child.code.is_none()), "{judgement:?}");
            }
            // The output was a success's.
            (Outcome::Committed, Some(_)) => assert!(judgement.output.is_none() || !word.1),
            (Outcome::Rejected, _) => assert!(all(Outcome::Rejected), "{judgement:?}"),
            (Outcome::Unknown, _) => assert!(!any(Outcome::Committed), "{judgement:?}"),
            (Outcome::NotAttempted, _) => panic!("{judgement:?}"),
        }
    }

    /// And the record refuses one that is.
    #[test]
    fn what_is_judged_applies(said in said(), word in claim(), seen in seen(), repeat in 0..4_usize) {
        let repeat = [Repeat::None, Repeat::Idempotent, Repeat::Conditional, keyed()][repeat].clone();
        let state = answered(&independent(repeat), seen, verdict(word), said);
        check_rows(&state, START);
        check_again(&state, START);
    }
}

fn claim() -> impl Strategy<Value = Claim> {
    prop::sample::select(vec![
        DONE,
        CONFLICT,
        LATER,
        UNCLEAR,
        FAILED,
        DIFFER,
        (Outcome::Unknown, true, Reason::Done),
    ])
}

/// Answers of which each is complete, so that a connector is asked.
fn seen() -> impl Strategy<Value = Evidence> {
    let status = prop::sample::select(vec![200, 207, 307, 404, 409, 429, 500, 502, 503]);
    status.prop_map(|status| Evidence::from(complete(status)))
}

fn said() -> impl Strategy<Value = Vec<Said>> {
    let one = (0..4_u32, prop::sample::select(vec!["a", "b", "c", "d"]), claim(), any::<bool>());
    let one = one.prop_map(|(index, id, claim, matching)| {
        let id = if matching { ["a", "b", "c", "d"][index as usize] } else { id };
        say(index, id, claim)
    });
    prop::collection::vec(one, 0..7)
}

/// Walks that never divide a batch prove nothing about it.
#[test]
fn some_answers_leave_something_to_send_again() {
    let state = answered(
        &independent(Repeat::Idempotent),
        complete(200),
        verdict(DIFFER),
        three(DONE, LATER, UNCLEAR),
    );
    assert_eq!(again(&state, START).children, [1, 2]);
    check_again(&state, START);
}
