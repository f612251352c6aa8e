//! Laws that hold on every walk.

use crate::common::history::{Way, fold, reach};
use crate::common::inputs::{decided_walk, inputs, place, salt_of};
use crate::common::values::{KEY_END, LEASE_END, START, contract, evidence, keyed, marks};
use crate::common::walk::{contracts, picks, walk};
use proofport_core::code::{OutcomeRule, PhaseRule};
use proofport_core::contract::{Action, Effect, Outcome, Repeat, Retry, RetryOwner, Source};
use proofport_core::decide::{Input, decide};
use proofport_core::diagnostic::Diagnostic;
use proofport_core::due::due;
use proofport_core::envelope::Envelope;
use proofport_core::event::{Event, EventKind};
use proofport_core::evidence::Completion;
use proofport_core::project::{Projection, project};
use proofport_core::state::{Standing, State};
use proofport_core::time::UnixMillis;
use proptest::prelude::{ProptestConfig, proptest};

const STEPS: usize = 40;

fn config() -> ProptestConfig {
    // A failure prints its shrunk walk; no file is left behind.
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

/// What may become of an outcome by one event.
fn may_become(before: Outcome, after: Outcome, kind: EventKind) -> bool {
    use Outcome::{Committed, NotAttempted, Rejected, Unknown};
    match (before, after) {
        (NotAttempted, _) => true,
        (Unknown, Unknown | Rejected | Committed) => true,
        (Rejected, Rejected) | (Committed, Committed) => true,
        // A refused attempt that nobody settled was followed by another.
        (Rejected, Unknown) => kind == EventKind::DispatchStarted,
        (Unknown | Rejected | Committed, NotAttempted) | (Rejected, Committed) | (Committed, _) => false,
    }
}

/// What is true of every claim, whatever the record.
fn check_claim(state: &State, claim: &Projection) {
    let write = state.effect() == Some(Effect::Write);
    assert_eq!(claim.outcome, state.outcome());
    assert_eq!(
        claim.retryable,
        claim.retry == Retry::Backoff && claim.retry_owner == RetryOwner::Caller,
        "{claim:?}"
    );
    assert_eq!(claim.ok, claim.code.is_none());
    assert_eq!(claim.ok, claim.action.is_none());
    if claim.ok {
        assert_eq!(claim.outcome, Outcome::Committed);
        assert!(state.result.is_some(), "ok before the result is stored");
        assert_eq!(claim.retry, Retry::Never);
    }
    if let Some(code) = claim.code {
        let row = code.row();
        if let OutcomeRule::Is(outcome) = row.outcome {
            assert_eq!(claim.outcome, outcome, "{code}");
        }
        if let PhaseRule::Is(phase) = row.phase {
            assert_eq!(claim.phase, phase, "{code}");
        }
    }
    if state.dispatched() {
        assert_ne!(claim.outcome, Outcome::NotAttempted);
    }
    if write && claim.outcome == Outcome::Committed {
        assert!(!matches!(claim.retry, Retry::Backoff | Retry::SameIdempotencyKey), "{claim:?}");
    }
    if write && claim.outcome == Outcome::Unknown {
        assert!(!claim.retryable, "an unknown write is never the caller's to repeat: {claim:?}");
        let repeat = &state.binding.as_ref().unwrap().contract.repeat;
        match claim.retry {
            Retry::Backoff => assert_eq!(*repeat, Repeat::Idempotent),
            Retry::SameIdempotencyKey => assert!(matches!(repeat, Repeat::Keyed(_))),
            Retry::Reconcile => {}
            Retry::Never | Retry::AfterCorrection | Retry::FetchResult => panic!("{claim:?}"),
        }
    }
    match claim.retry {
        Retry::Never => assert_eq!(claim.retry_owner, RetryOwner::Nobody),
        Retry::AfterCorrection
        | Retry::Backoff
        | Retry::SameIdempotencyKey
        | Retry::Reconcile
        | Retry::FetchResult => assert_ne!(claim.retry_owner, RetryOwner::Nobody),
    }
    if claim.action == Some(Action::RetryAfterDelay) {
        assert_eq!(claim.retry, Retry::Backoff, "{claim:?}");
    }
}

const TIMES: [UnixMillis; 5] = [UnixMillis(0), START, LEASE_END, KEY_END, UnixMillis(u64::MAX)];

proptest! {
    #![proptest_config(config())]

    #[test]
    fn after_dispatch_it_is_never_unattempted_again(terms in contracts(), picks in picks(STEPS)) {
        let mut dispatched = false;
        walk(&terms, &picks, |step| {
            dispatched |= step.before.dispatched();
            dispatched |= step.applied && step.event.kind() == EventKind::DispatchStarted;
            assert_eq!(step.after.dispatched(), dispatched);
            if dispatched {
                assert_ne!(step.after.outcome(), Outcome::NotAttempted);
            }
        });
    }

    #[test]
    fn outcomes_only_get_stronger(terms in contracts(), picks in picks(STEPS)) {
        walk(&terms, &picks, |step| {
            let (before, after) = (step.before.outcome(), step.after.outcome());
            assert!(may_become(before, after, step.event.kind()), "{before} → {after} by {:?}", step.event);
        });
    }

    #[test]
    fn an_unknown_attempt_is_refused_only_with_proof_of_its_own(terms in contracts(), picks in picks(STEPS)) {
        walk(&terms, &picks, |step| {
            let refused = step.before.outcome() == Outcome::Unknown && step.after.outcome() == Outcome::Rejected;
            if !refused {
                return;
            }
            match &step.after.settled {
                None => {
                    let unknown = step.before.attempts.iter().filter(|a| a.outcome() == Outcome::Unknown);
                    // Its own, and that of those whose contract calls it the first one's answer.
                    let firsts = step.after.attempts.last().is_some_and(|a| a.is_answered_as_the_first());
                    let proved = unknown.count() == 1 || (firsts && marks(&terms));
                    assert!(proved, "a later attempt's refusal settled an earlier unknown");
                }
                Some(settled) => {
                    assert!(matches!(settled.source, Source::RemoteQuery | Source::OperatorAttested));
                }
            }
        });
    }

    #[test]
    fn it_is_settled_once_and_stays_so(terms in contracts(), picks in picks(STEPS)) {
        let mut times = 0;
        walk(&terms, &picks, |step| {
            if step.applied && step.event.kind() == EventKind::OutcomeSettled {
                times += 1;
                assert!(step.before.settled.is_none());
            }
            if step.before.settled.is_some() {
                assert_eq!(step.before.settled, step.after.settled);
            }
        });
        assert!(times <= 1);
    }

    #[test]
    fn a_refused_event_changes_nothing(terms in contracts(), picks in picks(STEPS)) {
        walk(&terms, &picks, |step| {
            if !step.applied {
                assert_eq!(step.before, step.after);
            }
        });
    }

    #[test]
    fn an_effect_goes_out_again_only_as_the_contract_permits(terms in contracts(), picks in picks(STEPS)) {
        walk(&terms, &picks, |step| {
            let Event::DispatchStarted(again) = step.event else { return };
            if !step.applied {
                return;
            }
            assert_eq!(terms.effect, Effect::Write);
            assert!(step.before.word.is_none_or(|word| word.approved), "it was denied");
            let Some(first) = step.before.attempts.first() else { return };
            assert_eq!(first.dispatch.request, again.request, "other bytes");
            assert_eq!(first.dispatch.key, again.key, "another key");
            match (step.before.outcome(), &terms.repeat) {
                (Outcome::Rejected, _) | (Outcome::Unknown, Repeat::Idempotent) => {}
                (Outcome::Unknown, Repeat::Keyed(_)) => {
                    assert!(again.key.as_ref().is_some_and(|key| again.at < key.expires));
                }
                (outcome, repeat) => panic!("{outcome} was repeated under {repeat:?}"),
            }
        });
    }

    #[test]
    fn a_replay_equals_the_live_run(terms in contracts(), picks in picks(STEPS)) {
        let (history, live) = walk(&terms, &picks, |_| {});
        assert_eq!(State::replay(&history), Ok(Some(live.clone())));
        let stored = serde_json::to_vec(&history).unwrap();
        let read: Vec<Event> = serde_json::from_slice(&stored).unwrap();
        assert_eq!(read, history);
        assert_eq!(State::replay(&read), Ok(Some(live)));
    }

    #[test]
    fn every_claim_keeps_the_rules(terms in contracts(), picks in picks(STEPS)) {
        walk(&terms, &picks, |step| {
            for now in TIMES {
                check_claim(step.after, &project(step.after, now));
                // These must not panic, whatever the record.
                drop(Envelope::of(step.after, None, false, now));
                drop(Diagnostic::of(step.after.clone(), None, now));
                let _ = due(step.after);
            }
        });
    }

    #[test]
    fn what_is_decided_applies(terms in contracts(), picks in picks(STEPS)) {
        let mut salts = picks.iter().copied().map(salt_of);
        walk(&terms, &picks, |step| {
            let salt = salts.next().unwrap_or(0);
            for input in inputs(&terms, salt) {
                for now in TIMES {
                    let Ok(events) = decide(step.after, input.clone(), now) else { continue };
                    let mut state = step.after.clone();
                    for event in &events {
                        assert_eq!(state.apply(event), Ok(()), "{input:?}");
                    }
                }
            }
        });
    }

    #[test]
    fn decisions_only_make_outcomes_stronger(terms in contracts(), picks in picks(STEPS)) {
        decided_walk(&terms, &picks, |before, input, events, after| {
            let rank = |state: &State| match state.outcome() {
                Outcome::NotAttempted => 0,
                Outcome::Unknown => 1,
                Outcome::Rejected | Outcome::Committed => 2,
            };
            // A refusal that is followed elsewhere settles nothing yet: the next attempt's outcome is open.
            let goes_on = before.retry_at.is_some() && before.settled.is_none();
            assert!(goes_on || rank(after) >= rank(before), "{input:?} on {before:?}");
            if rank(before) == 2 && !goes_on {
                assert_eq!(before.outcome(), after.outcome(), "{input:?}");
            }
            // Law 3, from the side of the decision.
            let unknown_before = before
                .attempts
                .iter()
                .any(|attempt| attempt.end.as_ref().is_some_and(|end| end.outcome == Outcome::Unknown));
            if let Input::Judged(judged) = input
                && unknown_before
                && judged.judgement.outcome == Outcome::Rejected
            {
                assert!(events.iter().all(|event| event.kind() != EventKind::OutcomeSettled));
                assert_eq!(after.outcome(), before.outcome());
            }
            check_claim(after, &project(after, START));
        });
    }

    #[test]
    fn coming_back_sends_nothing(terms in contracts(), picks in picks(STEPS)) {
        walk(&terms, &picks, |step| {
            let events = decide(step.after, Input::Recovered, START).unwrap();
            let mut state = step.after.clone();
            for event in &events {
                // An attempt that was announced is taken back under a lease that is over before it begins.
                let taken_back = matches!(event, Event::LeaseTaken { until: UnixMillis(0), .. });
                assert!(taken_back || event.kind() != EventKind::LeaseTaken, "{event:?}");
                assert_ne!(event.kind(), EventKind::DispatchStarted);
                state.apply(event).unwrap();
            }
            assert!(state.active().is_none(), "an attempt is still under way after a recovery");
            let over = match state.standing {
                Standing::AwaitingApproval | Standing::Ended | Standing::Stored => true,
                Standing::Delivered | Standing::Stopped => true,
                // What a person approved waits for its hand.
                Standing::Authorized => state.waits_to_begin(),
                Standing::Accepted | Standing::Validated | Standing::Leased => false,
                Standing::Dispatched | Standing::Answered | Standing::Settled => false,
            };
            assert!(over, "{} is still under way after a recovery", state.standing);
            assert_eq!(state.outcome(), step.after.outcome());
        });
    }
}

#[test]
fn every_kind_of_input_is_tried() {
    let terms = contract(Effect::Write, Repeat::None);
    let places: Vec<usize> = inputs(&terms, 0).iter().map(place).collect();
    assert_eq!(places, (0..places.len()).collect::<Vec<_>>());
}

/// Walks that reach too little prove too little.
#[test]
fn walks_reach_every_standing() {
    use proptest::strategy::{Strategy, ValueTree};
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let mut reached = std::collections::BTreeSet::new();
    let mut twice = false;
    let mut decided = std::collections::BTreeSet::new();
    for _ in 0..600 {
        let terms = contracts().new_tree(&mut runner).unwrap().current();
        let picks = picks(STEPS).new_tree(&mut runner).unwrap().current();
        let (_, state) = walk(&terms, &picks, |step| {
            reached.insert(step.after.standing);
        });
        twice |= state.attempts.len() > 1;
        decided_walk(&terms, &picks, |_, _, _, state| {
            decided.insert(state.standing);
            twice |= state.attempts.len() > 1;
        });
    }
    assert_eq!(reached.len(), Standing::ALL.len(), "{reached:?}");
    // Nobody decides to ask a person yet, and a lease, a settlement or an answer comes with more.
    for standing in [Standing::Dispatched, Standing::Ended, Standing::Stored, Standing::Stopped] {
        assert!(decided.contains(&standing), "{standing}");
    }
    assert!(twice, "no walk repeats an effect");
}

/// The window is the record's: it ends at the stored time whatever happens later.
#[test]
fn a_key_is_good_until_its_stored_expiry() {
    let check = |way: Way, now: UnixMillis, expected: Retry| {
        let terms = contract(Effect::Write, keyed());
        let state = fold(&reach(Standing::Ended, way, &terms).unwrap());
        let claim = project(&state, now);
        assert_eq!((claim.outcome, claim.retry), (Outcome::Unknown, expected), "{way:?} at {now:?}");
        assert_eq!(claim.retry_owner, RetryOwner::Operator);
    };
    for way in [Way::Write, Way::WriteAgain] {
        check(way, START, Retry::SameIdempotencyKey);
        check(way, UnixMillis(KEY_END.0 - 1), Retry::SameIdempotencyKey);
        check(way, KEY_END, Retry::Reconcile);
        check(way, UnixMillis(u64::MAX), Retry::Reconcile);
    }
}

/// Completions that prove nothing about the kind of body still prove completeness.
#[test]
fn every_completion_makes_an_attempt_answerable() {
    let state =
        fold(&reach(Standing::Dispatched, Way::Write, &contract(Effect::Write, Repeat::None)).unwrap());
    for completion in Completion::ALL {
        let events =
            decide(&state, Input::Exchanged(Box::new(evidence(Some(200), Some(*completion)).into())), START)
                .unwrap();
        assert_eq!(events.last().map(Event::kind), Some(EventKind::RemoteResponseComplete), "{completion}");
    }
}
