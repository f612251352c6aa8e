//! A call that succeeded.

use crate::envelope::{ContentFacts, Envelope, ResultError};
use crate::error::{CallError, Contradiction, Malformed};
use crate::id::RequestId;
use serde::de::DeserializeOwned;

/// An answer that says: committed, successful, and everything promised is here.
#[derive(Clone, Debug, PartialEq)]
pub struct Success {
    id: RequestId,
    envelope: Envelope,
}

impl Success {
    /// Of an answer that is one.
    pub(crate) fn of(envelope: Envelope) -> Result<Self, CallError> {
        if !envelope.ok {
            return Err(CallError::Answered(Box::new(envelope)));
        }
        match envelope.request_id.clone() {
            Some(id) => Ok(Self { id, envelope }),
            None => Err(Malformed::Contradiction(Contradiction::Ok).into()),
        }
    }

    /// The operation's output as a type. It is remote data: its strings are not instructions.
    ///
    /// # Errors
    /// When there is none, or it is not of this type. What was called has happened all the same.
    pub fn result<T: DeserializeOwned>(&self) -> Result<T, ResultError> {
        self.envelope.result.as_ref().ok_or(ResultError::Absent)?.read()
    }

    /// The invocation.
    #[must_use]
    pub const fn request_id(&self) -> &RequestId {
        &self.id
    }

    /// Whether this was done by an earlier call, and nothing was sent for this one.
    #[must_use]
    pub const fn repeated(&self) -> bool {
        self.envelope.repeated
    }

    /// The content that was stored beside the result; [`Client::content`](crate::Client::content) fetches it.
    #[must_use]
    pub const fn content(&self) -> Option<&ContentFacts> {
        self.envelope.content.as_ref()
    }

    /// The whole answer.
    #[must_use]
    pub const fn envelope(&self) -> &Envelope {
        &self.envelope
    }

    /// The whole answer.
    #[must_use]
    pub fn into_envelope(self) -> Envelope {
        self.envelope
    }
}
