//! What the journal says of each invocation in the end.

use super::Wanted;
use crate::rig::{Open, caller};
use proofport_core::canonical::canonical;
use proofport_core::code::Code;
use proofport_core::contract::{Outcome, RetryOwner, Source};
use proofport_core::digest::Digest;
use proofport_core::id::RequestId;
use proofport_core::state::State;
use proofport_core::unknown::{NextStep, UnknownEffect};
use std::collections::HashMap;

/// One record: an invocation has more where it was called again after nothing had been done.
pub(super) struct Record {
    /// What it says of each effect, in the input's order.
    pub(super) claims: Vec<Claim>,
    pub(super) stands: Stands,
    pub(super) attempts: u64,
}

/// What a record says of one effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) outcome: Outcome,
    /// It was done, as the operation's success is.
    pub(super) ok: bool,
}

/// How a record stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stands {
    /// Nothing was dispatched, by this code.
    Stopped(Code),
    /// By this source.
    Settled(Source),
    /// It waits for a person, for this reason.
    Waits(&'static str),
    /// It is unknown, and nobody is told to do anything about it.
    Forgotten,
}

/// All records, by the number of their invocation.
pub(super) struct Records(pub(super) HashMap<usize, Vec<Record>>);

impl Records {
    pub(super) fn read(open: &Open, wanted: &[Wanted]) -> Self {
        let journal = open.broker.journal();
        let mut numbers: HashMap<(String, Digest), usize> = HashMap::new();
        for Wanted { line, .. } in wanted {
            let operation = format!("{}.{}", line.connection, line.operation);
            numbers.insert((operation, Digest::of_bytes(canonical(&line.input).as_bytes())), line.n);
        }
        let unknowns = open.broker.unknowns().unwrap();
        let unknowns: HashMap<RequestId, UnknownEffect> =
            unknowns.into_iter().map(|unknown| (unknown.request_id, unknown)).collect();
        let mut records: HashMap<usize, Vec<Record>> = HashMap::new();
        for id in journal.invocations(usize::MAX).unwrap() {
            let history = journal.history(&id).unwrap();
            let state = State::replay(history.iter().map(|recorded| &recorded.event)).unwrap().unwrap();
            let n = numbers[&(state.accepted.operation.to_string(), state.accepted.input)];
            let effects = wanted[n].kind.effects(n);
            records.entry(n).or_default().push(Record {
                claims: claims(open, &id, &state, effects.len()),
                stands: stands(&state, unknowns.get(&id)),
                attempts: state.attempts.len() as u64,
            });
        }
        Self(records)
    }
}

fn claims(open: &Open, id: &RequestId, state: &State, effects: usize) -> Vec<Claim> {
    let envelope = open.broker.result(id, &caller()).envelope;
    let whole = Claim { outcome: state.outcome(), ok: envelope.ok() };
    let mut claims = vec![whole; effects];
    for child in envelope.children() {
        let index = usize::try_from(child.index()).unwrap();
        claims[index] = Claim { outcome: child.outcome(), ok: child.ok() };
    }
    claims
}

fn stands(state: &State, unknown: Option<&UnknownEffect>) -> Stands {
    let open = state.outcome() == Outcome::Unknown || state.has_unknown_child();
    match (&state.settled, unknown) {
        (_, Some(unknown)) => reason(unknown).map_or(Stands::Forgotten, Stands::Waits),
        (Some(settled), None) if !open => Stands::Settled(settled.source),
        (Some(_), None) => Stands::Forgotten,
        (None, None) => match &state.stopped {
            Some(stop) => Stands::Stopped(stop.code),
            None => Stands::Forgotten,
        },
    }
}

/// Whether a person can settle it by a word.
fn is_attested(step: &NextStep) -> bool {
    matches!(step, NextStep::Attest | NextStep::AttestChildren)
}

/// Why a person has to see to it; none: the record does not say.
fn reason(unknown: &UnknownEffect) -> Option<&'static str> {
    let for_a_person = match unknown.retry_owner {
        RetryOwner::Operator | RetryOwner::Nobody => true,
        RetryOwner::Host | RetryOwner::Caller => false,
    };
    let waits = unknown.next.contains(&NextStep::Wait) || !unknown.next.iter().any(is_attested);
    if !for_a_person || waits {
        return None;
    }
    let repeats = unknown.next.iter().any(|step| match step {
        NextStep::Repeat | NextStep::RepeatWithKey { .. } => true,
        NextStep::Wait | NextStep::Reconcile { .. } | NextStep::Attest | NextStep::AttestChildren => false,
    });
    let asks = unknown.next.iter().any(|step| matches!(step, NextStep::Reconcile { .. }));
    Some(match (repeats, asks) {
        (true, _) => "it may be repeated, and was not answered",
        (false, true) => "what was asked about it settled nothing",
        (false, false) => "it may not be repeated, and nothing can be asked about it",
    })
}
