//! Inputs of every kind, and walks in which the core decides.

use super::history::{Way, fold, reach};
use super::values::{
    KEY_END, START, accepted, binding, child_id, complete, credential, digest, elsewhere, evidence, exec,
    key_use, lost, marks, peer, query, reason, setup, stop,
};
use super::walk::{Pick, any_result};
use proofport_core::approval::{Grant, Question, Word};
use proofport_core::attestation::AttestedOutcome;
use proofport_core::batch::{Answer, Held, Said, judge};
use proofport_core::classify::Reading;
use proofport_core::code::Code;
use proofport_core::contract::{Effect, Outcome, Phase, Reason, Repeat, Source};
use proofport_core::decide::{Input, Judged, Readiness, decide};
use proofport_core::event::{Event, QueryPurpose};
use proofport_core::evidence::{Cause, Evidence, HttpEvidence};
use proofport_core::exchange::SshExit;
use proofport_core::id::RequestId;
use proofport_core::job::Following;
use proofport_core::manifest::Contract;
use proofport_core::ssh::{SshEvidence, StreamSeen};
use proofport_core::state::{Standing, State};
use proofport_core::time::UnixMillis;
use proofport_core::verdict::{ChildVerdict, Verdict};
use serde_json::json;

/// Inputs in the order of their kinds; a kind of input that is missing here does not compile.
pub(crate) const fn place(input: &Input) -> usize {
    match input {
        Input::Validated(_) => 0,
        Input::Authorized(_) => 1,
        Input::Refused(_) => 2,
        Input::Connected(_) => 3,
        Input::Queried(_) => 4,
        Input::Ready(_) => 5,
        Input::Exchanged(_) => 6,
        Input::Judged(_) => 7,
        Input::ReadJudged(_) => 8,
        Input::Reconciled(_) => 9,
        Input::Attested { .. } => 10,
        Input::Cancelled => 11,
        Input::Delivered => 12,
        Input::Recovered => 13,
        Input::Redirected { .. } => 14,
        Input::Repeat(_) => 15,
        Input::Ask { .. } => 16,
        Input::Followed(_) => 17,
        Input::ChildAttested { .. } => 18,
        Input::Question(_) => 19,
        Input::Decided(_) => 20,
    }
}

fn verdict(outcome: Outcome, success: bool, reason: Reason) -> Reading {
    Reading::Verdict(Verdict {
        outcome,
        success,
        reason,
        output: None,
        retry_after_seconds: None,
        children: Vec::new(),
        job: (reason == Reason::Accepted).then(|| "job-1".to_owned()),
    })
}

/// What could be said of the children a, b and c, and of strangers.
fn said(salt: usize) -> Vec<Said> {
    let one = |n: usize| {
        let of_child = salt / [3, 17, 71, 301][n];
        let index = if of_child.is_multiple_of(11) { 7 } else { n % 3 };
        let (outcome, success, reason) = [
            (Outcome::Committed, true, Reason::Done),
            (Outcome::Rejected, false, Reason::RateLimited),
            (Outcome::Unknown, false, Reason::Unreadable),
            (Outcome::Committed, false, Reason::RemoteFailed),
        ][of_child % 4];
        let verdict = ChildVerdict {
            index: u32::try_from(index).unwrap(),
            id: ["a", "b", "c"][n % 3].to_owned(),
            outcome,
            success,
            reason,
            output: None,
        };
        let usable = of_child.is_multiple_of(3);
        Said { verdict, output: if usable { Held::Usable(json!({"n": n})) } else { Held::Nothing } }
    };
    (0..salt % 5).map(one).collect()
}

/// Judgements of all sorts: by the core's own tables from what was seen, and odd ones.
fn judged(terms: &Contract, salt: usize) -> Judged {
    let status = [200, 202, 404, 409, 429, 500, 503, 307][salt % 8];
    let reading = match salt / 8 % 6 {
        0 => Reading::None,
        1 => verdict(Outcome::Committed, true, Reason::Done),
        2 => verdict(Outcome::Committed, true, Reason::Accepted),
        3 => verdict(Outcome::Rejected, false, Reason::InvalidInput),
        4 => verdict(Outcome::Unknown, false, Reason::StillRunning),
        _ => Reading::Faulted("trap".to_owned()),
    };
    let evidence = match salt / 48 % 4 {
        0 => lost(),
        1 => evidence(Some(status), None),
        _ => HttpEvidence { replayed: marks(terms) && salt.is_multiple_of(5), ..complete(status) },
    };
    let evidence = Evidence::from(evidence);
    let bound: Vec<_> = terms.batch.iter().flat_map(|_| ["a", "b", "c"].map(child_id)).collect();
    let answer = Answer { bound: &bound, evidence: &evidence, contract: terms, asked_delay: None };
    let mut judgement = judge(answer, reading, said(salt));
    if (salt / 192).is_multiple_of(8) {
        judgement.source = Source::ALL[salt / 1536 % Source::ALL.len()];
        judgement.code = Code::ALL.get(salt / 8192 % (Code::ALL.len() + 1)).copied();
    }
    Judged { judgement, evidence, result: any_result(salt / 7) }
}

/// One input of every kind.
pub(crate) fn inputs(terms: &Contract, salt: usize) -> Vec<Input> {
    let purpose = [QueryPurpose::Read, QueryPurpose::Prepare, QueryPurpose::Reconcile][salt % 3];
    let key = match terms.repeat {
        Repeat::Keyed(_) => Some(key_use(if salt.is_multiple_of(5) { 9 } else { 8 }, KEY_END)),
        Repeat::None | Repeat::Idempotent | Repeat::Conditional => None,
    };
    let ready = Readiness {
        request: digest(if salt.is_multiple_of(7) { 99 } else { 9 }),
        peer: peer(),
        key,
        lease_millis: [0, 1000, u64::MAX][salt % 3],
        follows: salt.is_multiple_of(2).then(elsewhere),
    };
    let status = |status| Some(SshExit::Status(status));
    let seen: [Evidence; 8] = [
        lost().into(),
        evidence(Some(200), None).into(),
        complete(200).into(),
        exec(None, false).into(),
        exec(status(0), false).into(),
        exec(status(23), true).into(),
        exec(Some(SshExit::Marker), false).into(),
        SshEvidence { command_accepted: Some(false), stdout: StreamSeen::default(), ..exec(None, false) }
            .into(),
    ];
    let seen = seen[salt % 8].clone();
    vec![
        Input::Validated(Box::new(binding(terms.clone()))),
        Input::Authorized(credential()),
        Input::Refused(stop(Phase::ALL[salt % Phase::ALL.len()], Code::ALL[salt / 5 % Code::ALL.len()])),
        Input::Connected(vec![setup(Some(Cause::ConnectionRefused)), setup(None)]),
        Input::Queried(Box::new(query(purpose, complete(200)))),
        Input::Ready(Box::new(ready)),
        Input::Exchanged(Box::new(seen)),
        Input::Judged(Box::new(judged(terms, salt))),
        Input::ReadJudged(Box::new(judged(terms, salt))),
        Input::Reconciled(Box::new(judged(terms, salt))),
        Input::Attested { outcome: AttestedOutcome::ALL[salt % 2], reason: reason() },
        Input::Cancelled,
        Input::Delivered,
        Input::Recovered,
        Input::Redirected { evidence: Box::new(complete(307)), to: elsewhere() },
        Input::Repeat([START, KEY_END, UnixMillis(u64::MAX)][salt % 3]),
        Input::Ask {
            asked: u32::try_from(salt % 3).unwrap(),
            at: (!salt.is_multiple_of(4)).then_some(START),
        },
        Input::Followed(Following {
            looks: u32::try_from(salt % 3).unwrap(),
            by: None,
            at: (!salt.is_multiple_of(4)).then_some(START),
        }),
        Input::ChildAttested {
            index: u32::try_from(salt % 4).unwrap(),
            outcome: AttestedOutcome::ALL[salt % 2],
            reason: reason(),
        },
        Input::Question(Question { until: START.plus_seconds(60), request: digest(9) }),
        Input::Decided(Word {
            approved: !salt.is_multiple_of(3),
            request: digest(if salt.is_multiple_of(5) { 99 } else { 9 }),
            grant: salt.is_multiple_of(2).then_some(Grant { until: None }),
            by: salt.is_multiple_of(4).then(|| RequestId::from_random([3; 16])),
        }),
    ]
}

pub(crate) fn salt_of(pick: Pick) -> usize {
    usize::try_from(pick.salt % (1 << 40)).unwrap()
}

/// A walk in which every event is one that `decide` chose.
pub(crate) fn decided_walk(
    terms: &Contract,
    picks: &[Pick],
    mut look: impl FnMut(&State, &Input, &[Event], &State),
) {
    // From the authorization on: what comes before is refused or goes straight there.
    let way = if terms.effect == Effect::Read { Way::Read } else { Way::Write };
    let mut state = match picks.first() {
        Some(pick) if pick.salt % 4 > 0 => fold(&reach(Standing::Authorized, way, terms).unwrap()),
        Some(_) | None => State::begin(&accepted()).unwrap(),
    };
    for pick in picks {
        let mut all = inputs(terms, salt_of(*pick));
        if pick.legal {
            // Only inputs that change something, so that walks reach far.
            all.retain(|input| decide(&state, input.clone(), START).is_ok_and(|events| !events.is_empty()));
        }
        if all.is_empty() {
            continue;
        }
        let input = all.swap_remove(usize::from(pick.choice) % all.len());
        let Ok(events) = decide(&state, input.clone(), START) else { continue };
        let before = state.clone();
        for event in &events {
            state.apply(event).expect("an event that decide chose does not apply");
        }
        look(&before, &input, &events, &state);
    }
}
