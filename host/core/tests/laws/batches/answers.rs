//! One answer, read.

use super::*;
use crate::common::values::{complete, evidence, keyed, lost};
use proofport_core::envelope::{Envelope, RemoteData, Stored};
use proofport_core::evidence::HttpEvidence;
use proofport_core::project::project;
use std::collections::BTreeMap;

use Code::{
    OutcomeUnknown, Partial, RateLimited, RemoteFailed, RemoteRejected, RemoteResultIncomplete,
    ResultUnavailable, ResultUnreadable,
};
use Outcome::{Committed, Rejected, Unknown};

type Fate = (Outcome, Option<Code>);

const OK: Fate = (Committed, None);
const REFUSED: Fate = (Rejected, Some(RemoteRejected));
const HELD_BACK: Fate = (Rejected, Some(RateLimited));
const OPEN: Fate = (Unknown, Some(OutcomeUnknown));
const BROKEN: Fate = (Committed, Some(RemoteFailed));
const PARTLY: Fate = (Committed, Some(Partial));
const UNREAD: Fate = (Committed, Some(ResultUnreadable));

#[track_caller]
fn check(mode: BatchMode, status: u16, word: Claim, said: Vec<Said>, whole: Fate, children: [Fate; 3]) {
    let terms = batch(mode, contract(Effect::Write, Repeat::None));
    let state = answered(&terms, complete(status), verdict(word), said.clone());
    let what = format!("{mode:?} {status} {word:?} {said:?}");
    let end = state.attempts[0].end.clone().unwrap();
    assert_eq!((end.outcome, end.code), whole, "{what}");
    let got: Vec<_> = rows(&state).into_iter().map(|(outcome, code, _)| (outcome, code)).collect();
    assert_eq!(got, children, "{what}");
    // A whole that settles does so in the same step.
    assert_eq!(state.settled.is_some(), whole.0.is_settled(), "{what}");
    assert_eq!(state.children.len(), 3, "{what}");
}

#[test]
fn independent_children_have_fates_of_their_own() {
    let check = |word, said, whole, children| {
        check(BatchMode::Independent, 200, word, said, whole, children);
    };
    check(DONE, three(DONE, DONE, DONE), OK, [OK; 3]);
    // A 200 whose own summary hides what became of the children.
    check(DONE, three(DONE, CONFLICT, LATER), PARTLY, [OK, REFUSED, HELD_BACK]);
    check(DIFFER, three(DONE, CONFLICT, LATER), PARTLY, [OK, REFUSED, HELD_BACK]);
    check(DONE, three(CONFLICT, CONFLICT, CONFLICT), PARTLY, [REFUSED; 3]);
    check(DONE, three(UNCLEAR, DONE, DONE), PARTLY, [OPEN, OK, OK]);
    // All failed alike: the verdict has the better word.
    check(CONFLICT, three(CONFLICT, CONFLICT, CONFLICT), REFUSED, [REFUSED; 3]);
    check(CONFLICT, three(CONFLICT, LATER, CONFLICT), REFUSED, [REFUSED, HELD_BACK, REFUSED]);
    check(FAILED, three(FAILED, FAILED, FAILED), BROKEN, [BROKEN; 3]);
    check(UNCLEAR, three(UNCLEAR, UNCLEAR, UNCLEAR), OPEN, [OPEN; 3]);
    check(UNCLEAR, three(CONFLICT, CONFLICT, UNCLEAR), OPEN, [REFUSED, REFUSED, OPEN]);
    // What a child says is stronger than a summary that permits more than it does.
    check(CONFLICT, three(CONFLICT, DONE, CONFLICT), PARTLY, [REFUSED, OK, REFUSED]);
    check(CONFLICT, three(CONFLICT, UNCLEAR, CONFLICT), OPEN, [REFUSED, OPEN, REFUSED]);
    check(UNCLEAR, three(UNCLEAR, DONE, UNCLEAR), PARTLY, [OPEN, OK, OPEN]);
    check(CONFLICT, three(DONE, DONE, DONE), UNREAD, [OK; 3]);
    check(UNCLEAR, three(DONE, DONE, DONE), UNREAD, [OK; 3]);
    check(DIFFER, three(DONE, DONE, DONE), UNREAD, [OK; 3]);
}

#[test]
fn a_child_that_is_not_spoken_of_is_unknown() {
    let check = |word, said, whole, children| {
        check(BatchMode::Independent, 200, word, said, whole, children);
    };
    check(DONE, vec![say(0, "a", DONE), say(2, "c", DONE)], PARTLY, [OK, OPEN, OK]);
    check(DONE, vec![], PARTLY, [OPEN; 3]);
    check(DIFFER, vec![say(1, "b", CONFLICT)], PARTLY, [OPEN, REFUSED, OPEN]);
    check(CONFLICT, vec![say(1, "b", CONFLICT)], OPEN, [OPEN, REFUSED, OPEN]);
    // Refused as a whole, with a word for no child: that is a word for each.
    check(CONFLICT, vec![], REFUSED, [REFUSED; 3]);
    check(LATER, vec![], HELD_BACK, [HELD_BACK; 3]);
    check(UNCLEAR, vec![], OPEN, [OPEN; 3]);
    // Said twice: the same is the same, and what differs says nothing.
    let twice = |claim| vec![say(0, "a", DONE), say(1, "b", DONE), say(2, "c", DONE), say(1, "b", claim)];
    check(DONE, twice(DONE), OK, [OK; 3]);
    check(DONE, twice(CONFLICT), PARTLY, [OK, OPEN, OK]);
    let thrice = [twice(CONFLICT), vec![say(1, "b", DONE)]].concat();
    check(DONE, thrice, PARTLY, [OK, OPEN, OK]);
}

#[test]
fn what_was_never_sent_is_counted_and_not_believed() {
    let terms = independent(Repeat::None);
    let check = |said: Vec<Said>, unmatched: u32, children: [Fate; 3]| {
        let state = answered(&terms, complete(200), verdict(DIFFER), said.clone());
        let end = state.attempts[0].end.as_ref().unwrap();
        assert_eq!(end.unmatched_children, unmatched, "{said:?}");
        let got: Vec<_> = rows(&state).into_iter().map(|(outcome, code, _)| (outcome, code)).collect();
        assert_eq!(got, children, "{said:?}");
    };
    let all = three(DONE, DONE, CONFLICT);
    check(all.clone(), 0, [OK, OK, REFUSED]);
    check([all.clone(), vec![say(3, "d", DONE)]].concat(), 1, [OK, OK, REFUSED]);
    check([all.clone(), vec![say(u32::MAX, "", DONE), say(0, "A", DONE)]].concat(), 2, [OK, OK, REFUSED]);
    // By position and identity: one of them is not enough.
    check(vec![say(1, "a", DONE), say(0, "b", DONE), say(2, "c", CONFLICT)], 2, [OPEN, OPEN, REFUSED]);
}

#[test]
fn no_child_claims_more_than_its_answer_proves() {
    let check = |status, word, said, whole, children| {
        check(BatchMode::Independent, status, word, said, whole, children);
    };
    let mixed = || three(DONE, CONFLICT, FAILED);
    check(500, FAILED, mixed(), PARTLY, [OPEN, OPEN, BROKEN]);
    check(500, FAILED, three(FAILED, FAILED, FAILED), BROKEN, [BROKEN; 3]);
    // A verdict that is held back itself speaks for nobody.
    check(500, DONE, three(DONE, DONE, DONE), BROKEN, [OPEN; 3]);
    check(502, DONE, three(DONE, DONE, DONE), OPEN, [OPEN; 3]);
    check(404, CONFLICT, mixed(), PARTLY, [OK, REFUSED, BROKEN]);
    let listed = Contract { statuses_before_work: vec![503], ..independent(Repeat::None) };
    let state = answered(&listed, complete(503), verdict(LATER), three(LATER, DONE, LATER));
    assert_eq!(rows(&state)[1].0, Unknown, "a success under a refusal's ceiling");
    assert!(state.attempts[0].end.as_ref().unwrap().above_ceiling);
}

/// A refusal that an earlier copy of the request may have caused refuses no child.
#[test]
fn a_copy_on_the_way_makes_a_childs_refusal_unknown() {
    let terms = independent(Repeat::None);
    let copied = HttpEvidence { may_be_repeated: true, ..complete(200) };
    let refused = (Rejected, false, Reason::InvalidInput);
    let state = answered(&terms, copied, verdict(DIFFER), three(DONE, CONFLICT, refused));
    let outcomes: Vec<_> = rows(&state).into_iter().map(|(outcome, ..)| outcome).collect();
    assert_eq!(outcomes, [Committed, Unknown, Rejected]);
}

#[test]
fn an_answer_that_nobody_read_says_nothing_of_a_child() {
    let check = |evidence: HttpEvidence, reading: Reading, mode: BatchMode, whole: Fate, child: Fate| {
        let terms = batch(mode, contract(Effect::Write, Repeat::None));
        let state = answered(&terms, evidence, reading.clone(), three(DONE, DONE, DONE));
        let end = state.attempts[0].end.clone().unwrap();
        assert_eq!((end.outcome, end.code), whole, "{mode:?} {reading:?}");
        for (outcome, code, _) in rows(&state) {
            assert_eq!((outcome, code), child, "{mode:?} {reading:?}");
        }
        assert!(!project(&state, START).ok);
    };
    let faulted = || Reading::Faulted("trap".to_owned());
    let incomplete = (Unknown, Some(RemoteResultIncomplete));
    for mode in [BatchMode::Atomic, BatchMode::Independent] {
        check(lost(), Reading::None, mode, OPEN, OPEN);
        check(evidence(Some(200), None), Reading::None, mode, incomplete, incomplete);
        check(complete(404), faulted(), mode, REFUSED, REFUSED);
        check(complete(404), Reading::Withheld, mode, REFUSED, REFUSED);
    }
    check(complete(200), faulted(), BatchMode::Independent, UNREAD, OPEN);
    check(complete(200), faulted(), BatchMode::Atomic, UNREAD, UNREAD);
    check(complete(200), Reading::Withheld, BatchMode::Independent, UNREAD, OPEN);
    let unavailable = (Committed, Some(ResultUnavailable));
    check(complete(200), Reading::Withheld, BatchMode::Atomic, OK, unavailable);
}

#[test]
fn atomic_children_stand_or_fall_together() {
    let check = |word, said, whole, children| check(BatchMode::Atomic, 200, word, said, whole, children);
    check(DONE, vec![], OK, [OK; 3]);
    check(DONE, three(DONE, DONE, DONE), OK, [OK; 3]);
    check(CONFLICT, vec![], REFUSED, [REFUSED; 3]);
    check(CONFLICT, vec![say(1, "b", CONFLICT)], REFUSED, [REFUSED; 3]);
    check(UNCLEAR, vec![], OPEN, [OPEN; 3]);
    check(FAILED, vec![], BROKEN, [BROKEN; 3]);
    check(DONE, vec![say(7, "x", CONFLICT)], OK, [OK; 3]);
    // Children that contradict the whole leave nothing of either.
    check(DONE, vec![say(1, "b", CONFLICT)], UNREAD, [OPEN; 3]);
    check(CONFLICT, vec![say(1, "b", DONE)], OPEN, [OPEN; 3]);
    check(UNCLEAR, vec![say(1, "b", DONE)], OPEN, [OPEN; 3]);
    check(DONE, vec![say(1, "b", DONE), say(1, "b", FAILED)], UNREAD, [OPEN; 3]);
}

/// A success without what was promised is none, in one child as in the whole.
#[test]
fn a_childs_output_is_held_to_its_promise() {
    let terms = independent(Repeat::None);
    let check = |output: Held, claim: Claim, child: Fate, shown: bool| {
        let mut said = three(DONE, claim, DONE);
        said[1].output = output.clone();
        let state = answered(&terms, complete(200), verdict(DONE), said);
        let (outcome, code, _) = rows(&state)[1];
        assert_eq!((outcome, code), child, "{output:?}");
        assert_eq!(state.child(1).output.is_some(), shown, "{output:?}");
        let whole = state.settled.as_ref().unwrap().code;
        assert_eq!(whole, if child == OK { None } else { Some(Partial) }, "{output:?}");
    };
    let usable = || Held::Usable(json!({"n": 1}));
    check(Held::Nothing, DONE, OK, false);
    check(usable(), DONE, OK, true);
    check(Held::Broken, DONE, UNREAD, false);
    check(Held::Unavailable, DONE, (Committed, Some(ResultUnavailable)), false);
    check(usable(), CONFLICT, REFUSED, true);
    check(Held::Broken, CONFLICT, REFUSED, false);
    check(Held::Unavailable, CONFLICT, REFUSED, false);
}

/// An answer shows an output only where it is the one on record, and a success only with all of them.
#[test]
fn an_answer_shows_the_outputs_on_record() {
    let terms = independent(Repeat::None);
    let evidence = Evidence::from(complete(200));
    let mut said = three(DONE, DONE, DONE);
    for (n, said) in said.iter_mut().enumerate().take(2) {
        said.output = Held::Usable(json!({"n": n, "m": [1]}));
    }
    let judgement = judged(&terms, &evidence, verdict(DONE), said);
    let mut state = fold(&reach(Standing::Dispatched, Way::Write, &terms).unwrap());
    take(&mut state, Input::Exchanged(Box::new(evidence.clone())));
    let result = crate::common::values::output();
    take(&mut state, Input::Judged(Box::new(Judged { judgement, evidence, result })));
    let check = |first: Option<&str>, ok: bool| {
        let mut children = BTreeMap::from([(1, r#"{"m":[1],"n":1}"#.to_owned())]);
        children.extend(first.map(|first| (0, first.to_owned())));
        // One that nobody put on record is never shown.
        children.insert(2, r#"{"smuggled":true}"#.to_owned());
        let stored = Stored { result: Some(RemoteData::checked(json!({}))), children };
        let envelope = Envelope::of(&state, stored, false, START);
        assert_eq!(envelope.ok(), ok, "{envelope:?}");
        let [first, second, third] = envelope.children() else { panic!("{envelope:?}") };
        assert_eq!((first.ok(), second.ok(), third.ok()), (ok, true, true));
        assert_eq!(first.code(), (!ok).then_some(ResultUnavailable));
        assert_eq!(first.outcome(), Committed);
        assert_eq!((second.result(), third.result()), (Some(&json!({"n": 1, "m": [1]})), None));
        assert_eq!(envelope.code(), (!ok).then_some(ResultUnavailable));
    };
    check(Some(r#"{"m":[1],"n":0}"#), true);
    check(Some(r#"{"m":[1],"n":9}"#), false);
    // Exactly the bytes that were settled.
    check(Some(r#"{"m":[1], "n":0}"#), false);
    check(None, false);
}

/// The rows of field case 13: a bulk answer of 201, 409 and 429.
#[test]
fn each_child_has_its_own_advice() {
    let check = |repeat: Repeat, delay: Option<u32>, expected: [Retry; 3]| {
        let terms = independent(repeat);
        let mut reading = verdict(DONE);
        if let Reading::Verdict(verdict) = &mut reading {
            verdict.retry_after_seconds = delay;
        }
        let state = answered(&terms, complete(200), reading, three(DONE, CONFLICT, LATER));
        let got: Vec<_> = rows(&state).into_iter().map(|(_, _, retry)| retry).collect();
        assert_eq!(got, expected);
        let whole = project(&state, START);
        assert_eq!((whole.code, whole.retry, whole.retryable), (Some(Partial), Retry::Never, false));
    };
    let (never, corrected) = (Retry::Never, Retry::AfterCorrection);
    check(Repeat::None, Some(5), [never, corrected, Retry::Backoff]);
    check(Repeat::None, None, [never, corrected, never]);
    check(Repeat::Idempotent, None, [never, corrected, Retry::Backoff]);
    check(keyed(), None, [never, corrected, Retry::Backoff]);
}

/// An operation that is no batch is judged as it ever was, whatever its verdict says of children.
#[test]
fn an_operation_without_children_has_none() {
    let terms = contract(Effect::Write, Repeat::None);
    let evidence = Evidence::from(complete(200));
    let answer = Answer { bound: &[], evidence: &evidence, contract: &terms, asked_delay: None };
    let judgement = judge(answer, verdict(DONE), three(DONE, CONFLICT, DONE));
    assert_eq!((judgement.outcome, judgement.code, judgement.children.len()), (Committed, None, 0));
}

/// Where an intermediary may have sent a copy before, a child's refusal is no more proof than the whole's.
#[test]
fn a_childs_refusal_may_be_a_second_copys() {
    let check = |status: u16, reason: Reason, expected: Outcome| {
        for repeated in [false, true] {
            let evidence = HttpEvidence { may_be_repeated: repeated, ..complete(status) };
            let said = three(DONE, (Rejected, false, reason), DONE);
            let judgement = judged(&independent(Repeat::None), &evidence.into(), verdict(DIFFER), said);
            let expected = if repeated { expected } else { Rejected };
            assert_eq!(judgement.children[1].outcome, expected, "{status} {reason:?} {repeated}");
        }
    };
    // By its own reason, and by the status's: another word for it makes it no other answer.
    check(200, Reason::Conflict, Unknown);
    check(200, Reason::InvalidInput, Rejected);
    check(409, Reason::Conflict, Unknown);
    check(409, Reason::InvalidInput, Unknown);
    check(412, Reason::InvalidInput, Unknown);
    check(422, Reason::InvalidInput, Rejected);
}
