//! The data key and what is derived from it.

use crate::error::VaultError;
use crate::seal;
use hkdf::Hkdf;
use proofport_core::secret::Secret;
use sha2::Sha256;
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

/// What a subkey is for. A closed list, so that no two purposes share a label.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    /// Proves that the passphrase is right.
    Check,
    /// Wraps the data key.
    Wrap,
    /// Seals the contents as a whole.
    Contents,
    /// Seals single values.
    Records,
    /// Authenticates that the operator's mark is cleared.
    Latch,
    /// Authenticates the journal's events.
    Events,
    /// Authenticates compiled connectors.
    Cache,
    /// Authenticates the list of approved connectors.
    Registry,
    /// The operator's credential.
    Operator,
    /// Signs the audit log.
    Audit,
}

impl Purpose {
    const fn label(self) -> &'static [u8] {
        match self {
            Self::Check => b"proofport.vault/1 check",
            Self::Wrap => b"proofport.vault/1 wrap",
            Self::Contents => b"proofport.vault/1 contents",
            Self::Records => b"proofport.vault/1 records",
            Self::Latch => b"proofport.vault/1 latch",
            Self::Events => b"proofport.vault/1 journal events",
            Self::Cache => b"proofport.vault/1 compile cache",
            Self::Registry => b"proofport.vault/1 approved connectors",
            Self::Operator => b"proofport.vault/1 operator credential",
            Self::Audit => b"proofport.vault/1 audit signing",
        }
    }
}

/// HKDF-SHA256 with the purpose as its info.
pub(crate) fn subkey(key: &[u8; 32], purpose: Purpose) -> Zeroizing<[u8; 32]> {
    let mut out = Zeroizing::new([0; 32]);
    // Fails only for outputs over 255 digests long; ours is one.
    let _ = Hkdf::<Sha256>::new(None, key).expand(purpose.label(), &mut *out);
    out
}

/// The random key under which everything else is sealed.
pub(crate) struct DataKey(Zeroizing<[u8; 32]>);

impl DataKey {
    pub(crate) fn generate() -> Result<Self, VaultError> {
        seal::random().map(Self)
    }

    pub(crate) fn subkey(&self, purpose: Purpose) -> Zeroizing<[u8; 32]> {
        subkey(&self.0, purpose)
    }

    /// The seed of the key that signs the audit log, by its number from 1 upwards.
    pub(crate) fn audit_seed(&self, number: u32) -> Zeroizing<[u8; 32]> {
        let mut out = Zeroizing::new([0; 32]);
        let seeds = Hkdf::<Sha256>::new(None, &*self.subkey(Purpose::Audit));
        // Fails only for outputs over 255 digests long; ours is one.
        let _ = seeds.expand(&number.to_be_bytes(), &mut *out);
        out
    }

    /// The wrapped key and the value that tells a wrong passphrase from a damaged file. The check
    /// value is a sibling of the wrapping key, so it also binds the file to one key.
    pub(crate) fn wrap(&self, kek: &[u8; 32]) -> Result<(Vec<u8>, [u8; 32]), VaultError> {
        let wrapped = seal::seal(&subkey(kek, Purpose::Wrap), &*self.0, b"")?;
        Ok((wrapped, *subkey(kek, Purpose::Check)))
    }

    /// Whether this key-encryption key is the file's.
    pub(crate) fn is_right(kek: &[u8; 32], check: &[u8; 32]) -> bool {
        subkey(kek, Purpose::Check).ct_eq(check).into()
    }

    pub(crate) fn unwrap(kek: &[u8; 32], wrapped: &[u8]) -> Option<Self> {
        let plain = seal::open(&subkey(kek, Purpose::Wrap), wrapped, b"")?;
        let key: [u8; 32] = plain.as_slice().try_into().ok()?;
        Some(Self(Zeroizing::new(key)))
    }
}

/// The host's own keys, stable for the life of the vault.
pub struct HostKeys {
    /// Authenticates the journal's events.
    pub event_mac: Zeroizing<[u8; 32]>,
    /// Authenticates compiled connectors before they are loaded.
    pub cache_mac: Zeroizing<[u8; 32]>,
    /// Authenticates the list of approved connectors.
    pub registry_mac: Zeroizing<[u8; 32]>,
    /// What an operator's call presents; only who knows the passphrase can derive it. ASCII text.
    pub operator_credential: Secret,
    /// The age X25519 recipient to which bodies are sealed: `age1…`.
    pub seal_recipient: String,
    /// The age X25519 identity that opens them: `AGE-SECRET-KEY-1…`, in ASCII.
    pub seal_identity: Secret,
    /// Seeds of the Ed25519 keys that sign or signed the audit log, the oldest first.
    pub audit_seeds: Vec<Zeroizing<[u8; 32]>>,
    /// The age X25519 recipient to which the audit log is sealed. Its identity is the operator's and not in the
    /// vault. None in a vault that is older than the log: see [`crate::Vault::set_audit_recipient`].
    pub audit_recipient: Option<String>,
}
