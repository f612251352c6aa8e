//! Work that goes on at the remote: what the host may look at by itself, and for how long.

use crate::common::history::fold;
use crate::common::values::{
    START, accepted, binding, contract, credential, dispatch, end, name, output, settlement,
};
use proofport_core::contract::{Effect, Outcome, Repeat, RetryOwner, Source};
use proofport_core::decide::{Input, decide};
use proofport_core::event::{Binding, Event, EventKind};
use proofport_core::id::RequestId;
use proofport_core::inquiry::{Move, announced};
use proofport_core::job::{Following, Look, after_a_look, after_an_asked_look, after_submitting, submitted};
use proofport_core::manifest::Contract;
use proofport_core::project::project;
use proofport_core::retry::RetryBudget;
use proofport_core::state::{IllegalEvent, State};

const BUDGET: RetryBudget =
    RetryBudget { attempts: 3, total_seconds: 60, first_delay_millis: 1000, longest_delay_millis: 8000 };

/// A call that was carried out, and whether it handed over a job that something follows.
fn stored(job: bool, follower: bool, following: Option<RetryBudget>) -> State {
    let job_operation = follower.then(|| name("follow"));
    let terms = Contract { job_operation, ..contract(Effect::Write, Repeat::None) };
    let bound = Binding { following, ..binding(terms.clone()) };
    let (generation, until) = (1, START.plus_seconds(10));
    let handed = job.then(|| Event::JobAccepted { id: "job-1".to_owned() });
    let mut events = vec![
        accepted(),
        Event::PreflightValidated(Box::new(bound)),
        Event::CredentialAuthorized(credential()),
        Event::LeaseTaken { generation, until },
        Event::DispatchStarted(dispatch(1, &terms)),
        Event::RequestSent { generation },
        Event::RemoteResponseComplete { generation },
        Event::AttemptEnded(end(1, Outcome::Committed)),
    ];
    events.extend(handed);
    events.push(Event::OutcomeSettled(settlement(Outcome::Committed, Source::RemoteResponse)));
    events.push(Event::ResultCommitted(output()));
    fold(&events)
}

fn take(state: &mut State, input: Input) {
    for event in decide(state, input, START).unwrap() {
        state.apply(&event).unwrap();
    }
}

fn by() -> Option<RequestId> {
    Some(RequestId::from_random([3; 16]))
}

#[test]
fn only_a_job_that_something_follows_is_looked_at() {
    let check = |state: &State, followed: bool, by_itself: bool| {
        assert_eq!(submitted(state).is_some(), followed);
        assert_eq!(after_submitting(state, START, 0).is_some(), by_itself);
        let looked = Event::JobFollowed(Following { looks: 1, by: by(), at: None });
        let refused = Err(IllegalEvent::Contradiction(EventKind::JobFollowed));
        assert_eq!(state.clone().apply(&looked), if followed { Ok(()) } else { refused });
    };
    check(&stored(true, true, Some(BUDGET)), true, true);
    check(&stored(true, true, None), true, false);
    check(&stored(true, false, Some(BUDGET)), false, false);
    check(&stored(false, true, Some(BUDGET)), false, false);
}

#[test]
fn looks_are_counted_and_end() {
    let check = |found: &[Look], expected: &[u64]| {
        let mut state = stored(true, true, Some(BUDGET));
        let first = after_submitting(&state, START, u16::MAX).unwrap();
        take(&mut state, first);
        let mut times = Vec::new();
        let mut found = found.iter().copied().chain(std::iter::repeat(Look::Pending));
        while let Some(next) = announced(&state) {
            let Move::Look { at } = next else { panic!("{next:?}") };
            times.push((at.0 - START.0) / 1000);
            // The call that submitted it stays what it was, and nobody's move.
            assert_eq!(project(&state, START).retry_owner, RetryOwner::Nobody);
            assert_eq!(decide(&state, Input::Recovered, at), Ok(Vec::new()));
            let next = after_a_look(&state, by(), found.next().unwrap(), at, u16::MAX);
            take(&mut state, next);
        }
        assert_eq!(times, expected);
        assert_eq!(after_submitting(&state, START, 0), None, "it begins once");
    };
    check(&[], &[1, 3, 7]);
    check(&[Look::Failed, Look::Failed], &[1, 3, 7]);
    check(&[Look::Pending, Look::Over], &[1, 3]);
    check(&[Look::Over], &[1]);
}

/// A caller who looks takes nothing from the host's own looks, but the reason for them.
#[test]
fn an_asked_look_changes_what_is_announced_only_at_the_end() {
    let check = |announced_before: bool, found: Look, after: bool| {
        let mut state = stored(true, true, Some(BUDGET));
        if announced_before {
            let first = after_submitting(&state, START, 0).unwrap();
            take(&mut state, first);
        }
        let next = after_an_asked_look(&state, by().unwrap(), found);
        take(&mut state, next);
        assert_eq!((state.following.looks, state.following.by), (0, by()));
        assert_eq!(announced(&state).is_some(), after, "{announced_before} {found:?}");
    };
    check(true, Look::Pending, true);
    check(true, Look::Failed, true);
    check(true, Look::Over, false);
    check(false, Look::Pending, false);
    check(false, Look::Failed, false);
}

#[test]
fn looks_that_were_not_taken_are_not_counted() {
    let state = stored(true, true, Some(BUDGET));
    let refused = Err(IllegalEvent::Contradiction(EventKind::JobFollowed));
    let check = |following: Following, expected: Result<(), IllegalEvent>| {
        assert_eq!(state.clone().apply(&Event::JobFollowed(following)), expected, "{following:?}");
    };
    check(Following { looks: 0, by: None, at: Some(START) }, Ok(()));
    check(Following { looks: 1, by: by(), at: Some(START) }, Ok(()));
    check(Following { looks: 2, by: by(), at: None }, refused);
    // One that somebody asked for is not the host's own.
    check(Following { looks: 0, by: by(), at: None }, Ok(()));
}
