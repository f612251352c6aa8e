//! Execs from what was seen to what is told.

use crate::common::history::{Way, fold, reach};
use crate::common::values::{START, complete, contract, digest, exec, peer, settlement};
use proofport_core::classify::{Reading, judge};
use proofport_core::code::Code;
use proofport_core::contract::{Effect, Outcome, Repeat, Source};
use proofport_core::decide::{Input, Judged, decide};
use proofport_core::envelope::Envelope;
use proofport_core::event::{Event, EventKind, QueryFacts, QueryPurpose, ResultFacts};
use proofport_core::evidence::{Evidence, PeerIdentity};
use proofport_core::exchange::SshExit;
use proofport_core::project::project;
use proofport_core::ssh::{SshEvidence, StreamSeen};
use proofport_core::state::{Standing, State};
use serde_json::{Value, json};

/// A dispatched write.
fn dispatched() -> State {
    let terms = contract(Effect::Write, Repeat::None);
    fold(&reach(Standing::Dispatched, Way::Write, &terms).unwrap())
}

/// Takes what was seen, and judges a complete answer that nobody reads.
fn take(evidence: SshEvidence) -> (State, Vec<EventKind>) {
    let mut state = dispatched();
    let evidence = Evidence::from(evidence);
    let mut kinds = Vec::new();
    let mut learn = |state: &mut State, input: Input| {
        for event in decide(state, input, START).unwrap() {
            kinds.push(event.kind());
            state.apply(&event).unwrap();
        }
    };
    learn(&mut state, Input::Exchanged(Box::new(evidence.clone())));
    if state.standing == Standing::Answered {
        let terms = contract(Effect::Write, Repeat::None);
        let judgement = judge(&evidence, &terms, Reading::None, None);
        let judged = Judged { judgement, evidence, result: ResultFacts::Nothing };
        learn(&mut state, Input::Judged(Box::new(judged)));
    }
    (state, kinds)
}

fn status(status: u32) -> Option<SshExit> {
    Some(SshExit::Status(status))
}

/// An exec that the server refused.
fn refused() -> SshEvidence {
    let nothing = StreamSeen::default();
    let offered =
        SshEvidence { stdin_complete: false, stdout: nothing, stderr: nothing, ..exec(None, false) };
    SshEvidence { command_accepted: Some(false), ..offered }
}

#[test]
fn an_exec_is_recorded_as_far_as_it_came() {
    use EventKind::{
        AttemptEnded, OutcomeSettled, RemoteResponseComplete, RemoteResponseStarted, RequestSent,
        ResultCommitted,
    };
    let check = |evidence: SshEvidence, expected: &[EventKind], outcome: Outcome, code: Code| {
        let (state, kinds) = take(evidence.clone());
        assert_eq!(kinds, expected, "{evidence:?}");
        let claim = project(&state, START);
        assert_eq!((claim.outcome, claim.code), (outcome, Some(code)), "{evidence:?}");
    };
    let whole = [
        RequestSent,
        RemoteResponseStarted,
        RemoteResponseComplete,
        AttemptEnded,
        OutcomeSettled,
        ResultCommitted,
    ];
    let cut = [RequestSent, RemoteResponseStarted, AttemptEnded, OutcomeSettled, ResultCommitted];
    check(exec(status(0), true), &whole, Outcome::Committed, Code::ResultUnreadable);
    check(exec(status(23), true), &whole, Outcome::Committed, Code::RemoteFailed);
    // The end is known although the output is not whole, and nobody reads it.
    check(exec(status(0), false), &cut, Outcome::Committed, Code::ResultUnreadable);
    check(exec(status(23), false), &cut, Outcome::Committed, Code::RemoteFailed);
    check(exec(Some(SshExit::Marker), false), &cut, Outcome::Committed, Code::ResultUnreadable);
    check(exec(None, false), &cut[..3], Outcome::Unknown, Code::RemoteResultIncomplete);
    check(refused(), &cut[2..], Outcome::Rejected, Code::RemoteRejected);
    let unanswered = SshEvidence { command_accepted: None, ..refused() };
    check(unanswered, &[AttemptEnded], Outcome::Unknown, Code::OutcomeUnknown);
}

#[test]
fn an_answer_tells_of_an_exec_what_was_seen() {
    let check = |evidence: SshEvidence, exit: Value, accepted: Value, whole: bool| {
        let what = format!("{evidence:?}");
        let (state, _) = take(evidence);
        let told = serde_json::to_value(Envelope::of(&state, None, false, START)).unwrap();
        let seen = &told["evidence"];
        assert_eq!((&told["exit_status"], &seen["command_accepted"]), (&exit, &accepted), "{what}");
        assert_eq!((&seen["stdout_complete"], &seen["stderr_complete"]), (&json!(whole), &json!(whole)));
        assert_eq!((&seen["response_headers_received"], &told["http_status"]), (&json!(false), &Value::Null));
    };
    check(exec(status(u32::MAX), true), json!(u32::MAX), json!(true), true);
    check(exec(status(0), false), json!(0), json!(true), false);
    check(exec(Some(SshExit::Signal("KILL".to_owned())), true), Value::Null, json!(true), true);
    check(exec(Some(SshExit::Marker), false), Value::Null, json!(true), false);
    check(refused(), Value::Null, json!(false), false);
    check(SshEvidence { command_accepted: None, ..refused() }, Value::Null, Value::Null, false);
}

/// A journal from before there was SSH, and one from after, read as what they are.
#[test]
fn the_record_tells_the_transports_apart() {
    let written = serde_json::to_value(complete(200)).unwrap();
    assert_eq!(serde_json::from_value::<Evidence>(written.clone()).unwrap(), complete(200).into());
    assert_eq!(serde_json::to_value(Evidence::from(complete(200))).unwrap(), written);
    for seen in [exec(status(3), true), exec(None, false), refused()] {
        let written = serde_json::to_value(Evidence::from(seen.clone())).unwrap();
        assert_eq!(serde_json::from_value::<Evidence>(written).unwrap(), Evidence::Ssh(seen));
    }
}

/// What another machine of that name knows of a command settles nothing.
#[test]
fn only_the_machine_that_it_was_sent_to_tells_its_fate() {
    let check = |peer: PeerIdentity, outcome: Outcome, expected: bool| {
        let (mut state, _) = take(exec(None, false));
        let evidence = Evidence::from(exec(status(0), true));
        let facts = QueryFacts { purpose: QueryPurpose::Reconcile, request: digest(6), peer, evidence };
        state.apply(&Event::QueryExchanged(facts)).unwrap();
        let settled = Event::OutcomeSettled(settlement(outcome, Source::RemoteQuery));
        assert_eq!(state.apply(&settled).is_ok(), expected, "{outcome} {state:?}");
    };
    for outcome in [Outcome::Committed, Outcome::Rejected] {
        check(peer(), outcome, true);
        check(PeerIdentity { certificate: Some(digest(77)), ..peer() }, outcome, false);
        check(PeerIdentity { name: "elsewhere.example".to_owned(), ..peer() }, outcome, false);
    }
}
