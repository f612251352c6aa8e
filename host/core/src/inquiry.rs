//! Asking by itself what became of an effect, where the operation declares that the host may (design
//! section 7): a function of the record, of the budget that is bound in it, of the time, and of a roll of the
//! die. Queries change nothing, so what bounds them is courtesy.

use crate::contract::{Effect, Outcome};
use crate::decide::Input;
use crate::job::submitted;
use crate::retry::{Plan, plan};
use crate::state::{Standing, State};
use crate::time::UnixMillis;

/// What the host does next by itself about an invocation that nobody carries out at the moment. It is on
/// record, so that a restart forgets none of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// It sends the same bytes again.
    Repeat {
        /// Not before this.
        at: UnixMillis,
    },
    /// It asks the remote what became of them.
    Ask {
        /// Not before this.
        at: UnixMillis,
    },
    /// It lets the question to a person lapse.
    Lapse {
        /// Not before this.
        at: UnixMillis,
    },
    /// It carries out what a person approved.
    Begin,
    /// It looks at the job that was submitted.
    Look {
        /// Not before this.
        at: UnixMillis,
    },
}

impl Move {
    /// When it is due.
    #[must_use]
    pub const fn at(self) -> UnixMillis {
        match self {
            Self::Repeat { at } | Self::Ask { at } | Self::Lapse { at } | Self::Look { at } => at,
            Self::Begin => UnixMillis(0),
        }
    }
}

/// The move that is on record; none: whatever happens next is a person's or nobody's.
#[must_use]
pub fn announced(state: &State) -> Option<Move> {
    if state.waits_to_begin() {
        return Some(Move::Begin);
    }
    if let (Standing::AwaitingApproval, Some(question)) = (state.standing, state.question) {
        return Some(Move::Lapse { at: question.until });
    }
    let unknown =
        state.standing == Standing::Ended && state.settled.is_none() && state.outcome() == Outcome::Unknown;
    let repeat = state.retry_at.map(|at| Move::Repeat { at });
    let about_an_unknown = repeat.or(state.ask_at.map(|at| Move::Ask { at })).filter(|_| unknown);
    let look = || state.following.at.map(|at| Move::Look { at }).filter(|_| submitted(state).is_some());
    about_an_unknown.or_else(look)
}

/// What is put on record with an attempt's end: the host repeats the effect within its budget, or else asks
/// what became of it, or leaves it to others. `ended_at` is when its last attempt ended.
#[must_use]
pub fn after_an_end(state: &State, ended_at: UnixMillis, now: UnixMillis, roll: u16) -> Option<Input> {
    if announced(state).is_some() {
        return None;
    }
    match plan(state, now, roll) {
        Plan::Repeat { at } => Some(Input::Repeat(at)),
        Plan::Leave(_) => asking(state, ended_at, now, roll),
    }
}

/// The same, where nothing is repeated any more.
#[must_use]
pub fn asking(state: &State, ended_at: UnixMillis, now: UnixMillis, roll: u16) -> Option<Input> {
    let at = when_to_ask(state, ended_at, now, roll)?;
    Some(Input::Ask { asked: state.asked, at: Some(at) })
}

/// What is put on record when the host has asked by itself and nothing was settled.
#[must_use]
pub fn after_asking(state: &State, ended_at: UnixMillis, now: UnixMillis, roll: u16) -> Input {
    let mut asked = state.clone();
    asked.asked = asked.asked.saturating_add(1);
    Input::Ask { asked: asked.asked, at: when_to_ask(&asked, ended_at, now, roll) }
}

/// Whether the host may ask by itself at all.
#[must_use]
pub fn may_ask(state: &State) -> bool {
    let declared = state.binding.as_ref().is_some_and(|binding| {
        binding.contract.effect == Effect::Write
            && binding.contract.reconcile.is_some_and(|terms| terms.automatic)
    });
    declared
        && state.dispatched()
        && state.standing == Standing::Ended
        && state.settled.is_none()
        && state.outcome() == Outcome::Unknown
}

/// When it asks next; none: it has asked often enough, or may not.
fn when_to_ask(state: &State, ended_at: UnixMillis, now: UnixMillis, roll: u16) -> Option<UnixMillis> {
    let binding = state.binding.as_ref().filter(|_| may_ask(state))?;
    let (budget, terms) = (binding.reconciliations?, binding.contract.reconcile?);
    if state.asked >= budget.attempts {
        return None;
    }
    let delay = budget.delay_millis(state.asked, roll);
    let next = UnixMillis(now.0.saturating_add(delay));
    // The last question comes when an answer of "absent" is proof, so that it can settle either way.
    let last = state.asked.saturating_add(1) == budget.attempts;
    let seconds = terms.absence_settles_after_seconds;
    // A second more, since the end is put on record a moment after it is seen.
    let counts = seconds.map(|seconds| ended_at.plus_seconds(u64::from(seconds) + 1));
    let at = counts.filter(|_| last).map_or(next, |counts| counts.max(next));
    (at <= state.accepted.at.plus_seconds(budget.total_seconds.into())).then_some(at)
}
