//! What a person may say of an unknown effect, what that claims, and what is learnt afterwards.

use crate::common::history::{Way, fold, reach};
use crate::common::values::{
    KEY_END, START, complete, contract, end, keyed, lost, query, reason, reconcilable, settlement,
};
use proofport_core::attestation::{AttestedOutcome, AttestedReason, InvalidReason, LONGEST_REASON};
use proofport_core::classify::{Judgement, Reading, judge};
use proofport_core::code::Code;
use proofport_core::contract::{Action, Effect, Outcome, Phase, Reason, Repeat, Retry, RetryOwner, Source};
use proofport_core::decide::{Input, Judged, decide};
use proofport_core::envelope::Envelope;
use proofport_core::event::{Event, EventKind, QueryPurpose, ResultFacts};
use proofport_core::evidence::{Evidence, HttpEvidence};
use proofport_core::manifest::{Contract, Reconcile};
use proofport_core::project::project;
use proofport_core::state::{IllegalEvent, Standing, State};
use proofport_core::time::UnixMillis;
use proofport_core::unknown::{NextStep, UnknownEffect, leaves_unsettled};
use proofport_core::verdict::Verdict;

fn attest(outcome: AttestedOutcome) -> Input {
    Input::Attested { outcome, reason: reason() }
}

fn take(state: &mut State, input: Input) -> Vec<EventKind> {
    let events = decide(state, input, START).unwrap();
    events.iter().for_each(|event| state.apply(event).unwrap());
    events.iter().map(Event::kind).collect()
}

fn terms(repeat: Repeat) -> Contract {
    reconcilable(contract(Effect::Write, repeat))
}

fn unknown(terms: &Contract) -> State {
    fold(&reach(Standing::Ended, Way::Write, terms).unwrap())
}

#[test]
fn a_reason_is_one_plain_line() {
    let check = |text: &str, expected: Result<(), InvalidReason>| {
        assert_eq!(AttestedReason::parse(text).map(|_| ()), expected, "{text:?}");
    };
    check("the dashboard shows charge ch_1, made at 12:03", Ok(()));
    check("ü – 漢字 🦀 می‌خواهم", Ok(()));
    check(&"ü".repeat(LONGEST_REASON), Ok(()));
    check(&"ü".repeat(LONGEST_REASON + 1), Err(InvalidReason::TooLong));
    for blank in ["", " ", "\t \n"] {
        check(blank, Err(InvalidReason::Empty));
    }
    for c in ['\n', '\r', '\t', '\0', '\u{1b}', '\u{7f}', '\u{85}', '\u{9b}', '\u{2028}', '\u{2029}'] {
        check(&format!("a{c}b"), Err(InvalidReason::Misleading));
    }
    for c in ['\u{61c}', '\u{200e}', '\u{200f}', '\u{202a}', '\u{202e}', '\u{2066}', '\u{2069}'] {
        check(&format!("a{c}b"), Err(InvalidReason::Misleading));
    }
}

/// No result was ever received, so that what a person says happened is no success.
#[test]
fn what_an_attestation_claims() {
    let check = |attested, code: Code, phase: Phase, retry: Retry, owner: RetryOwner| {
        for repeat in [Repeat::None, Repeat::Idempotent, Repeat::Conditional, keyed()] {
            let mut state = unknown(&terms(repeat));
            let before = state.attempts.clone();
            let kinds = take(&mut state, attest(attested));
            assert_eq!(kinds, [EventKind::OutcomeSettled, EventKind::ResultCommitted]);
            let claim = project(&state, START);
            assert_eq!((claim.ok, claim.outcome, claim.code), (false, attested.outcome(), Some(code)));
            assert_eq!((claim.phase, claim.retry, claim.retry_owner), (phase, retry, owner));
            assert_eq!(claim.action, Some(Action::StopAndReport));
            assert_eq!(claim.source, Some(Source::OperatorAttested));
            assert_eq!((claim.http_status, claim.exit_status), (None, None));
            assert_eq!(state.attempts, before, "the first evidence stays");
            assert_eq!(state.result, Some(ResultFacts::Nothing));
            let shown = serde_json::to_string(&Envelope::of(&state, None, false, START)).unwrap();
            assert!(!shown.contains(reason().as_str()), "{shown}");
        }
    };
    let (execution, delivery) = (Phase::RemoteExecution, Phase::ResultDelivery);
    let (correction, never) = (Retry::AfterCorrection, Retry::Never);
    check(AttestedOutcome::Rejected, Code::RemoteRejected, execution, correction, RetryOwner::Operator);
    check(AttestedOutcome::Committed, Code::ResultUnavailable, delivery, never, RetryOwner::Nobody);
}

#[test]
fn only_an_unknown_effect_is_attested() {
    let check = |way: Way, terms: &Contract, standing: Standing, expected: Option<IllegalEvent>| {
        let Some(history) = reach(standing, way, terms) else { return };
        for attested in AttestedOutcome::ALL {
            let decided = decide(&fold(&history), attest(*attested), START);
            assert_eq!(decided.err(), expected, "{way:?}, {standing}, {attested}");
        }
    };
    let settled = EventKind::OutcomeSettled;
    for standing in Standing::ALL.iter().copied() {
        let out_of_order = Some(IllegalEvent::OutOfOrder { standing, event: settled });
        let expected = match standing {
            Standing::Ended => None,
            // Nothing of it was dispatched.
            Standing::Authorized => Some(IllegalEvent::Contradiction(settled)),
            Standing::Accepted
            | Standing::Validated
            | Standing::AwaitingApproval
            | Standing::Leased
            | Standing::Dispatched
            | Standing::Answered
            | Standing::Settled
            | Standing::Stored
            | Standing::Delivered
            | Standing::Stopped => out_of_order,
        };
        check(Way::Write, &contract(Effect::Write, Repeat::None), standing, expected);
        check(Way::WriteAgain, &contract(Effect::Write, Repeat::Idempotent), standing, expected);
        check(Way::Read, &contract(Effect::Read, Repeat::None), standing, expected);
    }
}

fn found(outcome: Outcome, evidence: HttpEvidence, terms: &Contract) -> Judged {
    let verdict = Verdict {
        outcome,
        success: outcome == Outcome::Committed,
        reason: if outcome == Outcome::Committed { Reason::Present } else { Reason::Absent },
        output: None,
        retry_after_seconds: None,
        children: Vec::new(),
        job: None,
    };
    let evidence = Evidence::from(evidence);
    let judgement = judge(&evidence, terms, Reading::Verdict(verdict), None);
    Judged { judgement: Judgement { outcome, ..judgement }, evidence, result: ResultFacts::Nothing }
}

/// The remote may be asked after a person has spoken. What it says stands beside that, whatever it is.
#[test]
fn what_is_learnt_afterwards_is_attached() {
    let terms = terms(Repeat::None);
    let check = |attested: AttestedOutcome, outcome: Outcome, delivered: bool| {
        let mut state = unknown(&terms);
        take(&mut state, attest(attested));
        if delivered {
            take(&mut state, Input::Delivered);
        }
        let claimed = project(&state, START);
        take(&mut state, Input::Queried(Box::new(query(QueryPurpose::Reconcile, complete(200)))));
        let attached =
            decide(&state, Input::Reconciled(Box::new(found(outcome, complete(200), &terms))), START);
        let expected =
            Event::EvidenceAttached { source: Source::RemoteQuery, source_sequence: 1, outcome, child: None };
        assert_eq!(attached, Ok(vec![expected.clone()]));
        state.apply(&expected).unwrap();
        assert_eq!(state.attached, [outcome]);
        assert_eq!(project(&state, START), claimed, "{attested}, then {outcome}");
    };
    for attested in AttestedOutcome::ALL {
        for outcome in [Outcome::Rejected, Outcome::Committed] {
            for delivered in [false, true] {
                check(*attested, outcome, delivered);
            }
        }
    }
}

#[test]
fn evidence_of_a_query_needs_its_answer() {
    let terms = terms(Repeat::None);
    let attached = Event::EvidenceAttached {
        source: Source::RemoteQuery,
        source_sequence: 1,
        outcome: Outcome::Committed,
        child: None,
    };
    let refused = Err(IllegalEvent::Contradiction(EventKind::EvidenceAttached));
    let mut state = unknown(&terms);
    take(&mut state, attest(AttestedOutcome::Rejected));
    assert_eq!(state.clone().apply(&attached), refused);
    take(&mut state, Input::Queried(Box::new(query(QueryPurpose::Reconcile, lost()))));
    assert_eq!(state.clone().apply(&attached), refused);
    take(&mut state, Input::Queried(Box::new(query(QueryPurpose::Reconcile, complete(200)))));
    assert_eq!(state.apply(&attached), Ok(()));
}

/// What was settled by an answer is not asked about, and nobody reads or prepares what is over.
#[test]
fn only_the_fate_of_what_was_attested_is_asked_for() {
    let terms = terms(Repeat::None);
    let asked = |purpose| Event::QueryExchanged(query(purpose, complete(200)));
    let refused = Err(IllegalEvent::Contradiction(EventKind::QueryExchanged));
    for purpose in [QueryPurpose::Read, QueryPurpose::Prepare, QueryPurpose::Reconcile] {
        let mut attested = unknown(&terms);
        take(&mut attested, attest(AttestedOutcome::Committed));
        let expected = if purpose == QueryPurpose::Reconcile { Ok(()) } else { refused };
        assert_eq!(attested.apply(&asked(purpose)), expected, "{purpose:?}");
        let mut answered = fold(&reach(Standing::Stored, Way::Write, &terms).unwrap());
        assert_eq!(answered.apply(&asked(purpose)), refused, "{purpose:?}");
    }
}

#[test]
fn what_can_be_done_about_an_unknown() {
    let ended = START.plus_seconds(5);
    let check = |terms: Contract, now: UnixMillis, expected: &[NextStep]| {
        let state = unknown(&terms);
        let listed = UnknownEffect::of(&state, Some(ended), now).unwrap();
        assert_eq!(listed.next, expected, "{terms:?}");
        let claim = project(&state, now);
        assert_eq!(
            (listed.code, listed.retry, listed.retry_owner),
            (claim.code, claim.retry, claim.retry_owner)
        );
        assert_eq!(listed.age_seconds, now.seconds_since(listed.dispatched_at));
        assert_eq!(listed.request_id, state.accepted.request_id);
    };
    let plain = |repeat| contract(Effect::Write, repeat);
    let ask = |seconds: Option<u32>| {
        let reconcile = Reconcile { absence_settles_after_seconds: seconds, automatic: false };
        Contract { reconcile: Some(reconcile), ..plain(Repeat::None) }
    };
    let asked = |from| NextStep::Reconcile { absence_counts_from: from };
    check(plain(Repeat::None), START, &[NextStep::Attest]);
    check(plain(Repeat::Conditional), START, &[NextStep::Attest]);
    check(plain(Repeat::Idempotent), START, &[NextStep::Repeat, NextStep::Attest]);
    check(plain(keyed()), START, &[NextStep::RepeatWithKey { until: KEY_END }, NextStep::Attest]);
    check(plain(keyed()), KEY_END, &[NextStep::Attest]);
    check(ask(None), START, &[asked(None), NextStep::Attest]);
    check(ask(Some(60)), START, &[asked(Some(ended.plus_seconds(60))), NextStep::Attest]);
    // What the host repeats by itself, and a person may settle all the same.
    let mut announced = unknown(&plain(Repeat::Idempotent));
    take(&mut announced, Input::Repeat(ended));
    let listed = UnknownEffect::of(&announced, Some(ended), START).unwrap();
    assert_eq!(listed.next, [NextStep::Wait, NextStep::Repeat, NextStep::Attest]);
    assert_eq!(listed.retry_owner, RetryOwner::Host);
    let listed = UnknownEffect::of(&announced, Some(ended), ended).unwrap();
    assert_eq!(listed.next, [NextStep::Repeat, NextStep::Attest]);
    take(&mut announced, attest(AttestedOutcome::Committed));
    assert_eq!(UnknownEffect::of(&announced, Some(ended), START), None);
    let both = [asked(Some(ended.plus_seconds(60))), NextStep::Repeat, NextStep::Attest];
    check(terms(Repeat::Idempotent), START, &both);
}

#[test]
fn only_what_is_unknown_is_listed() {
    let check = |way: Way, terms: &Contract, standing: Standing, expected: Option<&[NextStep]>| {
        let Some(history) = reach(standing, way, terms) else { return };
        let listed = UnknownEffect::of(&fold(&history), None, START);
        assert_eq!(listed.map(|listed| listed.next).as_deref(), expected, "{way:?}, {standing}");
    };
    for standing in Standing::ALL.iter().copied() {
        let under_way: Option<&[NextStep]> = match standing {
            Standing::Dispatched | Standing::Answered | Standing::Ended => Some(&[NextStep::Wait]),
            Standing::Accepted
            | Standing::Validated
            | Standing::AwaitingApproval
            | Standing::Authorized
            | Standing::Leased
            | Standing::Settled
            | Standing::Stored
            | Standing::Delivered
            | Standing::Stopped => None,
        };
        check(Way::Write, &contract(Effect::Write, Repeat::None), standing, under_way);
        check(Way::Read, &contract(Effect::Read, Repeat::None), standing, None);
    }
}

/// The index holds exactly what has an ended attempt and no settlement.
#[test]
fn what_leaves_an_invocation_unsettled() {
    let ended = || Event::AttemptEnded(end(1, Outcome::Unknown));
    let settled = || Event::OutcomeSettled(settlement(Outcome::Committed, Source::RemoteQuery));
    let check = |events: &[Event], expected: Option<bool>| {
        assert_eq!(leaves_unsettled(events), expected, "{events:?}");
    };
    check(&[], None);
    check(&[Event::CancelRequested, Event::ResultDelivered], None);
    check(&[ended()], Some(true));
    check(&[ended(), Event::CancelRequested], Some(true));
    check(&[settled(), Event::ResultCommitted(ResultFacts::Nothing)], Some(false));
    check(&[ended(), settled()], Some(false));
    for standing in Standing::ALL.iter().copied() {
        let Some(history) = reach(standing, Way::WriteAgain, &contract(Effect::Write, Repeat::Idempotent))
        else {
            continue;
        };
        let state = fold(&history);
        let expected =
            state.attempts.iter().any(|attempt| attempt.end.is_some()).then(|| state.settled.is_none());
        assert_eq!(leaves_unsettled(&history), expected, "{standing}");
    }
}
