//! Random walks: events and inputs picked by numbers, so that a failing walk shrinks well.

use super::events;
use super::history::{Way, fold, reach};
use super::values::{
    KEY_END, LEASE_END, START, batch, child_id, contract, dispatch, end, evidence, key_use, keyed, marking,
    output, query, reconcilable, settlement, stop, stored_output,
};
use proofport_core::code::Code;
use proofport_core::contract::{Effect, Outcome, Phase, Repeat, Source};
use proofport_core::event::{AttemptEnd, ChildFacts, Dispatch, Event, QueryPurpose, ResultFacts, Settlement};
use proofport_core::evidence::{Completion, HttpEvidence};
use proofport_core::manifest::{BatchMode, Contract};
use proofport_core::state::{Standing, State};
use proofport_core::time::UnixMillis;
use proptest::prelude::{Strategy, any, prop};

/// One step of a walk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pick {
    /// Which of the candidates.
    pub(crate) choice: u16,
    /// What the candidates are made of.
    pub(crate) salt: u64,
    /// Whether only candidates that apply count.
    pub(crate) legal: bool,
}

pub(crate) fn picks(most: usize) -> impl Strategy<Value = Vec<Pick>> {
    // Three of four steps go somewhere, so that walks reach far.
    let pick = (any::<u16>(), any::<u64>(), 0..4_u8).prop_map(|(choice, salt, dice)| Pick {
        choice,
        salt,
        legal: dice > 0,
    });
    prop::collection::vec(pick, 0..most)
}

pub(crate) fn contracts() -> impl Strategy<Value = Contract> {
    (any::<bool>(), 0..5_u8, any::<bool>(), 0..4_u8).prop_map(|(read, repeat, reconciles, carries)| {
        let repeat = match repeat {
            0 => Repeat::None,
            1 => Repeat::Idempotent,
            2 => Repeat::Conditional,
            3 => marking(),
            _ => keyed(),
        };
        let contract = contract(if read { Effect::Read } else { Effect::Write }, repeat);
        let contract = if reconciles { reconcilable(contract) } else { contract };
        match carries {
            0 if !read => batch(BatchMode::Atomic, contract),
            1 if !read => batch(BatchMode::Independent, contract),
            _ => contract,
        }
    })
}

/// Takes small numbers out of a big one.
struct Salt(u64);

impl Salt {
    fn below(&mut self, n: usize) -> usize {
        let n = n as u64;
        let taken = self.0 % n;
        self.0 /= n;
        usize::try_from(taken).unwrap()
    }

    fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }
}

fn any_evidence(salt: &mut Salt) -> HttpEvidence {
    let status =
        salt.of(&[None, Some(101), Some(200), Some(307), Some(404), Some(429), Some(500), Some(503)]);
    let completion = salt.of(&[None, Some(Completion::ContentLength)]).filter(|_| status.is_some());
    HttpEvidence {
        from_origin: salt.below(4) > 0,
        replayed: salt.below(3) == 0,
        masked: salt.of(&[0, 1, u32::MAX]),
        ..evidence(status, completion)
    }
}

fn any_code(salt: &mut Salt) -> Option<Code> {
    let n = salt.below(Code::ALL.len() + 1);
    Code::ALL.get(n).copied()
}

pub(crate) fn any_result(n: usize) -> ResultFacts {
    match n % 5 {
        0 => ResultFacts::Nothing,
        1 => output(),
        2 => ResultFacts::Withheld,
        3 => stored_output(),
        _ => ResultFacts::OverLimit,
    }
}

/// Events that could be said to happen to this state: the named ones, and some with odd contents.
pub(crate) fn candidates(state: &State, salt: u64) -> Vec<Event> {
    let salt = &mut Salt(salt);
    let generation = state.lease.map_or(1, |lease| lease.generation);
    let terms = state.binding.as_ref().map(|binding| binding.contract.clone());
    let terms = terms.unwrap_or_else(|| contract(Effect::Write, Repeat::None));
    let purpose = salt.of(&[QueryPurpose::Read, QueryPurpose::Prepare, QueryPurpose::Reconcile]);
    let odd_end = AttemptEnd {
        code: any_code(salt),
        source: salt.of(Source::ALL),
        ..end(generation, salt.of(Outcome::ALL))
    };
    let odd_dispatch = Dispatch {
        key: [None, Some(key_use(8, KEY_END)), Some(key_use(9, KEY_END))][salt.below(3)].clone(),
        at: salt.of(&[START, LEASE_END, KEY_END, UnixMillis(u64::MAX)]),
        ..dispatch(generation, &terms)
    };
    let index = salt.below(4);
    let odd_child = ChildFacts {
        index: u32::try_from(index).unwrap(),
        id: child_id(["a", "b", "c", "a"][index]),
        generation: salt.of(&[0, generation, generation + 1]),
        outcome: salt.of(Outcome::ALL),
        code: any_code(salt),
        source: salt.of(Source::ALL),
        repairable: salt.below(2) == 0,
        output: None,
    };
    let odd_settlement = Settlement {
        code: any_code(salt),
        repairable: salt.below(2) == 0,
        retry_after_seconds: salt.of(&[None, Some(0), Some(30)]),
        ..settlement(salt.of(Outcome::ALL), salt.of(Source::ALL))
    };
    let mut all = events::all(state);
    all.extend([
        Event::QueryExchanged(query(purpose, any_evidence(salt))),
        Event::AttemptEnded(AttemptEnd { evidence: any_evidence(salt).into(), ..odd_end }),
        Event::DispatchStarted(odd_dispatch),
        Event::ChildSettled(odd_child),
        Event::OutcomeSettled(odd_settlement),
        Event::ResultCommitted(any_result(salt.below(5))),
        Event::Stopped(stop(salt.of(Phase::ALL), salt.of(Code::ALL))),
        Event::LeaseTaken { generation: state.next_generation(), until: UnixMillis(u64::MAX) },
    ]);
    all
}

/// One applied or refused event of a walk.
pub(crate) struct Step<'a> {
    pub(crate) before: &'a State,
    pub(crate) event: &'a Event,
    pub(crate) applied: bool,
    pub(crate) after: &'a State,
}

/// Where a walk begins: walks from an acceptance alone seldom get to the late standings.
fn beginning(terms: &Contract, salt: u64) -> Vec<Event> {
    let read = terms.effect == Effect::Read;
    let first = if read { Way::Read } else { Way::Write };
    let beginnings = [
        (Standing::Accepted, first),
        (Standing::Authorized, first),
        (Standing::Dispatched, first),
        (Standing::Answered, first),
        (Standing::Ended, first),
        (Standing::Ended, if read { first } else { Way::WriteAgain }),
    ];
    let (standing, way) = Salt(salt).of(&beginnings);
    // Not every contract permits a second attempt, and a read has none.
    reach(standing, way, terms)
        .filter(|history| State::replay(history).is_ok())
        .or_else(|| reach(Standing::Authorized, first, terms))
        .unwrap()
}

/// Walks and shows every step. Returns the history and where it led.
pub(crate) fn walk(terms: &Contract, picks: &[Pick], mut look: impl FnMut(&Step<'_>)) -> (Vec<Event>, State) {
    let mut history = beginning(terms, picks.first().map_or(0, |pick| pick.salt));
    let mut state = fold(&history);
    for pick in picks {
        let mut all = candidates(&state, pick.salt);
        for event in &mut all {
            if let Event::PreflightValidated(binding) = event {
                binding.contract = terms.clone();
            }
        }
        if pick.legal {
            all.retain(|event| state.clone().apply(event).is_ok());
            // The same few events again and again, and an early end, lead nowhere.
            let moves = |event: &Event| {
                let next = state.next_standing(event.kind());
                next != Some(state.standing) && next != Some(Standing::Stopped)
            };
            if pick.choice % 4 > 0 && all.iter().any(moves) {
                all.retain(moves);
            }
        }
        if all.is_empty() {
            continue;
        }
        let event = all.swap_remove(usize::from(pick.choice / 4) % all.len());
        let before = state.clone();
        let applied = state.apply(&event).is_ok();
        look(&Step { before: &before, event: &event, applied, after: &state });
        if applied {
            history.push(event);
        }
    }
    (history, state)
}
