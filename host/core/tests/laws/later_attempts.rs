//! Law 3: what a second attempt says about the first.

use crate::common::history::{Way, fold, reach};
use crate::common::values::{
    KEY_END, START, complete, contract, digest, dispatch, key_use, keyed, lost, output, peer, query, reason,
};
use proofport_core::attestation::AttestedOutcome;
use proofport_core::classify::{Reading, judge};
use proofport_core::code::Code;
use proofport_core::contract::{Effect, Outcome, Reason, Repeat, Source};
use proofport_core::decide::{Input, Judged, Readiness, decide};
use proofport_core::event::{Event, EventKind, QueryPurpose};
use proofport_core::evidence::Evidence;
use proofport_core::manifest::Contract;
use proofport_core::project::project;
use proofport_core::state::{IllegalEvent, Standing, State};
use proofport_core::time::UnixMillis;
use proofport_core::verdict::Verdict;

use Outcome::{Committed, NotAttempted, Rejected, Unknown};

#[test]
fn the_aggregate_of_two_attempts() {
    let check = |first: Outcome, second: Outcome, expected: Outcome| {
        assert_eq!(Outcome::aggregate([first, second]), expected, "{first}, then {second}");
    };
    check(NotAttempted, NotAttempted, NotAttempted);
    check(NotAttempted, Rejected, Rejected);
    check(NotAttempted, Unknown, Unknown);
    check(NotAttempted, Committed, Committed);
    check(Rejected, NotAttempted, Rejected);
    check(Rejected, Rejected, Rejected);
    check(Rejected, Unknown, Unknown);
    check(Rejected, Committed, Committed);
    check(Unknown, NotAttempted, Unknown);
    check(Unknown, Rejected, Unknown);
    check(Unknown, Unknown, Unknown);
    check(Unknown, Committed, Committed);
    check(Committed, NotAttempted, Committed);
    check(Committed, Rejected, Committed);
    check(Committed, Unknown, Committed);
    check(Committed, Committed, Committed);
    assert_eq!(Outcome::aggregate([]), NotAttempted);
    assert_eq!(Outcome::aggregate([Unknown, Rejected, Rejected]), Unknown);
}

fn take(state: &mut State, input: Input) -> Vec<EventKind> {
    let events = decide(state, input, START).unwrap();
    for event in &events {
        state.apply(event).unwrap();
    }
    events.iter().map(Event::kind).collect()
}

fn ready(terms: &Contract) -> Input {
    let dispatch = dispatch(1, terms);
    Input::Ready(Box::new(Readiness {
        request: dispatch.request,
        peer: peer(),
        key: dispatch.key,
        lease_millis: 1000,
        follows: None,
    }))
}

/// Carries out the effect's exchange so that its attempt ends like this.
fn exchange(state: &mut State, terms: &Contract, outcome: Outcome) -> Vec<EventKind> {
    let (evidence, reading) = match outcome {
        Unknown => (lost(), None),
        Rejected => (complete(404), Some((false, Reason::NotFound))),
        Committed => (complete(200), Some((true, Reason::Done))),
        NotAttempted => panic!("no exchange ends so"),
    };
    let evidence = Evidence::from(evidence);
    let mut kinds = take(state, Input::Exchanged(Box::new(evidence.clone())));
    if let Some((success, reason)) = reading {
        let verdict = Verdict {
            outcome,
            success,
            reason,
            output: None,
            retry_after_seconds: None,
            children: Vec::new(),
            job: None,
        };
        let judgement = judge(&evidence, terms, Reading::Verdict(verdict), None);
        kinds.extend(take(state, Input::Judged(Box::new(Judged { judgement, evidence, result: output() }))));
    }
    kinds
}

#[test]
fn what_two_real_attempts_prove() {
    let check = |second: Outcome, expected: Outcome, settled: bool, code: Option<Code>| {
        for repeat in [Repeat::Idempotent, keyed()] {
            let terms = contract(Effect::Write, repeat);
            let mut state = fold(&reach(Standing::Authorized, Way::Write, &terms).unwrap());
            take(&mut state, ready(&terms));
            exchange(&mut state, &terms, Unknown);
            assert_eq!(state.outcome(), Unknown);
            take(&mut state, ready(&terms));
            let kinds = exchange(&mut state, &terms, second);
            assert_eq!(state.outcome(), expected, "unknown, then {second}");
            assert_eq!(kinds.contains(&EventKind::OutcomeSettled), settled, "unknown, then {second}");
            assert_eq!(state.settled.is_some(), settled);
            assert_eq!(project(&state, START).code, code, "unknown, then {second}");
        }
    };
    check(Unknown, Unknown, false, Some(Code::OutcomeUnknown));
    check(Rejected, Unknown, false, Some(Code::OutcomeUnknown));
    check(Committed, Committed, true, None);
}

/// What explains an unknown is the attempt that is unknown, not the refusal that came after it.
#[test]
fn a_later_refusal_does_not_speak_for_the_unknown() {
    let terms = contract(Effect::Write, keyed());
    let state = fold(&reach(Standing::Ended, Way::WriteAgain, &terms).unwrap());
    let claim = project(&state, START);
    assert_eq!(claim.code, Some(Code::OutcomeUnknown));
    assert_eq!(claim.source, Some(Source::TransportObserved));
    assert_eq!(claim.http_status, None);
}

#[test]
fn a_settled_attempt_is_never_followed_by_another() {
    let check = |first: Outcome| {
        let terms = contract(Effect::Write, Repeat::Idempotent);
        let mut state = fold(&reach(Standing::Authorized, Way::Write, &terms).unwrap());
        take(&mut state, ready(&terms));
        exchange(&mut state, &terms, first);
        let again = decide(&state, ready(&terms), START);
        let expected = IllegalEvent::OutOfOrder { standing: Standing::Stored, event: EventKind::LeaseTaken };
        assert_eq!(again, Err(expected), "{first}");
    };
    check(Rejected);
    check(Committed);
}

#[test]
fn an_unknown_is_repeated_only_under_a_contract() {
    let refused = Err(IllegalEvent::Contradiction(EventKind::DispatchStarted));
    let check = |repeat: Repeat, key: u8, request: u8, now: UnixMillis, permitted: bool| {
        let terms = contract(Effect::Write, repeat);
        let state = fold(&reach(Standing::Ended, Way::Write, &terms).unwrap());
        let key = matches!(terms.repeat, Repeat::Keyed(_)).then(|| key_use(key, KEY_END));
        let again =
            Readiness { request: digest(request), peer: peer(), key, lease_millis: 1000, follows: None };
        let decided = decide(&state, Input::Ready(Box::new(again)), now);
        assert_eq!(decided.is_ok(), permitted, "{:?}", terms.repeat);
        if !permitted {
            assert_eq!(decided, refused);
        }
    };
    check(Repeat::Idempotent, 8, 9, START, true);
    check(Repeat::Idempotent, 8, 99, START, false);
    check(Repeat::None, 8, 9, START, false);
    check(Repeat::Conditional, 8, 9, START, false);
    check(keyed(), 8, 9, START, true);
    check(keyed(), 9, 9, START, false);
    check(keyed(), 8, 99, START, false);
    check(keyed(), 8, 9, UnixMillis(KEY_END.0 - 1), true);
    check(keyed(), 8, 9, KEY_END, false);
}

/// A query or a person settles what a later refusal can't.
#[test]
fn proof_from_elsewhere_settles_an_earlier_unknown() {
    let terms = contract(Effect::Write, keyed());
    let check = |input: Input, outcome: Outcome, source: Source| {
        let mut state = fold(&reach(Standing::Ended, Way::WriteAgain, &terms).unwrap());
        take(&mut state, Input::Queried(Box::new(query(QueryPurpose::Reconcile, complete(200)))));
        take(&mut state, input);
        let settled = state.settled.clone().map(|settled| (settled.outcome, settled.source));
        assert_eq!(settled, Some((outcome, source)));
        assert_eq!(project(&state, START).source, Some(source));
    };
    let found = |outcome: Outcome, success: bool, reason: Reason| {
        let verdict = Verdict {
            outcome,
            success,
            reason,
            output: None,
            retry_after_seconds: None,
            children: Vec::new(),
            job: None,
        };
        let evidence = Evidence::from(complete(200));
        let judgement = judge(&evidence, &terms, Reading::Verdict(verdict), None);
        Input::Reconciled(Box::new(Judged { judgement, evidence, result: output() }))
    };
    let attested = |outcome| Input::Attested { outcome, reason: reason() };
    check(found(Committed, true, Reason::Present), Committed, Source::RemoteQuery);
    check(found(Rejected, false, Reason::Absent), Rejected, Source::RemoteQuery);
    check(attested(AttestedOutcome::Committed), Committed, Source::OperatorAttested);
    check(attested(AttestedOutcome::Rejected), Rejected, Source::OperatorAttested);
}

/// A reconciliation that learnt nothing settles nothing.
#[test]
fn a_query_that_learnt_nothing_settles_nothing() {
    let terms = contract(Effect::Write, keyed());
    let state = fold(&reach(Standing::Ended, Way::Write, &terms).unwrap());
    let evidence = Evidence::from(lost());
    let judgement = judge(&evidence, &terms, Reading::None, None);
    let nothing = Input::Reconciled(Box::new(Judged { judgement, evidence, result: output() }));
    assert_eq!(decide(&state, nothing, START), Ok(Vec::new()));
}
