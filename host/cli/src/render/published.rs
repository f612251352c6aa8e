//! An envelope in its published form, to the byte as the host made it, and what is read from that to show it.
//! Nothing turns it back into an envelope.

use proofport_core::batch::ChildId;
use proofport_core::code::Code;
use proofport_core::content::ContentFacts;
use proofport_core::contract::{Action, Outcome, Retry, RetryOwner};
use proofport_core::envelope::Envelope;
use proofport_core::id::{OperationName, RequestId};
use proofport_gateway::operator_side::Answered;
use serde::Deserialize;
use serde_json::Value;

/// A published envelope.
pub(crate) struct Published {
    json: String,
    exit_status: u8,
    told: Told,
}

#[derive(Deserialize)]
struct Told {
    ok: bool,
    request_id: Option<RequestId>,
    code: Option<Code>,
    message: String,
    action: Option<Action>,
    outcome: Option<Outcome>,
    retry: Retry,
    retry_owner: RetryOwner,
    repeated: bool,
    http_status: Option<u16>,
    result: Option<Value>,
    content: Option<ContentFacts>,
    #[serde(default)]
    children: Vec<Child>,
}

/// A child of a batch.
#[derive(Deserialize)]
pub(crate) struct Child {
    id: ChildId,
    index: u32,
    ok: bool,
    code: Option<Code>,
    outcome: Outcome,
    retry: Retry,
    action: Option<Action>,
    result: Option<Value>,
}

impl Published {
    /// The envelope of this answer.
    ///
    /// # Errors
    /// When it is none that this program knows.
    pub(crate) fn of(answered: &Answered) -> serde_json::Result<Self> {
        let Answered { envelope: json, exit_status, remarks: _, own: _ } = answered;
        Ok(Self { told: serde_json::from_str(json)?, json: json.clone(), exit_status: *exit_status })
    }

    /// The answer where nothing was taken on.
    ///
    /// # Errors
    /// As [`Published::of`].
    pub(crate) fn refusal(code: Code, operation: Option<OperationName>) -> serde_json::Result<Self> {
        let refusal = Envelope::refusal(code, operation);
        let json = serde_json::to_string(&refusal)?;
        Ok(Self { told: serde_json::from_str(&json)?, json, exit_status: refusal.exit_status_of_program() })
    }

    /// The published form itself.
    pub(crate) fn json(&self) -> &str {
        &self.json
    }

    /// The exit status of a command that prints it.
    pub(crate) const fn exit_status(&self) -> u8 {
        self.exit_status
    }

    pub(crate) const fn ok(&self) -> bool {
        self.told.ok
    }

    pub(crate) const fn request_id(&self) -> Option<RequestId> {
        self.told.request_id
    }

    pub(crate) const fn code(&self) -> Option<Code> {
        self.told.code
    }

    pub(crate) fn message(&self) -> &str {
        &self.told.message
    }

    pub(crate) const fn action(&self) -> Option<Action> {
        self.told.action
    }

    pub(crate) const fn outcome(&self) -> Option<Outcome> {
        self.told.outcome
    }

    pub(crate) const fn retry(&self) -> Retry {
        self.told.retry
    }

    pub(crate) const fn retry_owner(&self) -> RetryOwner {
        self.told.retry_owner
    }

    pub(crate) const fn repeated(&self) -> bool {
        self.told.repeated
    }

    pub(crate) const fn http_status(&self) -> Option<u16> {
        self.told.http_status
    }

    pub(crate) const fn result(&self) -> Option<&Value> {
        self.told.result.as_ref()
    }

    pub(crate) const fn content(&self) -> Option<&ContentFacts> {
        self.told.content.as_ref()
    }

    pub(crate) fn children(&self) -> &[Child] {
        &self.told.children
    }
}

impl Child {
    pub(crate) fn id(&self) -> &str {
        self.id.as_str()
    }

    pub(crate) const fn index(&self) -> u32 {
        self.index
    }

    pub(crate) const fn ok(&self) -> bool {
        self.ok
    }

    pub(crate) const fn code(&self) -> Option<Code> {
        self.code
    }

    pub(crate) const fn outcome(&self) -> Outcome {
        self.outcome
    }

    pub(crate) const fn retry(&self) -> Retry {
        self.retry
    }

    pub(crate) const fn action(&self) -> Option<Action> {
        self.action
    }

    pub(crate) const fn result(&self) -> Option<&Value> {
        self.result.as_ref()
    }
}
