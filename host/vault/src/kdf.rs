//! From a passphrase to a key.

use crate::error::VaultError;
use argon2::{Algorithm, Argon2, Block, Params, Version};
use proofport_core::secret::Secret;
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, Zeroizing};

/// What one guess of the passphrase costs (Argon2id, RFC 9106).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KdfParams {
    /// Memory in KiB: from 8 per lane to 1 GiB.
    pub memory_kib: u32,
    /// Passes over the memory: 1 to 16.
    pub passes: u32,
    /// Lanes: 1 to 16. They are computed one after the other here.
    pub lanes: u32,
}

impl Default for KdfParams {
    /// The second recommended choice of RFC 9106 section 4: 64 MiB, three passes, four lanes.
    fn default() -> Self {
        Self { memory_kib: 64 * 1024, passes: 3, lanes: 4 }
    }
}

impl KdfParams {
    /// Refuses what the algorithm doesn't take and what would exhaust the machine, so that an altered
    /// file can't ask for a terabyte.
    pub(crate) fn check(self) -> Result<Self, VaultError> {
        let lanes = (1..=16).contains(&self.lanes);
        let passes = (1..=16).contains(&self.passes);
        if lanes && passes && (8 * self.lanes..=1024 * 1024).contains(&self.memory_kib) {
            Ok(self)
        } else {
            Err(VaultError::CostOutOfBounds)
        }
    }

    /// The key-encryption key. The working memory is wiped.
    pub(crate) fn derive(
        self,
        passphrase: &Secret,
        salt: &[u8; 16],
    ) -> Result<Zeroizing<[u8; 32]>, VaultError> {
        if passphrase.expose().is_empty() {
            return Err(VaultError::EmptyPassphrase);
        }
        let Self { memory_kib, passes, lanes } = self.check()?;
        let params =
            Params::new(memory_kib, passes, lanes, Some(32)).map_err(|_| VaultError::CostOutOfBounds)?;
        let mut memory = Vec::new();
        let blocks = params.block_count();
        memory.try_reserve_exact(blocks).map_err(|_| VaultError::NoMemory { memory_kib })?;
        memory.resize(blocks, Block::default());
        let mut key = Zeroizing::new([0; 32]);
        let done = Argon2::new(Algorithm::Argon2id, Version::V0x13, params).hash_password_into_with_memory(
            passphrase.expose(),
            salt,
            &mut *key,
            &mut memory[..],
        );
        memory.iter_mut().for_each(Zeroize::zeroize);
        done.map_err(|_| VaultError::CostOutOfBounds)?;
        Ok(key)
    }
}
