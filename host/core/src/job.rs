//! Work that the remote took on and goes on with: the call that submitted it is over, and is never made again
//! for it; looks at the job are calls of their own, linked to that one.

use crate::contract::{Effect, Outcome};
use crate::decide::Input;
use crate::id::{Name, RequestId};
use crate::state::{Standing, State};
use crate::time::UnixMillis;
use serde::{Deserialize, Serialize};

/// How a submitted job is followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Following {
    /// How often the host has looked at it by itself.
    pub looks: u32,
    /// The newest look, whoever asked for it.
    pub by: Option<RequestId>,
    /// When the host looks next by itself; none: it does not.
    pub at: Option<UnixMillis>,
}

/// What a look at a job found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// The job has come to its end, whatever that is.
    Over,
    /// The remote says that it goes on.
    Pending,
    /// Nothing was learnt.
    Failed,
}

impl Look {
    /// What the call that looked says of the job: pending while it names the job still.
    #[must_use]
    pub fn of(look: &State) -> Self {
        let settled = look.settled.as_ref().map(|settled| settled.outcome);
        match (settled, &look.job) {
            (Some(Outcome::Committed), Some(_)) => Self::Pending,
            (Some(Outcome::Committed), None) => Self::Over,
            (Some(Outcome::Rejected | Outcome::Unknown | Outcome::NotAttempted) | None, _) => Self::Failed,
        }
    }
}

/// The job that this invocation submitted, and the operation that follows it; none: there is none, or nothing
/// follows it.
#[must_use]
pub fn submitted(state: &State) -> Option<(&str, &Name)> {
    let contract = &state.binding.as_ref()?.contract;
    let write = contract.effect == Effect::Write && state.outcome() == Outcome::Committed;
    let over = matches!(state.standing, Standing::Stored | Standing::Delivered);
    state.job.as_deref().zip(contract.job_operation.as_ref()).filter(|_| write && over)
}

/// When the host first looks at a job that was just submitted, to be put on record with it; none: it looks only
/// when it is asked to.
#[must_use]
pub fn after_submitting(state: &State, now: UnixMillis, roll: u16) -> Option<Input> {
    let at = when_to_look(state, now, roll)?;
    let fresh = state.following == Following::default();
    fresh.then_some(Input::Followed(Following { looks: 0, by: None, at: Some(at) }))
}

/// What is put on record after a look that somebody asked for. It takes nothing from the host's own.
#[must_use]
pub fn after_an_asked_look(state: &State, by: RequestId, found: Look) -> Input {
    let Following { looks, by: _, at } = state.following;
    let at = at.filter(|_| found != Look::Over);
    Input::Followed(Following { looks, by: Some(by), at })
}

/// What is put on record after a look that the host took by itself.
#[must_use]
pub fn after_a_look(state: &State, by: Option<RequestId>, found: Look, now: UnixMillis, roll: u16) -> Input {
    let mut looked = state.clone();
    looked.following.looks = looked.following.looks.saturating_add(1);
    let at = match found {
        Look::Over => None,
        Look::Pending | Look::Failed => when_to_look(&looked, now, roll),
    };
    let Following { looks, .. } = looked.following;
    Input::Followed(Following { looks, by: by.or(state.following.by), at })
}

fn when_to_look(state: &State, now: UnixMillis, roll: u16) -> Option<UnixMillis> {
    let (_, _) = submitted(state)?;
    let budget = state.binding.as_ref()?.following?;
    if state.following.looks >= budget.attempts {
        return None;
    }
    let at = UnixMillis(now.0.saturating_add(budget.delay_millis(state.following.looks, roll)));
    (at <= state.accepted.at.plus_seconds(budget.total_seconds.into())).then_some(at)
}
