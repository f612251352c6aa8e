//! What somebody between a caller and a host may say when the host itself can't: a program that carries a
//! caller's messages has no record, so it claims what its own wire proves and nothing else.

use super::{Envelope, Evidence, Message};
use crate::code::Code;
use crate::contract::{Action, Outcome, Phase, Retry, RetryOwner};
use crate::id::{OperationName, RequestId};

const UNREACHED: &str = "No Proofport host is running here, so nothing was taken on and nothing was sent. Ask a person to start it.";

impl Envelope {
    /// The host was given the call, and the way to it broke before the whole answer was back. It may have
    /// happened. `request_id`: where the host had named the call before.
    #[must_use]
    pub fn out_of_touch(operation: Option<OperationName>, request_id: Option<RequestId>) -> Self {
        Self {
            request_id,
            phase: Some(Phase::RemoteExecution),
            outcome: Some(Outcome::Unknown),
            action: Some(Action::InspectOutcome),
            retry: Retry::Reconcile,
            retry_owner: RetryOwner::Operator,
            // The effect may have left the host; nobody here can say that it has not.
            evidence: Evidence { dispatch_started: true, ..Evidence::default() },
            ..Self::refusal(Code::OutcomeUnknown, operation)
        }
    }

    /// No host could be reached, so that none was given the call.
    #[must_use]
    pub fn unreached(operation: Option<OperationName>) -> Self {
        Self {
            message: Message(UNREACHED),
            // Without an operation it was about an earlier call, of which this proves nothing.
            outcome: operation.is_some().then_some(Outcome::NotAttempted),
            retry_owner: RetryOwner::Operator,
            ..Self::refusal(Code::Internal, operation)
        }
    }
}
