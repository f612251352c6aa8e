//! The protected record, and what nobody knows the fate of.

use super::calls::{no_such_invocation, standing, vault_locked};
use crate::operator_side::answered::Answered;
use crate::operator_side::ask::{Ask, Desk};
use crate::operator_side::failure::Failure;
use proofport_broker::AttestError;
use proofport_core::attestation::{AttestedOutcome, AttestedReason};
use proofport_core::batch::Which;
use proofport_core::diagnostic::{Diagnostic, Protected};
use proofport_core::id::RequestId;
use proofport_core::state::{IllegalEvent, State};
use proofport_core::time::UnixMillis;
use proofport_core::unknown::UnknownEffect;
use proofport_journal::Recorded;
use serde::{Deserialize, Serialize};

/// The protected record of a call.
#[derive(Serialize, Deserialize)]
pub struct Inspect {
    /// Which.
    pub id: RequestId,
}

/// What a protected record is made of. Its reader folds the events himself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inspected {
    /// The events in order; none where there is no such call.
    pub events: Vec<Recorded>,
    /// What was stored encrypted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protected: Option<Protected>,
    /// The calls that sent children of this batch once more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub continued_by: Vec<RequestId>,
    /// When it was read, by the host's clock.
    pub now: UnixMillis,
}

impl Inspected {
    /// The protected record; none where there is no such call.
    ///
    /// # Errors
    /// When the events can't have happened.
    pub fn diagnostic(self) -> Result<Option<Diagnostic>, IllegalEvent> {
        let Self { events, protected, continued_by, now } = self;
        let state = State::replay(events.iter().map(|recorded| &recorded.event))?;
        Ok(state.map(|state| Diagnostic::of(state, protected, now).continued_by(continued_by)))
    }
}

/// The events of a call in order.
#[derive(Serialize, Deserialize)]
pub struct Timeline {
    /// Which.
    pub id: RequestId,
}

/// The events of a call in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timed {
    /// The events; none where there is no such call.
    pub events: Vec<Recorded>,
    /// The calls that sent children of this batch once more.
    pub continued_by: Vec<RequestId>,
}

/// The calls whose outcome is unknown.
#[derive(Serialize, Deserialize)]
pub struct Unknowns {}

/// Settles an unknown call, or one child of it, by an operator's word.
#[derive(Serialize, Deserialize)]
pub struct Attest {
    /// Which.
    pub id: RequestId,
    /// Which child of it; none: the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<Which>,
    /// What became of it.
    pub outcome: AttestedOutcome,
    /// How that is known.
    pub reason: AttestedReason,
}

impl Ask for Inspect {
    const PATH: &'static str = "/v1/inspect";
    type Answer = Inspected;

    async fn carry_out(self, desk: &Desk) -> Result<Inspected, Failure> {
        let broker = desk.host().broker();
        let record = broker.diagnostic(&self.id)?;
        let (protected, continued_by) = record
            .map(|record| (record.protected().cloned(), record.continuations().to_vec()))
            .unwrap_or_default();
        Ok(Inspected { events: broker.timeline(&self.id)?, protected, continued_by, now: broker.now() })
    }
}

impl Ask for Timeline {
    const PATH: &'static str = "/v1/timeline";
    type Answer = Timed;

    async fn carry_out(self, desk: &Desk) -> Result<Timed, Failure> {
        let broker = desk.host().broker();
        Ok(Timed { events: broker.timeline(&self.id)?, continued_by: broker.continued_by(&self.id)? })
    }
}

impl Ask for Unknowns {
    const PATH: &'static str = "/v1/unknowns";
    type Answer = Vec<UnknownEffect>;

    async fn carry_out(self, desk: &Desk) -> Result<Vec<UnknownEffect>, Failure> {
        Ok(desk.host().unknowns()?)
    }
}

impl Ask for Attest {
    const PATH: &'static str = "/v1/attest";
    type Answer = Answered;

    async fn carry_out(self, desk: &Desk) -> Result<Answered, Failure> {
        let Self { id, child, outcome, reason } = self;
        let attested = match &child {
            Some(child) => desk.host().attest_child(&id, child, outcome, reason).await,
            None => desk.host().attest(&id, outcome, reason).await,
        };
        match attested {
            Ok(delivery) => Answered::of(desk, &delivery),
            Err(AttestError::NoSuchInvocation) => no_such_invocation(),
            Err(AttestError::VaultLocked) => vault_locked(),
            Err(
                error @ (AttestError::NotUnknown(_)
                | AttestError::NoBatch
                | AttestError::NoSingleChild(_)
                | AttestError::Atomic
                | AttestError::ChildCommitted
                | AttestError::NothingDispatched
                | AttestError::UnderWay),
            ) => {
                // Nothing changed: the answer is the record as it stands.
                Ok(standing(desk, &id)?.remark(error.to_string()))
            }
            Err(
                error @ (AttestError::Read(_)
                | AttestError::Journal(_)
                | AttestError::Illegal(_)
                | AttestError::Stopping
                | AttestError::Internal),
            ) => Err(Failure::internal(&error)),
        }
    }
}
