//! The protected record: everything that explains an invocation, for operators only. It is another
//! type than the envelope, and nothing turns one into the other.

use crate::boundary::Boundary;
use crate::id::RequestId;
use crate::project::{Projection, project};
use crate::state::State;
use crate::time::UnixMillis;
use serde::{Deserialize, Serialize};

/// The schema's name and version.
pub const SCHEMA: &str = "proofport.diagnostic/1";

/// What was sent and seen, beyond the events, without credential. Stored encrypted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Protected {
    /// The module's name and version.
    pub connector: String,
    /// Where it went.
    pub destination: Option<String>,
    /// The method.
    pub method: Option<String>,
    /// The path without its query.
    pub path: Option<String>,
    /// The program that ran over SSH, without its arguments; not there for a raw text.
    #[serde(default)]
    pub command: Option<String>,
    /// What the connector said that it does.
    pub summary: Option<String>,
    /// The remote's own id of the request.
    pub remote_request_id: Option<String>,
    /// What broke, outermost first, scrubbed by the leak guard.
    pub cause_chain: Vec<String>,
    /// What the connector printed, bounded.
    pub connector_log: String,
    /// Fuel that the connector used.
    pub connector_fuel: u64,
    /// Microseconds inside the connector.
    pub connector_micros: u64,
    /// How often the connector was called.
    pub connector_steps: u32,
}

/// The protected record.
#[derive(Clone, Debug, Serialize)]
pub struct Diagnostic {
    schema: &'static str,
    claim: Claim,
    /// The lines that it crossed, in their order on the way.
    boundaries: Vec<Boundary>,
    state: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    protected: Option<Protected>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    continued_by: Vec<RequestId>,
}

#[derive(Clone, Debug, Serialize)]
struct Claim {
    phase: crate::contract::Phase,
    outcome: crate::contract::Outcome,
    code: Option<crate::code::Code>,
    retry: crate::contract::Retry,
    retry_owner: crate::contract::RetryOwner,
    source: Option<crate::contract::Source>,
}

impl From<Projection> for Claim {
    fn from(p: Projection) -> Self {
        Self {
            phase: p.phase,
            outcome: p.outcome,
            code: p.code,
            retry: p.retry,
            retry_owner: p.retry_owner,
            source: p.source,
        }
    }
}

impl Diagnostic {
    /// The record of this invocation.
    #[must_use]
    pub fn of(state: State, protected: Option<Protected>, now: UnixMillis) -> Self {
        let claim = project(&state, now).into();
        let boundaries = state.boundaries();
        Self { schema: SCHEMA, claim, boundaries, state, protected, continued_by: Vec::new() }
    }

    /// With the invocations that sent children of this batch once more, in order.
    #[must_use]
    pub fn continued_by(self, continued_by: Vec<RequestId>) -> Self {
        Self { continued_by, ..self }
    }

    /// The invocations that sent children of this batch once more, in order.
    #[must_use]
    pub fn continuations(&self) -> &[RequestId] {
        &self.continued_by
    }

    /// The folded events.
    #[must_use]
    pub const fn state(&self) -> &State {
        &self.state
    }

    /// What was stored encrypted.
    #[must_use]
    pub const fn protected(&self) -> Option<&Protected> {
        self.protected.as_ref()
    }
}
