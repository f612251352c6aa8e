//! A person settles what nothing else has. The attempts stay what they were; what the person says stands
//! beside them, with the source `operator_attested` and a reason.

use crate::broker::{Broker, Inner, ReadError};
use crate::delivery::Delivery;
use proofport_core::attestation::{AttestedOutcome, AttestedReason};
use proofport_core::batch::{NoSingleChild, Which};
use proofport_core::contract::Outcome;
use proofport_core::decide::{Input, decide};
use proofport_core::id::RequestId;
use proofport_core::inquiry::announced;
use proofport_core::state::{IllegalEvent, State};
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
    /// It carries no children.
    #[error("it is no batch: attest the whole")]
    NoBatch,
    /// The child that is meant is not one of its.
    #[error(transparent)]
    NoSingleChild(#[from] NoSingleChild),
    /// Its children stand or fall together.
    #[error("its children stand or fall together: attest the whole")]
    Atomic,
    /// A child of it is known to have been carried out, so that the whole was not refused.
    #[error(
        "a child of it is known to have been carried out: attest the others by `--child`, or the whole as committed"
    )]
    ChildCommitted,
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
        let input = move |state: &State| {
            unknown_whole(state)?;
            if outcome == AttestedOutcome::Rejected && state.has_committed_child() {
                return Err(AttestError::ChildCommitted);
            }
            Ok(Input::Attested { outcome, reason })
        };
        let task = tokio::spawn(Arc::clone(self.inner()).attest(*id, input));
        task.await.unwrap_or(Err(AttestError::Internal))
    }

    /// Settles one unknown child of a batch by an operator's word, and the whole with it where it was the last
    /// that was unknown and nothing has settled that. What the answers and queries said stays on record.
    ///
    /// # Errors
    /// As [`Broker::attest`]; and when no single unknown child is meant.
    pub async fn attest_child(
        &self,
        id: &RequestId,
        child: &Which,
        outcome: AttestedOutcome,
        reason: AttestedReason,
    ) -> Result<Delivery, AttestError> {
        let child = child.clone();
        let input = move |state: &State| {
            let index = unknown_child(state, &child)?;
            Ok(Input::ChildAttested { index, outcome, reason })
        };
        let task = tokio::spawn(Arc::clone(self.inner()).attest(*id, input));
        task.await.unwrap_or(Err(AttestError::Internal))
    }
}

/// What a word on the whole is about: an effect that is unknown.
fn unknown_whole(state: &State) -> Result<(), AttestError> {
    match state.outcome() {
        Outcome::Unknown if state.dispatched() => Ok(()),
        Outcome::Unknown => Err(AttestError::NothingDispatched),
        known @ (Outcome::NotAttempted | Outcome::Rejected | Outcome::Committed) => {
            Err(AttestError::NotUnknown(known))
        }
    }
}

/// The child that is meant, if it is unknown.
fn unknown_child(state: &State, which: &Which) -> Result<u32, AttestError> {
    let binding = state.binding.as_ref().filter(|_| state.is_batch()).ok_or(AttestError::NoBatch)?;
    let index = which.among(&binding.children)?;
    // Where the whole is settled and a child is not, the remote itself said that they differ.
    if state.is_atomic() && state.settled.is_none() {
        return Err(AttestError::Atomic);
    }
    match state.child(index).outcome {
        Outcome::Unknown => Ok(index),
        known @ (Outcome::NotAttempted | Outcome::Rejected | Outcome::Committed) => {
            Err(AttestError::NotUnknown(known))
        }
    }
}

impl Inner {
    async fn attest(
        self: Arc<Self>,
        id: RequestId,
        input: impl FnOnce(&State) -> Result<Input, AttestError>,
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
        let input = input(&state)?;
        let at = self.now();
        let events = decide(&state, input, at)?;
        for event in &events {
            state.apply(event)?;
        }
        self.append(Batch {
            invocation: Some(id),
            at,
            events,
            bodies: Vec::new(),
            intents: Vec::new(),
            // What is announced still is, unless this settled it.
            open: Some(announced(&state).is_some()),
            tally: None,
        })
        .await?;
        Ok(self.answer(&state, false))
    }
}
