//! Section 7: when the host asks by itself what became of an effect.

use crate::common::history::fold;
use crate::common::values::{
    KEY_END, START, accepted, binding, contract, credential, dispatch, end, keyed, settlement,
};
use crate::common::walk::{contracts, picks, walk};
use proofport_core::contract::{Effect, Outcome, Repeat, Retry, RetryOwner, Source};
use proofport_core::decide::{Input, decide};
use proofport_core::due::{Effect as Due, due};
use proofport_core::event::{Binding, Event, EventKind};
use proofport_core::inquiry::{Move, after_an_end, after_asking, announced};
use proofport_core::manifest::{Contract, Reconcile};
use proofport_core::project::project;
use proofport_core::retry::RetryBudget;
use proofport_core::state::{IllegalEvent, State};
use proofport_core::time::UnixMillis;
use proofport_core::unknown::{NextStep, UnknownEffect};
use proptest::prelude::{ProptestConfig, any, proptest};

const BUDGET: RetryBudget =
    RetryBudget { attempts: 3, total_seconds: 600, first_delay_millis: 1000, longest_delay_millis: 8000 };

fn terms(repeat: Repeat, absence: Option<u32>, automatic: bool) -> Contract {
    let reconcile = Reconcile { absence_settles_after_seconds: absence, automatic };
    Contract { reconcile: Some(reconcile), ..contract(Effect::Write, repeat) }
}

/// The state after one unknown attempt that ended at [`START`].
fn unknown(terms: &Contract, asks: Option<RetryBudget>, repeats: Option<RetryBudget>) -> State {
    let bound = Binding { retries: repeats, reconciliations: asks, ..binding(terms.clone()) };
    let lease = Event::LeaseTaken { generation: 1, until: START.plus_seconds(10) };
    fold(&[
        accepted(),
        Event::PreflightValidated(Box::new(bound)),
        Event::CredentialAuthorized(credential()),
        lease,
        Event::DispatchStarted(dispatch(1, terms)),
        Event::AttemptEnded(end(1, Outcome::Unknown)),
    ])
}

fn take(state: &mut State, input: Input, now: UnixMillis) {
    for event in decide(state, input, now).unwrap() {
        state.apply(&event).unwrap();
    }
}

/// Plays the host that asks at every time it is to, and learns nothing: the times in seconds.
fn asks(state: &mut State) -> Vec<u64> {
    let mut times = Vec::new();
    let mut now = START;
    let mut next = after_an_end(state, START, now, u16::MAX);
    while let Some(input) = next {
        take(state, input, now);
        let Some(Move::Ask { at }) = announced(state) else { break };
        now = at;
        times.push((now.0 - START.0) / 1000);
        next = Some(after_asking(state, START, now, u16::MAX));
    }
    times
}

#[test]
fn it_asks_as_often_as_its_budget_says_and_last_when_absence_is_proof() {
    let check = |terms: &Contract, asks_for: Option<RetryBudget>, expected: &[u64]| {
        let mut state = unknown(terms, asks_for, None);
        assert_eq!(asks(&mut state), expected, "{terms:?} {asks_for:?}");
        assert_eq!(announced(&state), None);
        let claim = project(&state, START);
        assert_eq!((claim.outcome, claim.retry_owner), (Outcome::Unknown, RetryOwner::Operator));
    };
    for repeat in [Repeat::None, Repeat::Conditional] {
        check(&terms(repeat.clone(), None, true), Some(BUDGET), &[1, 3, 7]);
        check(&terms(repeat.clone(), Some(60), true), Some(BUDGET), &[1, 3, 61]);
        check(&terms(repeat.clone(), Some(2), true), Some(BUDGET), &[1, 3, 7]);
        // An absence that counts too late leaves it to a person.
        check(&terms(repeat.clone(), Some(600), true), Some(BUDGET), &[1, 3]);
        check(&terms(repeat.clone(), Some(60), false), Some(BUDGET), &[]);
        check(&terms(repeat.clone(), Some(60), true), None, &[]);
        check(&contract(Effect::Write, repeat), Some(BUDGET), &[]);
    }
    // What the contract would let it repeat is asked about where nothing lets it.
    check(&terms(Repeat::Idempotent, Some(60), true), Some(BUDGET), &[1, 3, 61]);
    check(&terms(keyed(), Some(60), true), Some(BUDGET), &[1, 3, 61]);
}

/// A repeat settles more than a question does, and comes first.
#[test]
fn repeats_go_before_questions() {
    let mut state = unknown(&terms(Repeat::Idempotent, None, true), Some(BUDGET), Some(BUDGET));
    let next = after_an_end(&state, START, START, u16::MAX).unwrap();
    assert_eq!(next, Input::Repeat(START.plus_seconds(1)));
    take(&mut state, next, START);
    assert_eq!(announced(&state), Some(Move::Repeat { at: START.plus_seconds(1) }));
    assert_eq!(after_an_end(&state, START, START, 0), None, "one move at a time");
    // Cancelled: nothing is sent again, and asking changes nothing.
    take(&mut state, Input::Cancelled, START);
    let next = after_an_end(&state, START, START, u16::MAX).unwrap();
    assert_eq!(next, Input::Ask { asked: 0, at: Some(START.plus_seconds(1)) });
}

#[test]
fn the_claim_says_that_the_host_asks() {
    for repeat in [Repeat::None, Repeat::Conditional, Repeat::Idempotent, keyed()] {
        let mut state = unknown(&terms(repeat, None, true), Some(BUDGET), None);
        let next = after_an_end(&state, START, START, u16::MAX).unwrap();
        take(&mut state, next, START);
        let claim = project(&state, START);
        assert_eq!(
            (claim.outcome, claim.retry, claim.retry_owner, claim.retry_after_seconds, claim.retryable),
            (Outcome::Unknown, Retry::Reconcile, RetryOwner::Host, Some(1), false)
        );
        // Nobody's call waits for it, and nothing is sent for it by the loop that sends effects.
        assert_eq!(due(&state), Due::Deliver);
        let listed = UnknownEffect::of(&state, Some(START), START).unwrap();
        assert_eq!(listed.next.first(), Some(&NextStep::Wait));
        // A host that comes back forgets nothing of it.
        assert_eq!(decide(&state, Input::Recovered, KEY_END), Ok(Vec::new()));
        // An operator's repeat comes in between, and the count goes on.
        let mut again = state.clone();
        again.apply(&Event::LeaseTaken { generation: 2, until: KEY_END }).unwrap();
        assert_eq!((again.ask_at, announced(&again)), (None, None));
        // Settled: nothing is repeated or asked any more.
        state.apply(&Event::OutcomeSettled(settlement(Outcome::Rejected, Source::OperatorAttested))).unwrap();
        assert_eq!(announced(&state), None);
    }
}

#[test]
fn a_question_that_nothing_permits_is_refused() {
    let check = |state: &State, asked: u32, legal: bool| {
        let refused = Err(IllegalEvent::Contradiction(EventKind::ReconcileScheduled));
        let event = Event::ReconcileScheduled { asked, at: Some(START) };
        assert_eq!(state.clone().apply(&event), if legal { Ok(()) } else { refused }, "{asked}");
    };
    let automatic = unknown(&terms(Repeat::None, None, true), Some(BUDGET), None);
    check(&automatic, 0, true);
    check(&automatic, 1, true);
    check(&automatic, 2, false);
    let mut once = automatic;
    once.apply(&Event::ReconcileScheduled { asked: 1, at: Some(START) }).unwrap();
    check(&once, 0, false);
    check(&once, 2, true);
    check(&unknown(&terms(Repeat::None, None, false), Some(BUDGET), None), 0, false);
    check(&unknown(&contract(Effect::Write, Repeat::None), Some(BUDGET), None), 0, false);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// On every walk, what is announced is what the record accepts, and it ends.
    #[test]
    fn what_is_announced_is_lawful_and_ends(terms in contracts(), picks in picks(40), roll in any::<u16>()) {
        walk(&terms, &picks, |step| {
            let mut state = step.after.clone();
            if let Some(binding) = &mut state.binding {
                binding.retries = Some(BUDGET);
                binding.reconciliations = Some(BUDGET);
            }
            let mut now = START;
            let Some(input) = after_an_end(&state, START, now, roll) else { return };
            assert_eq!(state.outcome(), Outcome::Unknown);
            take(&mut state, input, now);
            for _ in 0..=BUDGET.attempts {
                match announced(&state) {
                    Some(Move::Ask { at }) => {
                        assert_eq!(project(&state, now).retry_owner, RetryOwner::Host);
                        now = at;
                        let next = after_asking(&state, START, now, roll);
                        take(&mut state, next, now);
                    }
                    Some(
                        Move::Repeat { .. } | Move::Look { .. } | Move::Lapse { .. } | Move::Begin,
                    )
                    | None => return,
                }
            }
            panic!("it asks for ever");
        });
    }
}
