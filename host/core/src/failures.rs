//! How often one session may fail at one operation before it is stopped, so that an agent in a loop is
//! (design section 3): functions of the record, of the budget, and of the time. The tally is the
//! journal's, so that a restart resets none of it (law 13).

use crate::code::Code;
use crate::contract::Phase;
use crate::event::Stop;
use crate::id::RequestId;
use crate::project::project;
use crate::state::State;
use crate::time::UnixMillis;
use serde::{Deserialize, Serialize};

/// How many failures a session has at each operation, and within what time. The admin's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailureBudget {
    /// So many, and no call more is carried out.
    pub most: u32,
    /// Counted from the first of them, in seconds; after that the budget is whole again.
    pub within_seconds: u32,
}

impl Default for FailureBudget {
    /// 50 within an hour.
    fn default() -> Self {
        Self { most: 50, within_seconds: 3600 }
    }
}

/// The failures of one session at one operation since its last success, as far as they fall into one
/// window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    /// When the window began: with the first of them.
    pub since: UnixMillis,
    /// How many there are. A dispatch counts from before its first byte on, and until it succeeded.
    pub count: u32,
    /// The newest of them.
    pub last: RequestId,
}

/// What an invocation does to the tally, in the same transaction as the events that make it so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// One more.
    Failed {
        /// How long the window is, in seconds.
        within_seconds: u32,
    },
    /// It succeeded: nothing before it is held against the session.
    Succeeded,
}

impl Mark {
    /// The tally after this mark by an invocation at this time; none: nothing is held against anybody.
    #[must_use]
    pub fn applied(self, before: Option<Tally>, at: UnixMillis, id: RequestId) -> Option<Tally> {
        match self {
            Self::Succeeded => None,
            Self::Failed { within_seconds } => {
                let running = before.filter(|tally| at < tally.ends(within_seconds));
                let (since, count) = running.map_or((at, 0), |tally| (tally.since, tally.count));
                Some(Tally { since, count: count.saturating_add(1), last: id })
            }
        }
    }
}

impl Tally {
    fn ends(&self, within_seconds: u32) -> UnixMillis {
        self.since.plus_seconds(within_seconds.into())
    }
}

/// What the newest events of an invocation do to the tally; none: nothing. `counted`: it is in the tally
/// already, since however often one invocation is repeated, it failed once.
#[must_use]
pub fn mark(state: &State, counted: bool, budget: FailureBudget, now: UnixMillis) -> Option<Mark> {
    if project(state, now).ok {
        return Some(Mark::Succeeded);
    }
    let failed = match &state.stopped {
        Some(stop) => {
            // What reached out and came to nothing counts, whatever ended it.
            let touched = !state.setup.is_empty() || !state.queries.is_empty();
            touched || is_failure(stop)
        }
        None => state.dispatched() || state.settled.is_some(),
    };
    (failed && !counted).then_some(Mark::Failed { within_seconds: budget.within_seconds })
}

/// Whether a stop before anything reached out is the operation's failure. A bad input costs nobody anything,
/// losing interest is no failure, and a locked vault or a failing host is not the caller's.
fn is_failure(stop: &Stop) -> bool {
    let excused = matches!(stop.code, Code::CallerCancelled | Code::VaultLocked | Code::Internal);
    stop.code == Code::ConnectorFault || (stop.phase != Phase::Validation && !excused)
}

/// When the session may try again, if it may not now. `under_way`: how many of the tally are calls that
/// this host is carrying out, which have not failed yet.
#[must_use]
pub fn spent(tally: Tally, under_way: u32, budget: FailureBudget, now: UnixMillis) -> Option<UnixMillis> {
    let ends = tally.ends(budget.within_seconds);
    (tally.count.saturating_sub(under_way) >= budget.most && now < ends).then_some(ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: FailureBudget = FailureBudget { most: 3, within_seconds: 10 };
    const FAILED: Mark = Mark::Failed { within_seconds: 10 };

    fn id(n: u8) -> RequestId {
        RequestId::from_random([n; 16])
    }

    /// The tally after these marks, each at its second, by invocations 1, 2, 3 and so on.
    fn after(marks: &[(Mark, u64)]) -> Option<Tally> {
        (1..).zip(marks).fold(None, |tally, (n, (mark, second))| {
            mark.applied(tally, UnixMillis(0).plus_seconds(*second), id(n))
        })
    }

    #[test]
    fn failures_add_up_within_a_window_and_a_success_clears_them() {
        let check = |marks: &[(Mark, u64)], expected: Option<(u64, u32, u8)>| {
            let expected = expected.map(|(since, count, last)| Tally {
                since: UnixMillis(0).plus_seconds(since),
                count,
                last: id(last),
            });
            assert_eq!(after(marks), expected, "{marks:?}");
        };
        check(&[], None);
        check(&[(Mark::Succeeded, 0)], None);
        check(&[(FAILED, 5)], Some((5, 1, 1)));
        check(&[(FAILED, 5), (FAILED, 6), (FAILED, 14)], Some((5, 3, 3)));
        // The window is counted from the first of them, and begins anew with the next after its end.
        check(&[(FAILED, 5), (FAILED, 14), (FAILED, 15)], Some((15, 1, 3)));
        check(&[(FAILED, 5), (FAILED, 6), (Mark::Succeeded, 7)], None);
        check(&[(FAILED, 5), (Mark::Succeeded, 7), (FAILED, 8)], Some((8, 1, 3)));
    }

    #[test]
    fn a_budget_is_spent_by_that_many_until_the_window_ends() {
        let check = |count: u32, under_way: u32, second: u64, expected: Option<u64>| {
            let tally = Tally { since: UnixMillis(5000), count, last: id(1) };
            let got = spent(tally, under_way, BUDGET, UnixMillis(0).plus_seconds(second));
            let expected = expected.map(|second| UnixMillis(0).plus_seconds(second));
            assert_eq!(got, expected, "{count} with {under_way} under way at {second}");
        };
        check(2, 0, 6, None);
        check(3, 0, 6, Some(15));
        check(u32::MAX, 0, 14, Some(15));
        check(3, 0, 15, None);
        // What is under way may still succeed.
        check(3, 1, 6, None);
        check(4, 1, 6, Some(15));
        check(1, 2, 6, None);
    }
}
