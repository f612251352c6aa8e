//! The table of dispatch boundaries for HTTP, every status, written out again from the design.

use crate::common::values::{complete, contract, evidence, keyed, lost};
use proofport_core::ceiling::Ceiling;
use proofport_core::classify::{Judgement, LONGEST_RETRY_AFTER, Reading, judge};
use proofport_core::code::Code;
use proofport_core::contract::{Effect, Outcome, Reason, Repeat, Source};
use proofport_core::evidence::{Completion, HttpEvidence};
use proofport_core::manifest::Contract;
use proofport_core::verdict::Verdict;
use std::ops::RangeInclusive;

use Code::{
    AuthFailed, OutcomeUnknown, RateLimited, RemoteFailed, RemoteRejected, RemoteResultIncomplete,
    ResultUnreadable,
};
use Outcome::{Committed, Rejected, Unknown};

/// What a status proves of an effect when nobody reads the body.
struct Row {
    statuses: RangeInclusive<u16>,
    /// Under a contract that promises nothing.
    plain: (Outcome, Code),
    /// Where the contract lists the status as sent before any work.
    listed: (Outcome, Code),
    /// Where the keyed contract says that it means "the first is still running".
    running: (Outcome, Code),
}

const fn row(
    statuses: RangeInclusive<u16>,
    plain: (Outcome, Code),
    listed: (Outcome, Code),
    running: (Outcome, Code),
) -> Row {
    Row { statuses, plain, listed, running }
}

/// A success that nobody read is committed and unreadable.
const DONE: (Outcome, Code) = (Committed, ResultUnreadable);
const FAILED: (Outcome, Code) = (Committed, RemoteFailed);
const REFUSED: (Outcome, Code) = (Rejected, RemoteRejected);
const LATER: (Outcome, Code) = (Rejected, RateLimited);
const LOGIN: (Outcome, Code) = (Rejected, AuthFailed);
const OPEN: (Outcome, Code) = (Unknown, OutcomeUnknown);
/// No final status ever came.
const BROKEN: (Outcome, Code) = (Unknown, RemoteResultIncomplete);

const TABLE: [Row; 29] = [
    row(100..=199, BROKEN, BROKEN, BROKEN),
    row(200..=299, DONE, DONE, OPEN),
    row(300..=302, OPEN, LATER, OPEN),
    row(303..=303, DONE, DONE, OPEN),
    row(304..=399, OPEN, LATER, OPEN),
    row(400..=400, REFUSED, REFUSED, OPEN),
    row(401..=401, LOGIN, LOGIN, OPEN),
    row(402..=402, REFUSED, REFUSED, OPEN),
    row(403..=403, REFUSED, REFUSED, OPEN),
    row(404..=406, REFUSED, REFUSED, OPEN),
    row(407..=407, REFUSED, REFUSED, OPEN),
    row(408..=408, OPEN, LATER, OPEN),
    row(409..=409, REFUSED, REFUSED, OPEN),
    row(410..=411, REFUSED, REFUSED, OPEN),
    row(412..=412, REFUSED, REFUSED, OPEN),
    row(413..=420, REFUSED, REFUSED, OPEN),
    row(421..=421, LATER, LATER, OPEN),
    row(422..=424, REFUSED, REFUSED, OPEN),
    row(425..=425, LATER, LATER, OPEN),
    row(426..=428, REFUSED, REFUSED, OPEN),
    row(429..=429, LATER, LATER, OPEN),
    row(430..=499, REFUSED, REFUSED, OPEN),
    row(500..=501, FAILED, LATER, OPEN),
    // An intermediary speaks; what the origin documents is not about it.
    row(502..=502, OPEN, OPEN, OPEN),
    row(503..=503, OPEN, LATER, OPEN),
    row(504..=504, OPEN, OPEN, OPEN),
    row(505..=510, FAILED, LATER, OPEN),
    row(511..=511, FAILED, LATER, OPEN),
    row(512..=599, FAILED, LATER, OPEN),
];

fn listing(status: u16) -> Contract {
    Contract { statuses_before_work: vec![status], ..contract(Effect::Write, Repeat::None) }
}

fn running(status: u16) -> Contract {
    let mut terms = contract(Effect::Write, keyed());
    if let Repeat::Keyed(keyed) = &mut terms.repeat {
        keyed.running_status = Some(status);
    }
    terms
}

pub(crate) fn claimed(
    evidence: &HttpEvidence,
    terms: &Contract,
    reading: Reading,
) -> (Outcome, Option<Code>) {
    let judgement = judge(&evidence.clone().into(), terms, reading, None);
    (judgement.outcome, judgement.code)
}

#[test]
fn every_status_by_itself() {
    let check = |status: u16, terms: &Contract, (outcome, code): (Outcome, Code), how: &str| {
        let claim = claimed(&complete(status), terms, Reading::None);
        assert_eq!(claim, (outcome, Some(code)), "{status} {how}");
        assert_eq!(proofport_core::row::Row::of_status(status, terms).claims().0, outcome, "{status} {how}");
    };
    let mut next = 100;
    for row in &TABLE {
        assert_eq!(*row.statuses.start(), next, "a gap in the table");
        next = row.statuses.end() + 1;
        for status in row.statuses.clone() {
            check(status, &contract(Effect::Write, Repeat::None), row.plain, "plain");
            check(status, &contract(Effect::Write, Repeat::Idempotent), row.plain, "idempotent");
            // A key changes what may be repeated, not what was proved.
            let other = if status == 409 { 423 } else { 409 };
            check(status, &running(other), row.plain, "keyed, another status means running");
            check(status, &listing(status), row.listed, "listed as before work");
            let elsewhere = if status == 503 { 408 } else { 503 };
            check(status, &listing(elsewhere), row.plain, "another status is listed");
            check(status, &running(status), row.running, "still running");
            let both = Contract { statuses_before_work: vec![status], ..running(status) };
            check(status, &both, row.running, "listed and still running");
        }
    }
    assert_eq!(next, 600);
}

#[test]
fn without_a_complete_final_answer_of_the_origin_it_is_unknown() {
    let check = |evidence: HttpEvidence, code: Code| {
        let terms = contract(Effect::Write, Repeat::Idempotent);
        for reading in [
            Reading::None,
            verdict(Committed, true, Reason::Done),
            verdict(Rejected, false, Reason::InvalidInput),
            Reading::Faulted("trap".to_owned()),
        ] {
            let judgement = judge(&evidence.clone().into(), &terms, reading, Some(5));
            assert_eq!((judgement.outcome, judgement.code), (Unknown, Some(code)), "{evidence:?}");
            assert_eq!(judgement.source, Source::TransportObserved);
            assert_eq!((judgement.output, judgement.job), (None, None));
        }
    };
    check(lost(), OutcomeUnknown);
    for status in 100..=599 {
        check(evidence(Some(status), None), RemoteResultIncomplete);
        check(HttpEvidence { from_origin: false, ..complete(status) }, RemoteResultIncomplete);
    }
    for completion in Completion::ALL {
        check(evidence(Some(101), Some(*completion)), RemoteResultIncomplete);
    }
}

pub(crate) fn verdict(outcome: Outcome, success: bool, reason: Reason) -> Reading {
    Reading::Verdict(Verdict {
        outcome,
        success,
        reason,
        output: Some(serde_json::json!({"id": "ch_1"})),
        retry_after_seconds: None,
        children: Vec::new(),
        job: None,
    })
}

#[test]
fn a_verdict_is_held_under_its_ceiling() {
    let plain = contract(Effect::Write, Repeat::None);
    // (status, contract, claim, success) → what is claimed in the end, and whether it was cut down.
    let check = |status: u16,
                 terms: &Contract,
                 claim: (Outcome, bool, Reason),
                 expected: (Outcome, Option<Code>, bool)| {
        let (outcome, success, reason) = claim;
        let got = judge(&complete(status).into(), terms, verdict(outcome, success, reason), None);
        assert_eq!((got.outcome, got.code, got.above_ceiling), expected, "{status} {claim:?}");
        assert_eq!(got.output.is_some(), !got.above_ceiling, "output of a verdict that does not stand");
    };
    let done = (Committed, true, Reason::Done);
    let refused = (Rejected, false, Reason::InvalidInput);
    let unsure = (Unknown, false, Reason::Unreadable);
    let failed = (Committed, false, Reason::RemoteFailed);
    for status in [200, 302, 307, 404, 409] {
        check(status, &plain, done, (Committed, None, false));
        check(status, &plain, refused, (Rejected, Some(RemoteRejected), false));
        check(status, &plain, unsure, (Unknown, Some(OutcomeUnknown), false));
        check(status, &plain, failed, (Committed, Some(RemoteFailed), false));
    }
    check(500, &plain, done, (Committed, Some(RemoteFailed), true));
    check(500, &plain, refused, (Committed, Some(RemoteFailed), true));
    check(500, &plain, unsure, (Unknown, Some(OutcomeUnknown), false));
    check(500, &plain, failed, (Committed, Some(RemoteFailed), false));
    check(503, &plain, refused, (Unknown, Some(OutcomeUnknown), true));
    check(502, &plain, done, (Unknown, Some(OutcomeUnknown), true));
    check(503, &listing(503), refused, (Rejected, Some(RemoteRejected), false));
    check(503, &listing(503), failed, (Committed, Some(RemoteFailed), false));
    check(503, &listing(503), done, (Rejected, Some(RateLimited), true));
    check(502, &listing(502), refused, (Unknown, Some(OutcomeUnknown), true));
    check(504, &listing(504), refused, (Unknown, Some(OutcomeUnknown), true));
    // A refusal that calls itself a success, and words that the world doesn't have.
    check(404, &plain, (Rejected, true, Reason::Done), (Rejected, Some(RemoteRejected), true));
    check(404, &plain, (Unknown, true, Reason::Done), (Rejected, Some(RemoteRejected), true));
    check(
        200,
        &plain,
        (Outcome::NotAttempted, false, Reason::Done),
        (Committed, Some(ResultUnreadable), true),
    );
}

#[test]
fn ceilings_by_status() {
    for status in 100..=599_u16 {
        let check = |terms: &Contract, expected: Ceiling| {
            assert_eq!(Ceiling::of(&complete(status).into(), terms), expected, "{status}");
        };
        let plain = match status {
            100..=199 => Ceiling::Nothing,
            200..=499 => Ceiling::Any,
            _ => Ceiling::Failure,
        };
        check(&contract(Effect::Write, Repeat::None), plain);
        let listed = match status {
            502 | 504 => Ceiling::Failure,
            500..=599 => Ceiling::Refusal,
            _ => plain,
        };
        check(&listing(status), listed);
    }
}

#[test]
fn a_fault_while_reading_leaves_what_the_status_proves() {
    let check = |status: u16, expected: (Outcome, Code)| {
        let terms = contract(Effect::Write, Repeat::None);
        let got = judge(&complete(status).into(), &terms, Reading::Faulted("trap".to_owned()), Some(9));
        assert_eq!((got.outcome, got.code), (expected.0, Some(expected.1)), "{status}");
        assert_eq!(got.connector_fault.as_deref(), Some("trap"));
        assert_eq!((got.output, got.job), (None, None));
        assert_eq!(got.retry_after_seconds, Some(9));
    };
    check(200, DONE);
    check(202, DONE);
    check(303, DONE);
    check(307, OPEN);
    check(401, LOGIN);
    check(404, REFUSED);
    check(429, LATER);
    check(500, FAILED);
    check(503, OPEN);
}

/// A withheld answer keeps what its status proves; that nothing can be handed over is said by the
/// record, not by the attempt.
#[test]
fn a_withheld_answer_leaves_what_the_status_proves() {
    let check = |status: u16, expected: (Outcome, Option<Code>)| {
        let terms = contract(Effect::Write, Repeat::None);
        let got = judge(&complete(status).into(), &terms, Reading::Withheld, Some(9));
        assert_eq!((got.outcome, got.code), expected, "{status}");
        assert_eq!((got.output, got.job), (None, None));
    };
    check(200, (Committed, None));
    check(202, (Committed, None));
    check(303, (Committed, None));
    check(307, (Unknown, Some(OutcomeUnknown)));
    check(404, (Rejected, Some(RemoteRejected)));
    check(500, (Committed, Some(RemoteFailed)));
    check(503, (Unknown, Some(OutcomeUnknown)));
}

/// Without the contract nothing can be said.
#[test]
fn without_a_contract_nothing_is_proved() {
    assert_eq!(Judgement::unproved(&lost().into()).code, Some(OutcomeUnknown));
    let seen = Judgement::unproved(&complete(200).into());
    assert_eq!((seen.outcome, seen.code), (Unknown, Some(RemoteResultIncomplete)));
}

#[test]
fn a_reason_chooses_the_code() {
    let check = |outcome: Outcome, reason: Reason, code: Option<Code>| {
        let success = code.is_none();
        let claim = claimed(
            &complete(200),
            &contract(Effect::Write, Repeat::None),
            verdict(outcome, success, reason),
        );
        assert_eq!(claim, (outcome, code), "{outcome} {reason}");
    };
    check(Committed, Reason::Done, None);
    check(Committed, Reason::Accepted, None);
    check(Committed, Reason::Partial, Some(Code::Partial));
    check(Committed, Reason::Unreadable, Some(ResultUnreadable));
    check(Committed, Reason::RemoteFailed, Some(RemoteFailed));
    check(Rejected, Reason::Unauthenticated, Some(AuthFailed));
    check(Rejected, Reason::Forbidden, Some(RemoteRejected));
    check(Rejected, Reason::InvalidInput, Some(RemoteRejected));
    check(Rejected, Reason::NotFound, Some(RemoteRejected));
    check(Rejected, Reason::Conflict, Some(RemoteRejected));
    check(Rejected, Reason::PreconditionFailed, Some(RemoteRejected));
    check(Rejected, Reason::PayloadMismatch, Some(RemoteRejected));
    check(Rejected, Reason::RateLimited, Some(RateLimited));
    check(Rejected, Reason::Unavailable, Some(RateLimited));
    check(Rejected, Reason::Absent, Some(Code::ConfirmedAbsent));
    for reason in Reason::ALL {
        check(Unknown, *reason, Some(OutcomeUnknown));
    }
}

#[test]
fn only_an_input_that_is_at_fault_is_repairable() {
    let check = |status: u16, repairable: bool| {
        let terms = contract(Effect::Write, Repeat::None);
        let got = judge(&complete(status).into(), &terms, Reading::None, None);
        assert_eq!(got.repairable, repairable, "{status}");
    };
    for status in [400, 404, 410, 413, 422] {
        check(status, true);
    }
    for status in
        [200, 307, 401, 402, 403, 407, 408, 409, 412, 421, 423, 424, 425, 428, 429, 451, 500, 502, 503]
    {
        check(status, false);
    }
}

#[test]
fn a_delay_is_passed_on_capped() {
    let check = |asked: Option<u32>, in_verdict: Option<u32>, expected: Option<u32>| {
        let terms = contract(Effect::Write, Repeat::None);
        let reading = Reading::Verdict(Verdict {
            outcome: Rejected,
            success: false,
            reason: Reason::RateLimited,
            output: None,
            retry_after_seconds: in_verdict,
            children: Vec::new(),
            job: None,
        });
        let got: Judgement = judge(&complete(429).into(), &terms, reading, asked);
        assert_eq!(got.retry_after_seconds, expected);
    };
    check(None, None, None);
    check(Some(30), None, Some(30));
    check(Some(30), Some(7), Some(7));
    check(Some(u32::MAX), None, Some(LONGEST_RETRY_AFTER));
    check(None, Some(u32::MAX), Some(LONGEST_RETRY_AFTER));
}

/// What a read learns, it learns by a query.
#[test]
fn the_source_says_how_it_is_known() {
    let check = |effect: Effect, status: u16, source: Source| {
        let got = judge(&complete(status).into(), &contract(effect, Repeat::Idempotent), Reading::None, None);
        assert_eq!(got.source, source, "{effect} {status}");
    };
    check(Effect::Write, 200, Source::RemoteResponse);
    check(Effect::Write, 404, Source::RemoteResponse);
    check(Effect::Write, 503, Source::TransportObserved);
    check(Effect::Read, 200, Source::RemoteQuery);
    check(Effect::Read, 404, Source::RemoteQuery);
}
