//! The one way to a second dispatch of what may have happened.

use crate::code::Code;
use crate::contract::{Outcome, RetryOwner};
use crate::envelope::Envelope;
use crate::id::RequestId;

/// Somebody's word that it may happen twice. See [`i_accept_that_this_may_happen_twice`].
#[derive(Debug)]
pub struct MayHappenTwice(());

/// Says that what is unknown may be done once more, although it may have been done: a second payment, a second
/// e-mail. It is for a person's decision about one invocation, and must not stand in a loop, behind a retry
/// policy or where a model chooses it.
///
/// Before this: [`Client::wait`](crate::Client::wait), [`Client::reconcile`](crate::Client::reconcile) and, where
/// the contract has an idempotency key, [`Client::retry`](crate::Client::retry) settle an unknown without a second
/// effect. So does an operator's word (`proofport attest`).
#[must_use]
pub const fn i_accept_that_this_may_happen_twice() -> MayHappenTwice {
    MayHappenTwice(())
}

/// An answer is not that of an unknown that can be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRepeatable {
    /// Its outcome is not unknown: what is to be done about it is in the answer.
    #[error("its outcome is not unknown")]
    NotUnknown,
    /// It is still being carried out, or the host repeats it or asks about it by itself: wait for it.
    #[error("the host is still at it")]
    UnderWay,
    /// It is the answer to another operation than that of the call.
    #[error("the answer is about another operation")]
    OtherOperation,
}

/// The id of an unknown that nobody is at.
pub(crate) fn left_unknown(envelope: &Envelope) -> Result<&RequestId, NotRepeatable> {
    let id = match (envelope.outcome, &envelope.request_id) {
        (Some(Outcome::Unknown), Some(id)) => id,
        (
            Some(Outcome::NotAttempted | Outcome::Rejected | Outcome::Committed | Outcome::Unknown) | None,
            _,
        ) => {
            return Err(NotRepeatable::NotUnknown);
        }
    };
    let host = envelope.retry_owner == RetryOwner::Host;
    if host || envelope.code == Some(Code::InProgress) { Err(NotRepeatable::UnderWay) } else { Ok(id) }
}
