//! The keys that the journal is given.

use crate::audit::AuditKeys;
use crate::tables::WITH_AUDIT;
use hmac::digest::FixedOutput as _;
use hmac::{Hmac, KeyInit as _, Mac as _};
use proofport_core::secret::Secret;
use sha2::Sha256;
use zeroize::{Zeroize as _, Zeroizing};

/// What the vault hands to the journal.
pub struct JournalKeys {
    /// Authenticates records.
    pub event_mac: Zeroizing<[u8; 32]>,
    /// The age X25519 recipient to which bodies are sealed: `age1…`.
    pub seal_recipient: String,
    /// The identity that opens them; none while the vault is locked.
    pub seal_identity: Option<Secret>,
    /// The audit log's.
    pub audit: AuditKeys,
}

/// An authentication code.
pub(crate) type Code = [u8; 32];

/// HMAC-SHA256 under the vault's key.
#[derive(Clone)]
pub(crate) struct Authenticator(Hmac<Sha256>);

impl Authenticator {
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        // A key shorter than a block is taken padded with zeros (RFC 2104), so this can't fail.
        let mut block = hmac::digest::common::Key::<Hmac<Sha256>>::default();
        block[..key.len()].copy_from_slice(key);
        let mac = Hmac::new(&block);
        block.as_mut_slice().zeroize();
        Self(mac)
    }

    /// The code of these parts. Callers see to it that every part but the last has a fixed length.
    pub(crate) fn code(&self, parts: &[&[u8]]) -> Code {
        let mut mac = self.0.clone();
        parts.iter().for_each(|part| mac.update(part));
        mac.finalize_fixed().into()
    }

    /// Proves which key this is without showing it, and, from the version on that has an audit log, of which
    /// version the journal is: whoever has no key can't have an upgrade begin the log anew.
    pub(crate) fn key_check(&self, version: u64) -> Code {
        if version < WITH_AUDIT {
            return self.code(&[b"proofport.journal/1 key"]);
        }
        self.code(&[b"proofport.journal key and version", &version.to_be_bytes()])
    }
}
