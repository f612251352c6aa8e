//! What may be sent again while its fate is unknown, and when the host does so by itself (design section 7):
//! a function of the record, of the contract and the budget that are bound in it, of the time, and of a roll
//! of the die. Nothing else permits a second dispatch.

use crate::closed::closed_enum;
use crate::code::Code;
use crate::contract::{Effect, Outcome, Repeat};
use crate::digest::Digest;
use crate::id::IdempotencyKey;
use crate::state::{Standing, State};
use crate::time::UnixMillis;
use serde::{Deserialize, Serialize};

/// How often, and for how long, the host does something about one effect by itself: repeats it, asks what
/// became of it, or looks at the job that it submitted. The admin's word; it is bound to an invocation when that begins, so that a restart resets
/// none of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryBudget {
    /// Of repeats: attempts of one invocation, the first and those that never reached their dispatch
    /// included. Of questions and looks: how many.
    pub attempts: u32,
    /// For how long after the acceptance another one may begin, in seconds.
    pub total_seconds: u32,
    /// The longest delay before the first repeat, or question, in milliseconds. It doubles with every further
    /// one.
    pub first_delay_millis: u32,
    /// What it doubles up to, in milliseconds. A remote that asks for more gets more.
    pub longest_delay_millis: u32,
}

/// What the host does by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// It sends the same bytes again.
    Repeat {
        /// Not before this.
        at: UnixMillis,
    },
    /// It leaves it alone.
    Leave(Leave),
}

closed_enum! {
    /// Why an effect is not sent again.
    pub enum Leave {
        /// Nothing was dispatched, or its fate is known.
        NotUnknown = "not_unknown",
        /// An attempt is under way, or the next one is due already.
        UnderWay = "under_way",
        /// The caller cancelled.
        Cancelled = "cancelled",
        /// The contract does not say that a second arrival is harmless.
        NotRepeatable = "not_repeatable",
        /// It was sent on to another origin.
        Redirected = "redirected",
        /// The remote may have forgotten the idempotency key by then.
        KeyExpires = "key_expires",
        /// What would be sent is not what was sent first.
        OtherBytes = "other_bytes",
        /// The connection lets the host repeat nothing.
        NoBudget = "no_budget",
        /// As many attempts were made as the budget has.
        AttemptsSpent = "attempts_spent",
        /// The next attempt would begin after the budget's time.
        TimeSpent = "time_spent",
    }
}

/// Whether another dispatch of the same bytes at this time is within the declared contract, whoever asks for
/// it (laws 2, 3 and 6).
///
/// # Errors
/// Why it is not.
pub fn permitted(state: &State, at: UnixMillis) -> Result<(), Leave> {
    if state.active().is_some() {
        return Err(Leave::UnderWay);
    }
    let Some(binding) = &state.binding else { return Err(Leave::NotUnknown) };
    let unknown = state.settled.is_none() && state.outcome() == Outcome::Unknown && state.dispatched();
    if state.standing != Standing::Ended || !unknown || binding.contract.effect == Effect::Read {
        return Err(Leave::NotUnknown);
    }
    if state.attempts.iter().any(|attempt| attempt.dispatch.follows.is_some()) {
        return Err(Leave::Redirected);
    }
    match &binding.contract.repeat {
        Repeat::Idempotent => Ok(()),
        Repeat::Keyed(_) => {
            // The first use counts: a later attempt never renews the remote's memory.
            let key = state.attempts.first().and_then(|first| first.dispatch.key.as_ref());
            if key.is_some_and(|key| at < key.expires) { Ok(()) } else { Err(Leave::KeyExpires) }
        }
        Repeat::None | Repeat::Conditional => Err(Leave::NotRepeatable),
    }
}

/// The budget of what a caller asks for where the admin set none.
const CALLERS: RetryBudget =
    RetryBudget { attempts: 3, total_seconds: 86_400, first_delay_millis: 0, longest_delay_millis: 0 };

/// Whether a caller may have the same bytes sent once more at this time: within the contract, and within a
/// budget, which an operator's word does not need. What the host announced it does by itself, at its time.
///
/// # Errors
/// Why it may not.
pub fn asked_again(state: &State, now: UnixMillis) -> Result<(), Leave> {
    permitted(state, now)?;
    if state.retry_at.is_some() {
        return Err(Leave::UnderWay);
    }
    if was_other(state) {
        return Err(Leave::OtherBytes);
    }
    let budget = state.binding.as_ref().and_then(|binding| binding.retries).unwrap_or(CALLERS);
    let made = state.attempts.len() + state.unsent.len();
    if made >= usize::try_from(budget.attempts).unwrap_or(usize::MAX) {
        return Err(Leave::AttemptsSpent);
    }
    if now > state.accepted.at.plus_seconds(budget.total_seconds.into()) {
        return Err(Leave::TimeSpent);
    }
    Ok(())
}

/// Whether an attempt that was announced may still begin now. `by_host`: it is the host's own, within its
/// budget; a person's word needs none.
///
/// # Errors
/// Why it may not.
pub fn still(state: &State, now: UnixMillis, by_host: bool) -> Result<(), Leave> {
    permitted(state, now)?;
    let budget = state.binding.as_ref().and_then(|binding| binding.retries);
    match budget.filter(|_| by_host) {
        Some(budget) if now > state.accepted.at.plus_seconds(budget.total_seconds.into()) => {
            Err(Leave::TimeSpent)
        }
        Some(_) | None => Ok(()),
    }
}

/// Whether what would be sent over an unknown is what was sent first: the same bytes under the same key (laws
/// 6 and 8). A key is no licence for other bytes: the remote would refuse them, or answer for the first ones.
///
/// # Errors
/// The code with which it is refused before it gets a lease.
pub fn is_same_effect(state: &State, request: &Digest, key: Option<&IdempotencyKey>) -> Result<(), Code> {
    let Some(first) = state.attempts.first().map(|attempt| &attempt.dispatch) else { return Ok(()) };
    let same_key = first.key.as_ref().map(|known| &known.key) == key;
    if first.request == *request && same_key {
        return Ok(());
    }
    Err(match state.binding.as_ref().map(|binding| &binding.contract.repeat) {
        Some(Repeat::Keyed(_)) => Code::IdempotencyMismatch,
        Some(Repeat::None | Repeat::Idempotent | Repeat::Conditional) | None => Code::FingerprintMismatch,
    })
}

/// Whether the newest attempt was refused because its bytes are others, which they will be again.
fn was_other(state: &State) -> bool {
    let newest = state.lease.map(|lease| lease.generation);
    let unsent = state.unsent.last().filter(|end| Some(end.generation) == newest);
    matches!(unsent.and_then(|end| end.code), Some(Code::IdempotencyMismatch | Code::FingerprintMismatch))
}

/// What the host does by itself about an attempt that ended. `roll` spreads the delays of many callers: the
/// whole range of it is from half the delay to all of it.
#[must_use]
pub fn plan(state: &State, now: UnixMillis, roll: u16) -> Plan {
    match next(state, now, roll) {
        Ok(at) => Plan::Repeat { at },
        Err(leave) => Plan::Leave(leave),
    }
}

fn next(state: &State, now: UnixMillis, roll: u16) -> Result<UnixMillis, Leave> {
    permitted(state, now)?;
    if state.retry_at.is_some() {
        return Err(Leave::UnderWay);
    }
    if state.cancel_requested {
        return Err(Leave::Cancelled);
    }
    if was_other(state) {
        return Err(Leave::OtherBytes);
    }
    let budget = state.binding.as_ref().and_then(|binding| binding.retries).ok_or(Leave::NoBudget)?;
    let made = state.attempts.len() + state.unsent.len();
    if made >= usize::try_from(budget.attempts).unwrap_or(usize::MAX) {
        return Err(Leave::AttemptsSpent);
    }
    let asked = state.attempts.last().and_then(|last| last.end.as_ref()?.retry_after_seconds);
    let again = u32::try_from(made.saturating_sub(1)).unwrap_or(u32::MAX);
    let delay = budget.delay_millis(again, roll).max(u64::from(asked.unwrap_or(0)) * 1000);
    let at = UnixMillis(now.0.saturating_add(delay));
    if at > state.accepted.at.plus_seconds(budget.total_seconds.into()) {
        return Err(Leave::TimeSpent);
    }
    permitted(state, at).map(|()| at)
}

impl RetryBudget {
    /// The delay before the next one, after so many.
    pub(crate) fn delay_millis(self, before: u32, roll: u16) -> u64 {
        let longest = u64::from(self.longest_delay_millis);
        let whole = (u64::from(self.first_delay_millis) << before.min(32)).min(longest);
        whole / 2 + whole.div_ceil(2) * u64::from(roll) / u64::from(u16::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_longest_and_are_spread_over_half_of_it() {
        let budget = RetryBudget {
            attempts: 9,
            total_seconds: 60,
            first_delay_millis: 1000,
            longest_delay_millis: 5000,
        };
        let check = |before: u32, least: u64, most: u64| {
            assert_eq!(budget.delay_millis(before, 0), least, "{before}");
            assert_eq!(budget.delay_millis(before, u16::MAX), most, "{before}");
            let half = budget.delay_millis(before, u16::MAX / 2);
            assert!(least < half && half < most, "{before}: {half}");
        };
        check(0, 500, 1000);
        check(1, 1000, 2000);
        check(2, 2000, 4000);
        check(3, 2500, 5000);
        check(4, 2500, 5000);
        check(u32::MAX, 2500, 5000);
    }
}
