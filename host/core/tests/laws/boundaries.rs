//! Which lines a record says were crossed.

use crate::common::history::{Way, fold, reach};
use crate::common::values::{binding, contract, credential, dispatch, setup};
use proofport_core::approval::{Approval, ApprovalTerms, Question, Word};
use proofport_core::boundary::Boundary::{self, *};
use proofport_core::contract::{Effect, Repeat};
use proofport_core::diagnostic::Diagnostic;
use proofport_core::event::{Binding, Event};
use proofport_core::state::{Standing, State};
use proofport_core::time::UnixMillis;

const BEFORE: [Boundary; 3] = [InputValidated, CredentialSelected, UserAuthorized];

fn check(state: &State, expected: &[&[Boundary]]) {
    let expected = expected.concat();
    assert_eq!(state.boundaries(), expected);
    let record = serde_json::to_value(Diagnostic::of(state.clone(), None, UnixMillis(0))).unwrap();
    let shown: Vec<&str> =
        record["boundaries"].as_array().unwrap().iter().filter_map(|b| b.as_str()).collect();
    assert_eq!(shown, expected.into_iter().map(Boundary::as_str).collect::<Vec<_>>());
}

#[test]
fn a_record_says_how_far_it_got() {
    let sent: &[Boundary] = &[DispatchStarted, RequestSent, ResponseStarted, ResponseComplete];
    let stored: &[Boundary] = &[ResultStored];
    let over: &[Boundary] = &[ResultStored, ResultDelivered];
    let cases: [(Standing, Way, &[&[Boundary]]); 13] = [
        (Standing::Accepted, Way::Write, &[]),
        (Standing::Stopped, Way::Write, &[]),
        (Standing::Validated, Way::Write, &[&BEFORE[..1]]),
        (Standing::Authorized, Way::Write, &[&BEFORE]),
        (Standing::Leased, Way::Write, &[&BEFORE]),
        (Standing::Dispatched, Way::Write, &[&BEFORE, &sent[..1]]),
        // Of an attempt that ended without a word of what was offered, nothing more is said.
        (Standing::Ended, Way::Write, &[&BEFORE, &sent[..1]]),
        (Standing::Answered, Way::Write, &[&BEFORE, sent]),
        (Standing::Settled, Way::Write, &[&BEFORE, sent]),
        (Standing::Stored, Way::Write, &[&BEFORE, sent, stored]),
        (Standing::Delivered, Way::Write, &[&BEFORE, sent, over]),
        (Standing::Authorized, Way::Read, &[&BEFORE]),
        (Standing::Stored, Way::Read, &[&BEFORE, sent, stored]),
    ];
    for (standing, way, expected) in cases {
        let effect = if way == Way::Read { Effect::Read } else { Effect::Write };
        let history = reach(standing, way, &contract(effect, Repeat::None)).unwrap();
        check(&fold(&history), expected);
    }
}

#[test]
fn a_person_who_is_asked_has_to_approve() {
    let terms = contract(Effect::Write, Repeat::None);
    let request = dispatch(1, &terms).request;
    let approval = ApprovalTerms { needs: Approval::Each, queries: false, seconds: 60 };
    let bound = Binding { approval, ..binding(terms.clone()) };
    let mut state = fold(&[
        reach(Standing::Accepted, Way::Write, &terms).unwrap().remove(0),
        Event::PreflightValidated(Box::new(bound)),
        Event::CredentialAuthorized(credential()),
        Event::ConnectionAttempted(setup(None)),
    ]);
    let unasked: &[Boundary] = &[InputValidated, CredentialSelected, ConnectionStarted];
    check(&state, &[unasked]);
    state.apply(&Event::ApprovalRequested(Question { until: UnixMillis(1), request })).unwrap();
    check(&state, &[unasked]);
    let mut denied = state.clone();
    denied.apply(&Event::ApprovalDecided(Word { approved: false, request, grant: None, by: None })).unwrap();
    check(&denied, &[unasked]);
    state.apply(&Event::ApprovalDecided(Word { approved: true, request, grant: None, by: None })).unwrap();
    check(&state, &[&BEFORE, &[ConnectionStarted]]);
}
