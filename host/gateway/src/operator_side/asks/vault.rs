//! Locking and unlocking.

use crate::operator_side::ask::{Ask, Desk};
use crate::operator_side::failure::Failure;
use crate::operator_side::wire::Sent;
use serde::{Deserialize, Serialize};

/// Refuses every use of a secret until the vault is unlocked again. What was dispatched ends and is stored.
#[derive(Serialize, Deserialize)]
pub struct LockVault {}

/// Lets secrets be used again. A host that was locked has forgotten its keys, so it needs the passphrase
/// itself.
#[derive(Serialize, Deserialize)]
pub struct UnlockVault {
    /// The passphrase.
    pub passphrase: Sent,
}

/// How the vault is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VaultStanding {
    /// Whether every use is refused.
    pub locked: bool,
}

impl Ask for LockVault {
    const PATH: &'static str = "/v1/vault/lock";
    type Answer = VaultStanding;

    async fn carry_out(self, desk: &Desk) -> Result<VaultStanding, Failure> {
        desk.host().lock().await?;
        Ok(VaultStanding { locked: true })
    }
}

impl Ask for UnlockVault {
    const PATH: &'static str = "/v1/vault/unlock";
    type Answer = VaultStanding;

    async fn carry_out(self, desk: &Desk) -> Result<VaultStanding, Failure> {
        desk.host().unlock_with(self.passphrase.0).await?;
        Ok(VaultStanding { locked: false })
    }
}
