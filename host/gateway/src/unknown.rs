//! What an operator does about effects whose fate is unknown. All of it needs an opened home, and so the
//! passphrase that proves the operator.

use crate::host::Host;
use proofport_broker::{AttestError, Delivery, ReadError};
use proofport_core::attestation::{AttestedOutcome, AttestedReason};
use proofport_core::batch::Which;
use proofport_core::id::RequestId;
use proofport_core::unknown::UnknownEffect;

impl Host {
    /// Every effect that was dispatched and that nothing has settled, and every batch with children of that
    /// kind, the newest first.
    ///
    /// # Errors
    /// When a record can't be read.
    pub fn unknowns(&self) -> Result<Vec<UnknownEffect>, ReadError> {
        self.broker().unknowns()
    }

    /// Settles an unknown effect by the operator's word.
    ///
    /// # Errors
    /// See [`AttestError`]; nothing was attested then.
    pub async fn attest(
        &self,
        id: &RequestId,
        outcome: AttestedOutcome,
        reason: AttestedReason,
    ) -> Result<Delivery, AttestError> {
        self.broker().attest(id, outcome, reason).await
    }

    /// Settles one unknown child of a batch by the operator's word.
    ///
    /// # Errors
    /// See [`AttestError`]; nothing was attested then.
    pub async fn attest_child(
        &self,
        id: &RequestId,
        child: &Which,
        outcome: AttestedOutcome,
        reason: AttestedReason,
    ) -> Result<Delivery, AttestError> {
        self.broker().attest_child(id, child, outcome, reason).await
    }
}
