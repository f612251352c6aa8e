//! Answers under an idempotency key: the first request's, by its mark; "still running"; and the key with other
//! bytes.

use crate::aggregation::Ending::{Marked, Mismatch, NoResponse, Status};
use crate::aggregation::{attempt, begun, ready, take};
use crate::classify::{claimed, verdict};
use crate::common::values::{
    KEY_END, START, accepted, batch, binding, complete, contract, credential, digest, end, evidence, key_use,
    keyed, lost, marking, marks, peer, settlement, stop,
};
use proofport_core::ceiling::Ceiling;
use proofport_core::code::Code;
use proofport_core::contract::{Effect, KeyPlace, KeyedContract, Outcome, Phase, Reason, Repeat, Source};
use proofport_core::decide::{Input, Readiness};
use proofport_core::event::{Accepted, AttemptEnd, Binding, ChildFacts, Continues, Event, EventKind};
use proofport_core::evidence::HttpEvidence;
use proofport_core::id::{IdempotencyKey, RequestId};
use proofport_core::manifest::{BatchMode, Contract};
use proofport_core::project::project;
use proofport_core::retry::{Leave, Plan, RetryBudget, is_same_effect, permitted, plan};
use proofport_core::state::{IllegalEvent, State};
use proofport_core::time::UnixMillis;

use Outcome::{Committed, Rejected, Unknown};

const BUDGET: RetryBudget =
    RetryBudget { attempts: 4, total_seconds: 7200, first_delay_millis: 1000, longest_delay_millis: 8000 };

/// A second attempt that was answered; the first is unknown.
fn answered_again(terms: &Contract) -> State {
    let mut state = begun(terms);
    attempt(&mut state, terms, NoResponse, START).unwrap();
    take(&mut state, ready(terms), START).unwrap();
    for event in [Event::RequestSent { generation: 2 }, Event::RemoteResponseComplete { generation: 2 }] {
        state.apply(&event).unwrap();
    }
    state
}

fn refused(evidence: HttpEvidence) -> Event {
    Event::AttemptEnded(AttemptEnd { evidence: evidence.into(), ..end(2, Rejected) })
}

/// What is marked needs a contract that names the mark, a key, and a complete answer of the origin.
#[test]
fn a_mark_that_nothing_supports_is_refused() {
    let contradiction = Err(IllegalEvent::Contradiction(EventKind::AttemptEnded));
    let check = |state: &State, evidence: HttpEvidence, expected: Result<Outcome, IllegalEvent>| {
        let mut state = state.clone();
        let got = state.apply(&refused(evidence.clone())).map(|()| state.outcome());
        assert_eq!(got, expected, "{evidence:?}");
    };
    let marked = |evidence: HttpEvidence| HttpEvidence { replayed: true, ..evidence };
    for repeat in [Repeat::Idempotent, keyed(), marking()] {
        let terms = contract(Effect::Write, repeat);
        let state = answered_again(&terms);
        check(&state, complete(404), Ok(Unknown));
        check(&state, marked(complete(404)), if marks(&terms) { Ok(Rejected) } else { contradiction });
        check(&state, marked(evidence(Some(404), None)), contradiction);
        check(&state, HttpEvidence { from_origin: false, ..marked(complete(404)) }, contradiction);
        check(&state, marked(lost()), contradiction);
    }
    let mut keyless = answered_again(&contract(Effect::Write, marking()));
    keyless.attempts[1].dispatch.key = None;
    check(&keyless, marked(complete(404)), contradiction);
}

/// Only with the mark is a later refusal the invocation's settlement, live and in a record that is read again.
#[test]
fn the_mark_is_in_the_record() {
    let terms = contract(Effect::Write, marking());
    let settle = Event::OutcomeSettled(settlement(Rejected, Source::RemoteResponse));
    let check = |marked: bool, expected: Result<(), IllegalEvent>| {
        let mut state = answered_again(&terms);
        let ended = refused(HttpEvidence { replayed: marked, ..complete(404) });
        let written = serde_json::to_string(&ended).unwrap();
        assert_eq!(written.contains("replayed"), marked, "an unmarked record reads as it did");
        let read: Event = serde_json::from_str(&written).unwrap();
        assert_eq!(read, ended);
        state.apply(&read).unwrap();
        assert_eq!(state.attempts[1].is_answered_as_the_first(), marked);
        assert_eq!(state.apply(&settle), expected);
    };
    check(true, Ok(()));
    check(false, Err(IllegalEvent::Contradiction(EventKind::OutcomeSettled)));
}

/// What the mark says of a batch's children, it says of those of this invocation only.
#[test]
fn the_mark_settles_the_children_that_were_sent_with_the_first() {
    let Repeat::Keyed(terms) = marking() else { unreachable!() };
    let placed = Repeat::Keyed(KeyedContract { place: KeyPlace::Connector, ..terms });
    let terms = batch(BatchMode::Independent, contract(Effect::Write, placed));
    let check = |taken_over: bool, marked: bool, expected: (Outcome, Outcome)| {
        let Event::ActionAccepted(first) = accepted() else { unreachable!() };
        let continues = taken_over.then(|| {
            Box::new(Continues {
                parent: RequestId::from_random([3; 16]),
                unknown: vec![0],
                key: Some(key_use(8, KEY_END)),
                credential: Some(credential()),
            })
        });
        let mut state =
            State::begin(&Event::ActionAccepted(Box::new(Accepted { continues, ..*first }))).unwrap();
        let bound = Binding { retries: None, ..binding(terms.clone()) };
        state.apply(&Event::PreflightValidated(Box::new(bound))).unwrap();
        state.apply(&Event::CredentialAuthorized(credential())).unwrap();
        attempt(&mut state, &terms, NoResponse, START).unwrap();
        take(&mut state, ready(&terms), START).unwrap();
        for event in [Event::RequestSent { generation: 2 }, Event::RemoteResponseComplete { generation: 2 }] {
            state.apply(&event).unwrap();
        }
        state.apply(&refused(HttpEvidence { replayed: marked, ..complete(404) })).unwrap();
        let child = ChildFacts {
            index: 0,
            id: state.binding.as_ref().unwrap().children[0].clone(),
            generation: 2,
            outcome: Rejected,
            code: Some(Code::RemoteRejected),
            source: Source::RemoteResponse,
            repairable: false,
            output: None,
        };
        state.apply(&Event::ChildSettled(child)).unwrap();
        let got = (state.outcome(), state.child(0).outcome);
        assert_eq!(got, expected, "taken over: {taken_over}, marked: {marked}");
    };
    check(false, false, (Unknown, Unknown));
    check(false, true, (Rejected, Rejected));
    check(true, false, (Unknown, Unknown));
    // The first request with these children was another invocation's, in other company.
    check(true, true, (Unknown, Unknown));
}

/// "Still running" is no refusal, whoever reads it so, and is asked again under the same key while that is good.
#[test]
fn the_first_that_still_runs_is_asked_again() {
    let running = |status: u16| {
        let Repeat::Keyed(keyed) = keyed() else { unreachable!() };
        contract(Effect::Write, Repeat::Keyed(KeyedContract { running_status: Some(status), ..keyed }))
    };
    for status in [409, 425, 503] {
        let terms = Contract { statuses_before_work: vec![status], ..running(status) };
        let got = claimed(&complete(status), &terms, verdict(Rejected, false, Reason::Conflict));
        assert_eq!(got, (Unknown, Some(Code::OutcomeUnknown)), "{status}");
    }
    let ceiling = |status, terms: &Contract| Ceiling::of(&complete(status).into(), terms);
    assert_eq!(ceiling(409, &running(409)), Ceiling::NoRefusal);
    assert_eq!(ceiling(409, &running(423)), Ceiling::Any);
    assert_eq!(ceiling(503, &running(503)), Ceiling::Failure);

    let terms = contract(Effect::Write, keyed());
    let mut state = begun(&terms);
    state.binding.as_mut().unwrap().retries = Some(BUDGET);
    let mut now = START;
    // Twice as long each time, and the first use counts.
    for delay in [1000, 2000, 4000] {
        attempt(&mut state, &terms, Status(409), now).unwrap();
        assert_eq!(state.outcome(), Unknown);
        let Plan::Repeat { at } = plan(&state, now, u16::MAX) else { panic!("{delay}") };
        assert_eq!(at.0 - now.0, delay);
        assert_eq!(plan(&state, UnixMillis(KEY_END.0 - 1), 0), Plan::Leave(Leave::KeyExpires));
        assert_eq!(permitted(&state, KEY_END), Err(Leave::KeyExpires));
        now = at;
    }
    attempt(&mut state, &terms, Status(200), now).unwrap();
    assert_eq!((state.outcome(), state.attempts.len()), (Committed, 4));
}

/// The remote's word that the key came with another payload is a refusal of that attempt, and of no other.
#[test]
fn a_mismatch_that_the_remote_finds() {
    let terms = contract(Effect::Write, marking());
    let check = |endings: &[crate::aggregation::Ending], outcome: Outcome, code: Code| {
        let mut state = begun(&terms);
        for ending in endings {
            attempt(&mut state, &terms, *ending, START).unwrap();
        }
        let claim = project(&state, START);
        assert_eq!((claim.outcome, claim.code), (outcome, Some(code)), "{endings:?}");
    };
    check(&[Mismatch], Rejected, Code::RemoteRejected);
    check(&[NoResponse, Mismatch], Unknown, Code::OutcomeUnknown);
    check(&[Status(409), Mismatch], Unknown, Code::OutcomeUnknown);
    check(&[Marked(502), Mismatch], Unknown, Code::OutcomeUnknown);
}

/// Law 8 and case 22: other bytes are refused before their lease, go out under no key, and settle nothing.
#[test]
fn other_bytes_are_never_a_repeat() {
    let key = |n: u8| IdempotencyKey::from_random([n; 16]);
    let other = |code| Err(code);
    let check = |repeat: Repeat, request: u8, used: Option<u8>, expected: Result<(), Code>| {
        let terms = contract(Effect::Write, repeat);
        let mut state = begun(&terms);
        assert_eq!(
            is_same_effect(&state, &digest(request), used.map(key).as_ref()),
            Ok(()),
            "nothing to repeat"
        );
        state.binding.as_mut().unwrap().retries = Some(BUDGET);
        attempt(&mut state, &terms, NoResponse, START).unwrap();
        let got = is_same_effect(&state, &digest(request), used.map(key).as_ref());
        assert_eq!(got, expected, "{:?} {request} {used:?}", terms.repeat);
        let Err(code) = expected else { return };
        // Should it come to that, the record refuses the dispatch itself.
        let dispatch = |key| {
            let (request, peer) = (digest(request), peer());
            Input::Ready(Box::new(Readiness { request, peer, key, lease_millis: 1000, follows: None }))
        };
        let dispatched = take(&mut state.clone(), dispatch(used.map(|n| key_use(n, KEY_END))), START);
        assert_eq!(dispatched, Err(IllegalEvent::Contradiction(EventKind::DispatchStarted)));
        // What was refused is on record, the unknown stays, and the host does not try the same again.
        assert!(matches!(plan(&state, START, 0), Plan::Repeat { .. }));
        take(&mut state, Input::Refused(stop(Phase::Validation, code)), START).unwrap();
        assert_eq!(state.unsent.last().and_then(|end| end.code), Some(code));
        assert_eq!((state.outcome(), state.attempts.len()), (Unknown, 1));
        assert_eq!(project(&state, START).code, Some(Code::OutcomeUnknown));
        assert_eq!(plan(&state, START, 0), Plan::Leave(Leave::OtherBytes));
        // A person may, who has put right what was wrong.
        assert_eq!(permitted(&state, START), Ok(()));
    };
    check(keyed(), 9, Some(8), Ok(()));
    check(keyed(), 99, Some(8), other(Code::IdempotencyMismatch));
    check(keyed(), 9, Some(7), other(Code::IdempotencyMismatch));
    check(keyed(), 9, None, other(Code::IdempotencyMismatch));
    check(Repeat::Idempotent, 9, None, Ok(()));
    check(Repeat::Idempotent, 99, None, other(Code::FingerprintMismatch));
}
