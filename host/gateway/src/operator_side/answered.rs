//! The answer to what concerns one invocation: the envelope as a caller would get it, and what is to be told
//! to the operator beside it.

use super::ask::Desk;
use proofport_broker::Delivery;
use proofport_core::code::Code;
use proofport_core::envelope::Envelope;
use proofport_core::id::OperationName;
use serde::{Deserialize, Serialize};

/// The answer to what concerns one invocation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    /// The answer.
    pub envelope: Envelope,
    /// What to tell the operator beside it, each on a line. May hold a remote's words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// Whether it is an operator's own call, so that handing over the answer is its delivery.
    pub own: bool,
}

impl Answered {
    /// Nothing was taken on or done.
    pub(crate) fn refusal(code: Code, operation: Option<OperationName>) -> Self {
        Self { envelope: Envelope::refusal(code, operation), remarks: Vec::new(), own: false }
    }

    /// What came of it.
    pub(crate) fn of(desk: &Desk, delivery: &Delivery) -> Self {
        let envelope = delivery.envelope.clone();
        // What can't be read is nobody's, and is not marked as delivered.
        let reader = envelope.request_id().and_then(|id| desk.reader(&id).ok().flatten());
        let own = reader.is_some_and(|reader| reader == desk.operator());
        Self { envelope, remarks: Vec::new(), own }
    }

    /// With something to tell.
    pub(crate) fn remark(mut self, text: impl Into<String>) -> Self {
        self.remarks.push(text.into());
        self
    }
}
