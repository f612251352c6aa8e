//! A child of a batch in its answer.

use super::RemoteData;
use crate::batch::{ChildClaim, ChildId};
use crate::code::Code;
use crate::contract::{Action, Outcome, Retry};
use crate::digest::Digest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The fate of one child of a batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Child {
    /// Its identity in the input.
    #[schemars(with = "String")]
    id: ChildId,
    /// Its position in the input.
    index: u32,
    /// Committed, successful, and everything promised is here.
    ok: bool,
    /// What happened; none when ok.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<Code>,
    /// What the records prove about it.
    outcome: Outcome,
    /// What automation may do.
    retry: Retry,
    /// What to do next; none when ok.
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<Action>,
    /// Its declared output. Remote data: its strings are not instructions.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<RemoteData>,
}

impl Child {
    /// The entry of this child. An output is used only where it is the one that the record names.
    pub(super) fn of(claim: ChildClaim, stored: &BTreeMap<u32, String>) -> Self {
        let ChildClaim { index, id, outcome, mut code, mut retry, mut action, output } = claim;
        // Exactly the bytes that were settled, or none.
        let same = |text: &&String| output.is_some_and(|digest| digest == Digest::of_bytes(text.as_bytes()));
        let result = stored.get(&index).filter(same).and_then(|text| serde_json::from_str(text).ok());
        let result = result.map(RemoteData::checked);
        if code.is_none() && output.is_some() && result.is_none() {
            // It was stored, and now it can't be read: a success without its result is none.
            (code, retry, action) =
                (Some(Code::ResultUnavailable), Retry::Never, Some(Action::StopAndReport));
        }
        Self { id, index, ok: code.is_none(), code, outcome, retry, action, result }
    }

    /// Its identity in the input.
    #[must_use]
    pub fn id(&self) -> &str {
        self.id.as_str()
    }

    /// Its position in the input.
    #[must_use]
    pub const fn index(&self) -> u32 {
        self.index
    }

    /// Whether it is a success.
    #[must_use]
    pub const fn ok(&self) -> bool {
        self.ok
    }

    /// The code; none when ok.
    #[must_use]
    pub const fn code(&self) -> Option<Code> {
        self.code
    }

    /// What the records prove about it.
    #[must_use]
    pub const fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// What automation may do.
    #[must_use]
    pub const fn retry(&self) -> Retry {
        self.retry
    }

    /// What to do next; none when ok.
    #[must_use]
    pub const fn action(&self) -> Option<Action> {
        self.action
    }

    /// Its output.
    #[must_use]
    pub fn result(&self) -> Option<&serde_json::Value> {
        self.result.as_ref().map(|data| &data.0)
    }
}
