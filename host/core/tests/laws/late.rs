//! Laws 3 and 7: what is learnt after another attempt, after a settlement, or out of order.

use crate::aggregation::Ending::{self, Cut, NoResponse, RefusedStream, Status, VaultLocked};
use crate::aggregation::{attempt, begun, ready, take, verdict};
use crate::common::values::{
    START, complete, contract, end, keyed, lost, output, query, reason, reconcilable, settlement,
};
use proofport_core::attestation::AttestedOutcome;
use proofport_core::classify::{Reading, judge};
use proofport_core::code::Code;
use proofport_core::contract::{Effect, Outcome, Reason, Repeat, Source};
use proofport_core::decide::{Input, Judged};
use proofport_core::event::{Event, EventKind, QueryPurpose};
use proofport_core::evidence::Evidence;
use proofport_core::manifest::Contract;
use proofport_core::project::project;
use proofport_core::state::{IllegalEvent, Standing, State};

use Outcome::{Committed, Rejected, Unknown};

/// What happens, in order.
#[derive(Clone, Copy, Debug)]
enum Happening {
    /// The next attempt ends like this.
    Try(Ending),
    /// A query of a reconciliation finds this; unknown: it got no answer.
    Find(Outcome),
    /// A person says so.
    Attest(AttestedOutcome),
    /// The answer to the first attempt comes, when another one has ended since.
    Late(Outcome),
}

use Happening::{Attest, Find, Late, Try};

fn find(state: &mut State, terms: &Contract, outcome: Outcome) {
    let (evidence, reading) = match outcome {
        Committed => (complete(200), Reading::Verdict(verdict(Committed, true, Reason::Present))),
        Rejected => (complete(200), Reading::Verdict(verdict(Rejected, false, Reason::Absent))),
        Unknown | Outcome::NotAttempted => (lost(), Reading::None),
    };
    let queried = query(QueryPurpose::Reconcile, evidence.clone());
    take(state, Input::Queried(Box::new(queried)), START).unwrap();
    let evidence = Evidence::from(evidence);
    let judgement = judge(&evidence, terms, reading, None);
    take(state, Input::Reconciled(Box::new(Judged { judgement, evidence, result: output() })), START)
        .unwrap();
}

/// It is no end of any attempt any more, and changes nothing that is known.
fn late(state: &mut State, outcome: Outcome) {
    let known = (state.outcome(), state.settled.clone(), state.attempts.clone());
    let here = state.standing;
    let refused = state.apply(&Event::AttemptEnded(end(1, outcome)));
    assert_eq!(refused, Err(IllegalEvent::OutOfOrder { standing: here, event: EventKind::AttemptEnded }));
    let source = Source::RemoteResponse;
    state.apply(&Event::EvidenceAttached { source, source_sequence: 1, outcome }).unwrap();
    assert_eq!((state.outcome(), state.settled.clone(), state.attempts.clone()), known);
}

/// What is claimed in the end, and what stands beside it.
type Expected<'a> = (Outcome, Option<Code>, Source, &'a [Outcome]);

fn check(happenings: &[Happening], expected: Expected<'_>) {
    for repeat in [Repeat::Idempotent, keyed()] {
        let terms = reconcilable(contract(Effect::Write, repeat));
        let mut state = begun(&terms);
        for happening in happenings {
            match *happening {
                Try(ending) => attempt(&mut state, &terms, ending, START).unwrap(),
                Find(outcome) => find(&mut state, &terms, outcome),
                Attest(outcome) => {
                    take(&mut state, Input::Attested { outcome, reason: reason() }, START).unwrap();
                }
                Late(outcome) => late(&mut state, outcome),
            }
        }
        let claim = project(&state, START);
        let got = (claim.outcome, claim.code, claim.source, &*state.attached);
        assert_eq!(got, (expected.0, expected.1, Some(expected.2), expected.3), "{happenings:?}");
    }
}

#[test]
fn what_comes_late_settles_by_its_own_right_or_stands_beside_the_record() {
    let open = Some(Code::OutcomeUnknown);
    let (absent, unread) = (Some(Code::ConfirmedAbsent), Some(Code::ResultUnavailable));
    let (transport, query, person) =
        (Source::TransportObserved, Source::RemoteQuery, Source::OperatorAttested);
    // A query speaks of whatever was sent before it, refusals after an unknown included.
    for second in [Status(401), Status(404), Status(429), NoResponse, RefusedStream, VaultLocked] {
        let tried = [Try(NoResponse), Try(second)];
        let and = |last: Happening| [tried[0], tried[1], last];
        check(&tried, (Unknown, open, transport, &[]));
        check(&and(Find(Unknown)), (Unknown, open, transport, &[]));
        check(&and(Find(Committed)), (Committed, None, query, &[]));
        check(&and(Find(Rejected)), (Rejected, absent, query, &[]));
        check(&and(Attest(AttestedOutcome::Committed)), (Committed, unread, person, &[]));
    }
    // One that learnt nothing stops no attempt, and what a later one finds counts.
    check(
        &[Try(NoResponse), Find(Unknown), Try(Status(404)), Find(Unknown), Find(Rejected)],
        (Rejected, absent, query, &[]),
    );
    check(
        &[Try(NoResponse), Find(Unknown), Try(Status(200))],
        (Committed, None, Source::RemoteResponse, &[]),
    );
    // An answer to an attempt that is over is no proof of its own; a query may be had for it.
    check(&[Try(NoResponse), Try(NoResponse), Late(Committed)], (Unknown, open, transport, &[Committed]));
    check(&[Try(NoResponse), Try(Status(404)), Late(Rejected)], (Unknown, open, transport, &[Rejected]));
    check(
        &[Try(NoResponse), Try(Status(404)), Late(Rejected), Find(Committed)],
        (Committed, None, query, &[Rejected]),
    );
    // Nor does it take back what is settled.
    check(
        &[Try(Cut), Try(Status(200)), Late(Rejected)],
        (Committed, None, Source::RemoteResponse, &[Rejected]),
    );
    check(
        &[Try(Cut), Try(Status(404)), Find(Rejected), Late(Committed)],
        (Rejected, absent, query, &[Committed]),
    );
    check(
        &[Try(Cut), Try(Status(404)), Attest(AttestedOutcome::Rejected), Find(Committed), Late(Committed)],
        (Rejected, Some(Code::RemoteRejected), person, &[Committed, Committed]),
    );
}

/// An invocation whose second attempt is on its way, the first one unknown.
fn under_way(terms: &Contract) -> State {
    let mut state = begun(terms);
    attempt(&mut state, terms, NoResponse, START).unwrap();
    take(&mut state, ready(terms), START).unwrap();
    state
}

#[test]
fn what_is_told_out_of_order_is_refused() {
    let terms = contract(Effect::Write, keyed());
    let check = |state: &State, event: Event, expected: IllegalEvent| {
        let mut after = state.clone();
        assert_eq!(after.apply(&event), Err(expected), "{event:?}");
        assert_eq!(after, *state);
    };
    let stale = IllegalEvent::StaleGeneration;
    let contradiction = IllegalEvent::Contradiction;
    let (generation, source) = (1, Source::RemoteResponse);
    let settled = |outcome| Event::OutcomeSettled(settlement(outcome, source));
    let attached = Event::EvidenceAttached { source, source_sequence: 1, outcome: Committed };

    // The first attempt's answer arrives while the second is under way.
    let mut state = under_way(&terms);
    check(&state, Event::RequestSent { generation }, stale(EventKind::RequestSent));
    check(&state, Event::RemoteResponseStarted { generation }, stale(EventKind::RemoteResponseStarted));
    check(&state, Event::RemoteResponseComplete { generation }, stale(EventKind::RemoteResponseComplete));
    check(&state, Event::AttemptEnded(end(1, Unknown)), stale(EventKind::AttemptEnded));
    // Ends and settlements before what they rest on.
    check(&state, Event::AttemptEnded(end(2, Committed)), contradiction(EventKind::AttemptEnded));
    let here = |event| IllegalEvent::OutOfOrder { standing: Standing::Dispatched, event };
    check(&state, settled(Committed), here(EventKind::OutcomeSettled));
    check(&state, Event::ResultCommitted(output()), here(EventKind::ResultCommitted));
    check(&state, attached.clone(), here(EventKind::EvidenceAttached));
    check(
        &state,
        Event::DispatchStarted(state.attempts[1].dispatch.clone()),
        here(EventKind::DispatchStarted),
    );

    for event in [
        Event::RequestSent { generation: 2 },
        Event::RemoteResponseStarted { generation: 2 },
        Event::RemoteResponseComplete { generation: 2 },
    ] {
        state.apply(&event).unwrap();
    }
    check(&state, Event::AttemptEnded(end(1, Committed)), stale(EventKind::AttemptEnded));
    state.apply(&Event::AttemptEnded(end(2, Rejected))).unwrap();
    // Nothing ends twice, and an answer settles only what it proves.
    let here = |event| IllegalEvent::OutOfOrder { standing: Standing::Ended, event };
    check(&state, Event::AttemptEnded(end(2, Committed)), here(EventKind::AttemptEnded));
    check(&state, Event::RemoteResponseComplete { generation: 2 }, here(EventKind::RemoteResponseComplete));
    check(&state, settled(Rejected), contradiction(EventKind::OutcomeSettled));
    check(&state, settled(Committed), contradiction(EventKind::OutcomeSettled));
    check(
        &state,
        Event::DispatchStarted(state.attempts[1].dispatch.clone()),
        here(EventKind::DispatchStarted),
    );
    state.apply(&attached).unwrap();
}
