//! What an operator does about effects whose fate is unknown. Both need an opened home, and so the
//! passphrase that proves the operator.

use crate::host::Host;
use proofport_broker::{AttestError, Delivery, ReadError};
use proofport_core::attestation::{AttestedOutcome, AttestedReason};
use proofport_core::id::RequestId;
use proofport_core::unknown::UnknownEffect;

impl Host {
    /// Every effect that was dispatched and that nothing has settled, the newest first.
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
}
