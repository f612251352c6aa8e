//! Batches: what an answer says of each child, what that makes of the whole, and what may be sent again.

mod again;
mod answers;
mod later;
mod walks;
mod words;

use crate::common::history::{Way, fold, reach};
use crate::common::values::{START, batch, child_id, contract};
use proofport_core::batch::{Answer, Held, Said, claims, judge};
use proofport_core::classify::{Judgement, Reading};
use proofport_core::code::Code;
use proofport_core::contract::{Effect, Outcome, Reason, Repeat, Retry};
use proofport_core::decide::{Input, Judged, decide};
use proofport_core::event::{Event, EventKind, ResultFacts};
use proofport_core::evidence::Evidence;
use proofport_core::manifest::{BatchMode, Contract};
use proofport_core::state::{Standing, State};
use proofport_core::verdict::{ChildVerdict, Verdict};
use serde_json::json;

/// A claim of a connector's: outcome, success, reason.
type Claim = (Outcome, bool, Reason);

const DONE: Claim = (Outcome::Committed, true, Reason::Done);
const CONFLICT: Claim = (Outcome::Rejected, false, Reason::Conflict);
const LATER: Claim = (Outcome::Rejected, false, Reason::RateLimited);
const UNCLEAR: Claim = (Outcome::Unknown, false, Reason::Unreadable);
const FAILED: Claim = (Outcome::Committed, false, Reason::RemoteFailed);
const DIFFER: Claim = (Outcome::Committed, false, Reason::Partial);

fn independent(repeat: Repeat) -> Contract {
    batch(BatchMode::Independent, contract(Effect::Write, repeat))
}

fn verdict((outcome, success, reason): Claim) -> Reading {
    Reading::Verdict(Verdict {
        outcome,
        success,
        reason,
        output: Some(json!({"sent": 1})),
        retry_after_seconds: None,
        children: Vec::new(),
        job: None,
    })
}

fn say(index: u32, id: &str, (outcome, success, reason): Claim) -> Said {
    let verdict = ChildVerdict { index, id: id.to_owned(), outcome, success, reason, output: None };
    Said { verdict, output: Held::Nothing }
}

/// What is said of the children a, b and c.
fn three(a: Claim, b: Claim, c: Claim) -> Vec<Said> {
    vec![say(0, "a", a), say(1, "b", b), say(2, "c", c)]
}

fn judged(terms: &Contract, evidence: &Evidence, reading: Reading, said: Vec<Said>) -> Judgement {
    let bound = ["a", "b", "c"].map(child_id);
    judge(Answer { bound: &bound, evidence, contract: terms, asked_delay: None }, reading, said)
}

fn take(state: &mut State, input: Input) -> Vec<EventKind> {
    let events = decide(state, input, START).unwrap();
    for event in &events {
        state.apply(event).unwrap();
    }
    events.iter().map(Event::kind).collect()
}

/// The state after this answer to a first attempt.
fn answered(terms: &Contract, evidence: impl Into<Evidence>, reading: Reading, said: Vec<Said>) -> State {
    let mut state = fold(&reach(Standing::Dispatched, Way::Write, terms).unwrap());
    answer(&mut state, terms, evidence, reading, said);
    state
}

fn answer(
    state: &mut State,
    terms: &Contract,
    evidence: impl Into<Evidence>,
    reading: Reading,
    said: Vec<Said>,
) {
    let evidence = evidence.into();
    take(state, Input::Exchanged(Box::new(evidence.clone())));
    if state.standing == Standing::Answered {
        let judgement = judged(terms, &evidence, reading, said);
        let result = ResultFacts::Nothing;
        take(state, Input::Judged(Box::new(Judged { judgement, evidence, result })));
    }
}

fn rows(state: &State) -> Vec<(Outcome, Option<Code>, Retry)> {
    claims(state, START).into_iter().map(|claim| (claim.outcome, claim.code, claim.retry)).collect()
}
