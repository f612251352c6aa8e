//! Laws 6, 7 and 13: what the host sends again by itself.

use crate::common::history::{Way, fold, reach};
use crate::common::values::{
    KEY_END, START, accepted, binding, complete, contract, credential, digest, dispatch, elsewhere, end,
    key_use, keyed, peer,
};
use crate::common::walk::{contracts, picks, walk};
use proofport_core::contract::{Effect, Outcome, Repeat, Retry, RetryOwner};
use proofport_core::decide::{Input, Readiness, decide};
use proofport_core::due::{Effect as Due, due};
use proofport_core::event::{Binding, Event, EventKind};
use proofport_core::manifest::Contract;
use proofport_core::project::project;
use proofport_core::retry::{Leave, Plan, RetryBudget, permitted, plan};
use proofport_core::state::{IllegalEvent, Standing, State};
use proofport_core::time::UnixMillis;
use proptest::prelude::{ProptestConfig, any, proptest};

const BUDGET: RetryBudget =
    RetryBudget { attempts: 3, total_seconds: 60, first_delay_millis: 1000, longest_delay_millis: 8000 };

/// An invocation under this contract and budget, up to its authorisation.
fn begun(terms: &Contract, budget: Option<RetryBudget>) -> State {
    let bound = Binding { retries: budget, ..binding(terms.clone()) };
    fold(&[accepted(), Event::PreflightValidated(Box::new(bound)), Event::CredentialAuthorized(credential())])
}

fn take(state: &mut State, input: Input, now: UnixMillis) {
    for event in decide(state, input, now).unwrap() {
        state.apply(&event).unwrap();
    }
}

/// Dispatches and ends the next attempt.
fn attempt(state: &mut State, terms: &Contract, outcome: Outcome, asked: Option<u32>, now: UnixMillis) {
    let key = matches!(terms.repeat, Repeat::Keyed(_)).then(|| key_use(8, KEY_END));
    let ready = Readiness { request: digest(9), peer: peer(), key, lease_millis: 1000, follows: None };
    take(state, Input::Ready(Box::new(ready)), now);
    let generation = state.lease.unwrap().generation;
    if outcome != Outcome::Unknown {
        for event in [Event::RequestSent { generation }, Event::RemoteResponseComplete { generation }] {
            state.apply(&event).unwrap();
        }
    }
    let mut end = end(generation, outcome);
    end.retry_after_seconds = asked;
    state.apply(&Event::AttemptEnded(end)).unwrap();
}

/// The state after one unknown attempt.
fn unknown(repeat: Repeat, budget: Option<RetryBudget>, asked: Option<u32>) -> State {
    let terms = contract(Effect::Write, repeat);
    let mut state = begun(&terms, budget);
    attempt(&mut state, &terms, Outcome::Unknown, asked, START);
    state
}

#[test]
fn the_contract_the_budget_and_the_time_all_have_to_agree() {
    let whole = Some(BUDGET);
    let check = |repeat: Repeat, budget: Option<RetryBudget>, asked: Option<u32>, after: u64, expected| {
        let state = unknown(repeat.clone(), budget, asked);
        let got = match plan(&state, START.plus_seconds(after), u16::MAX) {
            Plan::Repeat { at } => Ok(at.0 - START.0),
            Plan::Leave(leave) => Err(leave),
        };
        assert_eq!(got, expected, "{repeat:?} {budget:?} {asked:?} {after}");
    };
    for repeat in [Repeat::Idempotent, keyed()] {
        check(repeat.clone(), whole, None, 0, Ok(1000));
        check(repeat.clone(), None, None, 0, Err(Leave::NoBudget));
        check(
            repeat.clone(),
            Some(RetryBudget { attempts: 1, ..BUDGET }),
            None,
            0,
            Err(Leave::AttemptsSpent),
        );
        // A delay that the remote asks for is longer than ours, or counts for nothing.
        check(repeat.clone(), whole, Some(20), 0, Ok(20_000));
        check(repeat.clone(), whole, Some(0), 0, Ok(1000));
        check(repeat.clone(), whole, Some(61), 0, Err(Leave::TimeSpent));
        check(repeat.clone(), whole, None, 59, Ok(60_000));
        check(repeat, whole, None, 60, Err(Leave::TimeSpent));
    }
    let long = Some(RetryBudget { total_seconds: 7200, ..BUDGET });
    check(keyed(), long, None, 3598, Ok(3_599_000));
    check(keyed(), long, None, 3599, Err(Leave::KeyExpires));
    check(keyed(), long, Some(3600), 0, Err(Leave::KeyExpires));
    check(Repeat::Idempotent, long, Some(3600), 0, Ok(3_600_000));
    for repeat in [Repeat::None, Repeat::Conditional] {
        check(repeat, whole, None, 0, Err(Leave::NotRepeatable));
    }
}

/// Whose move it is, and what is said of it, follow from what is scheduled.
#[test]
fn the_claim_says_whose_move_it_is() {
    let check = |state: &State, retry: Retry, owner: RetryOwner, after: Option<u32>| {
        let claim = project(state, START);
        assert_eq!(claim.outcome, Outcome::Unknown);
        assert_eq!((claim.retry, claim.retry_owner, claim.retry_after_seconds), (retry, owner, after));
        assert!(!claim.retryable);
    };
    for (repeat, retry) in [(Repeat::Idempotent, Retry::Backoff), (keyed(), Retry::SameIdempotencyKey)] {
        // A host that repeats nothing leaves it to the operator, who may.
        check(&unknown(repeat.clone(), None, None), retry, RetryOwner::Operator, None);
        let mut state = unknown(repeat, Some(BUDGET), None);
        let Plan::Repeat { at } = plan(&state, START, 0) else { panic!() };
        take(&mut state, Input::Repeat(at), START);
        check(&state, retry, RetryOwner::Host, Some(1));
        assert_eq!(due(&state), Due::Prepare);
        assert_eq!(plan(&state, START, 0), Plan::Leave(Leave::UnderWay));
        // Losing interest takes back what is not sent yet.
        take(&mut state, Input::Cancelled, START);
        assert_eq!((state.retry_at, due(&state)), (None, Due::Deliver));
        assert_eq!(plan(&state, START, 0), Plan::Leave(Leave::Cancelled));
        check(&state, Retry::Reconcile, RetryOwner::Operator, None);
    }
    // Spent: the last code and evidence stay, and a person decides.
    let spent = unknown(Repeat::Idempotent, Some(RetryBudget { attempts: 1, ..BUDGET }), None);
    check(&spent, Retry::Reconcile, RetryOwner::Operator, None);
}

/// Every attempt counts, also one that never reached its dispatch, and no later one renews anything.
#[test]
fn a_budget_is_spent_once() {
    for repeat in [Repeat::Idempotent, keyed()] {
        let terms = contract(Effect::Write, repeat);
        let mut state = begun(&terms, Some(BUDGET));
        let mut now = START;
        attempt(&mut state, &terms, Outcome::Unknown, None, now);
        for made in 1..3 {
            let Plan::Repeat { at } = plan(&state, now, 9) else { panic!("{made}") };
            take(&mut state, Input::Repeat(at), now);
            now = at;
            if made == 1 {
                // A later refusal settles nothing of the first.
                attempt(&mut state, &terms, Outcome::Rejected, None, now);
            } else {
                let stop = crate::common::values::stop(
                    proofport_core::contract::Phase::ConnectionSetup,
                    proofport_core::code::Code::ConnectFailed,
                );
                take(&mut state, Input::Refused(stop), now);
            }
            assert_eq!((state.standing, state.outcome()), (Standing::Ended, Outcome::Unknown));
        }
        assert_eq!(plan(&state, now, 9), Plan::Leave(Leave::AttemptsSpent));
        assert_eq!((state.attempts.len(), state.unsent.len()), (2, 1));
    }
}

/// Whatever the record says is held against the contract, too: a schedule that it does not permit is refused.
#[test]
fn a_schedule_that_nothing_permits_is_refused() {
    let check = |repeat: Repeat, generation: u32, at: UnixMillis, expected: Result<(), IllegalEvent>| {
        let mut state = unknown(repeat.clone(), None, None);
        let event = Event::RetryScheduled { generation, at };
        assert_eq!(state.apply(&event), expected, "{repeat:?} {generation}");
    };
    let contradiction = Err(IllegalEvent::Contradiction(EventKind::RetryScheduled));
    let stale = Err(IllegalEvent::StaleGeneration(EventKind::RetryScheduled));
    check(Repeat::Idempotent, 2, KEY_END, Ok(()));
    check(Repeat::Idempotent, 1, START, stale);
    check(Repeat::Idempotent, 3, START, stale);
    check(keyed(), 2, UnixMillis(KEY_END.0 - 1), Ok(()));
    check(keyed(), 2, KEY_END, contradiction);
    check(Repeat::None, 2, START, contradiction);
    check(Repeat::Conditional, 2, START, contradiction);
}

/// Another origin knows nothing of an attempt that may have been carried out, whatever key it had.
#[test]
fn no_redirect_is_followed_over_an_unknown() {
    let check = |repeat: Repeat, first: Option<Outcome>, followed: bool| {
        let terms = contract(Effect::Write, repeat);
        let mut state = begun(&terms, Some(BUDGET));
        if let Some(first) = first {
            attempt(&mut state, &terms, first, None, START);
        }
        let key = matches!(terms.repeat, Repeat::Keyed(_)).then(|| key_use(8, KEY_END));
        let ready = Readiness { request: digest(9), peer: peer(), key, lease_millis: 1000, follows: None };
        take(&mut state, Input::Ready(Box::new(ready)), START);
        let generation = state.lease.unwrap().generation;
        for event in [Event::RequestSent { generation }, Event::RemoteResponseComplete { generation }] {
            state.apply(&event).unwrap();
        }
        let (evidence, to) = (Box::new(complete(307)), elsewhere());
        take(&mut state, Input::Redirected { evidence, to }, START);
        let key = state.attempts[0].dispatch.key.clone();
        let there = Readiness {
            request: digest(9),
            peer: peer(),
            key,
            lease_millis: 1000,
            follows: Some(elsewhere()),
        };
        let decided = decide(&state, Input::Ready(Box::new(there)), START).map(drop);
        let refused = Err(IllegalEvent::Contradiction(EventKind::DispatchStarted));
        assert_eq!(decided, if followed { Ok(()) } else { refused }, "{:?} {first:?}", terms.repeat);
    };
    for repeat in [Repeat::Idempotent, keyed()] {
        check(repeat.clone(), None, true);
        check(repeat, Some(Outcome::Unknown), false);
    }
}

#[test]
fn nothing_else_than_an_unknown_write_is_repeated() {
    let check = |standing: Standing, way: Way, expected: Leave| {
        let effect = if way == Way::Read { Effect::Read } else { Effect::Write };
        let terms = contract(effect, Repeat::Idempotent);
        let Some(history) = reach(standing, way, &terms) else { return };
        let state = fold(&history);
        assert_eq!(permitted(&state, START).err(), Some(expected), "{standing} {way:?}");
        assert_eq!(plan(&state, START, 0), Plan::Leave(expected), "{standing} {way:?}");
    };
    for way in [Way::Write, Way::WriteAgain, Way::Read] {
        for standing in [Standing::Accepted, Standing::Validated, Standing::Authorized, Standing::Stopped] {
            check(standing, way, Leave::NotUnknown);
        }
        check(Standing::Stored, way, Leave::NotUnknown);
        check(Standing::Delivered, way, Leave::NotUnknown);
        check(Standing::Dispatched, way, Leave::UnderWay);
        check(Standing::Answered, way, Leave::UnderWay);
    }
    let followed = {
        let terms = contract(Effect::Write, Repeat::Idempotent);
        let mut state = unknown(Repeat::Idempotent, Some(BUDGET), None);
        let mut sent_on = dispatch(1, &terms);
        sent_on.follows = Some(elsewhere());
        state.attempts[0].dispatch = sent_on;
        state
    };
    assert_eq!(plan(&followed, START, 0), Plan::Leave(Leave::Redirected));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// On every walk, a plan to repeat is one that the record accepts, and within contract, budget and time.
    #[test]
    fn a_plan_is_always_lawful(terms in contracts(), picks in picks(40), roll in any::<u16>(), late in 0_u64..8000) {
        walk(&terms, &picks, |step| {
            let mut state = step.after.clone();
            if let Some(binding) = &mut state.binding {
                binding.retries = Some(RetryBudget { total_seconds: 5000, ..BUDGET });
            }
            let now = START.plus_seconds(late);
            let Plan::Repeat { at } = plan(&state, now, roll) else { return };
            assert!(at > now && at <= START.plus_seconds(5000));
            assert!(state.attempts.len() + state.unsent.len() < 3);
            assert_eq!((terms.effect, state.outcome()), (Effect::Write, Outcome::Unknown));
            assert!(terms.repeat.is_repeatable(), "{terms:?}");
            let event = Event::RetryScheduled { generation: state.next_generation(), at };
            assert_eq!(state.apply(&event), Ok(()));
            assert_eq!(project(&state, now).retry_owner, RetryOwner::Host);
        });
    }
}
