//! A person settles what nothing else has. The attempts stay what they were; what the person says stands
//! beside them, with the source `operator_attested` and a reason.

use crate::broker::{Broker, Delivery, Inner, ReadError};
use proofport_core::attestation::{AttestedOutcome, AttestedReason};
use proofport_core::contract::Outcome;
use proofport_core::decide::{Input, decide};
use proofport_core::id::RequestId;
use proofport_core::state::IllegalEvent;
use proofport_journal::{Batch, JournalError};
use std::sync::Arc;

/// Nothing was attested, and nothing changed. For operators.
#[derive(Debug, thiserror::Error)]
pub enum AttestError {
    /// There is no such invocation.
    #[error("there is no such invocation")]
    NoSuchInvocation,
    /// The vault is locked.
    #[error("the vault is locked; unlock it first")]
    VaultLocked,
    /// Its own answer or a query may still settle it.
    #[error("it is being carried out or reconciled right now; look again in a moment")]
    UnderWay,
    /// Its outcome is known.
    #[error("there is nothing to attest: the outcome is {0}")]
    NotUnknown(Outcome),
    /// It is a read that got no answer.
    #[error("there is nothing to attest: it is a read, which changes nothing, and can be called again")]
    NothingDispatched,
    /// The record can't be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The journal can't be written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The host decided what can't happen.
    #[error("the host decided what can't happen: {0}")]
    Illegal(#[from] IllegalEvent),
    /// The host is stopping.
    #[error("the host is stopping and takes on nothing new")]
    Stopping,
    /// The task that does it ended without an answer. What is on record holds.
    #[error("the host failed")]
    Internal,
}

impl Broker {
    /// Settles an unknown effect by an operator's word, and answers with the record as it is afterwards.
    /// That is durable before the answer. Whose invocation it is doesn't matter to an operator.
    ///
    /// # Errors
    /// When it is not an effect that was dispatched, is over and is unknown; when the vault is locked, or
    /// the record can't be read or written.
    pub async fn attest(
        &self,
        id: &RequestId,
        outcome: AttestedOutcome,
        reason: AttestedReason,
    ) -> Result<Delivery, AttestError> {
        // The broker owns the work: whoever asked may go.
        let task = tokio::spawn(Arc::clone(self.inner()).attest(*id, outcome, reason));
        task.await.unwrap_or(Err(AttestError::Internal))
    }
}

impl Inner {
    async fn attest(
        self: Arc<Self>,
        id: RequestId,
        outcome: AttestedOutcome,
        reason: AttestedReason,
    ) -> Result<Delivery, AttestError> {
        if self.is_locked() {
            return Err(AttestError::VaultLocked);
        }
        let _entered = self.enter_asking().ok_or(AttestError::Stopping)?;
        // Whoever waits for the time of another attempt holds no claim, and reads the record anew afterwards.
        let _claim = self.claim(id).ok_or(AttestError::UnderWay)?;
        let Some(mut state) = self.state(&id)? else { return Err(AttestError::NoSuchInvocation) };
        if state.active().is_some() {
            return Err(AttestError::UnderWay);
        }
        match state.outcome() {
            Outcome::Unknown if state.dispatched() => {}
            Outcome::Unknown => return Err(AttestError::NothingDispatched),
            known @ (Outcome::NotAttempted | Outcome::Rejected | Outcome::Committed) => {
                return Err(AttestError::NotUnknown(known));
            }
        }
        let at = self.now();
        let events = decide(&state, Input::Attested { outcome, reason }, at)?;
        for event in &events {
            state.apply(event)?;
        }
        self.append(Batch {
            invocation: Some(id),
            at,
            events,
            bodies: Vec::new(),
            intents: Vec::new(),
            open: Some(false),
            tally: None,
        })
        .await?;
        Ok(self.answer(&state, false))
    }
}
