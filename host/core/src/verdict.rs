//! A connector's reading of complete responses, before the host holds it under its ceiling.

use crate::contract::{Outcome, Reason};
use crate::exchange::Send;

/// A connector's reading. `outcome` is never [`Outcome::NotAttempted`]: the world has no word for
/// it.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// What became of the effect.
    pub outcome: Outcome,
    /// Whether that is what was asked for.
    pub success: bool,
    /// Why.
    pub reason: Reason,
    /// Output, to be checked against the output or failure schema.
    pub output: Option<serde_json::Value>,
    /// How long the remote asks to wait.
    pub retry_after_seconds: Option<u32>,
    /// Children of a batch.
    pub children: Vec<ChildVerdict>,
    /// The job that the remote took on; its id.
    pub job: Option<String>,
}

/// A connector's reading of one child of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct ChildVerdict {
    /// Position in the input.
    pub index: u32,
    /// Identity in the input.
    pub id: String,
    /// What became of it.
    pub outcome: Outcome,
    /// Whether that is what was asked for.
    pub success: bool,
    /// Why.
    pub reason: Reason,
    /// Its output.
    pub output: Option<serde_json::Value>,
}

/// What a connector wants next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Send this.
    Send(Send),
    /// This is what the answers mean.
    Settle(Verdict),
    /// The input can't be carried out; JSON Pointers to the fields that are wrong.
    Refuse(Vec<String>),
}
