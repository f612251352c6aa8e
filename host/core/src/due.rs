//! What is to be carried out next, from where an invocation stands.

use crate::state::{Standing, State};

/// Work for the host. What it leads to comes back as an [`Input`](crate::decide::Input).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Check everything that can be checked without a secret, and ask the connector for its first
    /// step.
    Validate,
    /// Ask the vault.
    Authorize,
    /// Ask the connector for the next step and carry it out up to the effect's dispatch boundary:
    /// queries, connections.
    Prepare,
    /// Hand the effect to its transport.
    Dispatch,
    /// Read the answer and settle.
    Judge,
    /// Wait for a person.
    Wait,
    /// Answer the caller.
    Deliver,
}

impl Effect {
    /// Whether everything that is known must be on disk before this is carried out. The host honours
    /// it in one place.
    #[must_use]
    pub const fn must_be_durable(self) -> bool {
        match self {
            // Law 1: the effect may be seen from the first handoff on.
            Self::Dispatch => true,
            // Law 5, and no id is shown before its acceptance is durable.
            Self::Deliver | Self::Wait => true,
            Self::Validate | Self::Authorize | Self::Prepare | Self::Judge => false,
        }
    }
}

/// The next thing to carry out.
#[must_use]
pub const fn due(state: &State) -> Effect {
    match state.standing {
        Standing::Accepted => Effect::Validate,
        Standing::Validated => Effect::Authorize,
        Standing::Authorized | Standing::Leased => Effect::Prepare,
        Standing::AwaitingApproval => Effect::Wait,
        Standing::Dispatched => Effect::Dispatch,
        Standing::Answered => Effect::Judge,
        Standing::Ended if state.retry_at.is_some() => Effect::Prepare,
        Standing::Ended | Standing::Settled | Standing::Stored | Standing::Delivered | Standing::Stopped => {
            Effect::Deliver
        }
    }
}
