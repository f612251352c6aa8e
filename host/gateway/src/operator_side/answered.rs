//! The answer to what concerns one invocation: the envelope as a caller would get it, and what is to be told
//! to the operator beside it.

use super::ask::Desk;
use super::failure::Failure;
use proofport_broker::Delivery;
use proofport_core::code::Code;
use proofport_core::envelope::Envelope;
use proofport_core::id::OperationName;
use serde::{Deserialize, Serialize};

/// The answer to what concerns one invocation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// The envelope in its published form, as JSON text. It stays text: an envelope is made from a record and
    /// from nothing else.
    pub envelope: String,
    /// The exit status of a command that prints it.
    pub exit_status: u8,
    /// What to tell the operator beside it, each on a line. May hold a remote's words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// Whether it is an operator's own call, so that handing over the answer is its delivery.
    pub own: bool,
}

impl Answered {
    /// Nothing was taken on or done.
    pub(crate) fn refusal(code: Code, operation: Option<OperationName>) -> Result<Self, Failure> {
        Self::published(&Envelope::refusal(code, operation), false)
    }

    /// What came of it.
    pub(crate) fn of(desk: &Desk, delivery: &Delivery) -> Result<Self, Failure> {
        let envelope = &delivery.envelope;
        // What can't be read is nobody's, and is not marked as delivered.
        let reader = envelope.request_id().and_then(|id| desk.reader(&id).ok().flatten());
        Self::published(envelope, reader.is_some_and(|reader| reader == desk.operator()))
    }

    fn published(envelope: &Envelope, own: bool) -> Result<Self, Failure> {
        let exit_status = envelope.exit_status_of_program();
        let envelope = serde_json::to_string(envelope).map_err(|error| Failure::internal(&error))?;
        Ok(Self { envelope, exit_status, remarks: Vec::new(), own })
    }

    /// With something to tell.
    pub(crate) fn remark(mut self, text: impl Into<String>) -> Self {
        self.remarks.push(text.into());
        self
    }
}
