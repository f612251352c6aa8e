//! What the vault holds, as it is sealed: names, uses, versions, and values that are sealed a second
//! time, each under its name and version.

use crate::error::{CredentialError, VaultError};
use crate::file::Base64;
use crate::keys::{DataKey, Purpose};
use crate::seal;
use crate::uses::Uses;
use proofport_core::digest::Digest;
use proofport_core::id::Name;
use proofport_core::secret::{SHORTEST_SECRET, Secret};
use proofport_core::time::UnixMillis;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The longest secret, in bytes. A key file with its certificate chain is far below.
pub(crate) const LONGEST_SECRET: usize = 64 * 1024;

/// Everything that is sealed as one.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Contents {
    /// Counts the writes, so that a step back is noticed while the vault is open.
    pub(crate) revision: u64,
    /// The age identity, sealed.
    identity: Base64,
    secrets: BTreeMap<Name, Entry>,
    /// The last version of each removed name: a version, once used, never means another value.
    removed: BTreeMap<Name, u32>,
    /// The audit log's; none in a vault that is older than the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    audit: Option<Audit>,
}

/// What the vault knows of the audit log.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Audit {
    /// Who reads it: an age X25519 recipient whose identity is not in the vault.
    recipient: String,
    /// How many keys have signed it, with the one that signs.
    keys: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    uses: Uses,
    created_at: UnixMillis,
    versions: BTreeMap<u32, Stored>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    created_at: UnixMillis,
    sealed: Base64,
}

/// What may be shown of a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretInfo {
    /// Its name.
    pub name: Name,
    /// Where and how it may be used.
    pub uses: Uses,
    /// When its name was first set.
    pub created_at: UnixMillis,
    /// Its versions, the newest last.
    pub versions: Vec<VersionInfo>,
}

/// What may be shown of one version of a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionInfo {
    /// The version, from 1 upwards.
    pub version: u32,
    /// When it was set.
    pub created_at: UnixMillis,
}

/// The associated data of a value: no other name and no other version opens it.
fn place(name: &Name, version: u32) -> Digest {
    Digest::of_parts("proofport.vault.record/1", &[name.as_str().as_bytes(), &version.to_be_bytes()])
}

fn identity_place() -> Digest {
    Digest::of_parts("proofport.vault.identity/1", &[])
}

fn check_length(value: &Secret) -> Result<(), VaultError> {
    match value.expose().len() {
        ..SHORTEST_SECRET => Err(VaultError::TooShort),
        SHORTEST_SECRET..=LONGEST_SECRET => Ok(()),
        _ => Err(VaultError::TooLong),
    }
}

impl Contents {
    pub(crate) fn new(key: &DataKey, identity: &Secret) -> Result<Self, VaultError> {
        let sealed =
            seal::seal(&key.subkey(Purpose::Records), identity.expose(), identity_place().as_bytes())?;
        let (secrets, removed) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self { revision: 1, identity: Base64(sealed), secrets, removed, audit: None })
    }

    pub(crate) fn identity(&self, key: &DataKey) -> Option<Secret> {
        let mut plain =
            seal::open(&key.subkey(Purpose::Records), &self.identity.0, identity_place().as_bytes())?;
        Some(Secret::new(std::mem::take(&mut *plain)))
    }

    /// Who reads the audit log, and how many keys have signed it.
    pub(crate) fn audit(&self) -> (Option<&str>, u32) {
        self.audit.as_ref().map_or((None, 1), |audit| (Some(audit.recipient.as_str()), audit.keys.max(1)))
    }

    /// Says who reads the audit log, once.
    pub(crate) fn set_audit_recipient(&mut self, recipient: &str) -> Result<(), VaultError> {
        recipient.parse::<age::x25519::Recipient>().map_err(|_| VaultError::BadAuditRecipient)?;
        match &self.audit {
            Some(audit) if audit.recipient == recipient => Ok(()),
            Some(_) => Err(VaultError::AuditRecipientSet),
            None => {
                self.audit = Some(Audit { recipient: recipient.to_owned(), keys: 1 });
                Ok(())
            }
        }
    }

    /// Adds a key that signs the audit log.
    pub(crate) fn rotate_audit_key(&mut self) -> Result<u32, VaultError> {
        let audit = self.audit.as_mut().ok_or(VaultError::NoAuditRecipient)?;
        audit.keys = audit.keys.checked_add(1).ok_or(VaultError::VersionsExhausted)?;
        Ok(audit.keys)
    }

    pub(crate) fn set(
        &mut self,
        key: &DataKey,
        name: &Name,
        value: &Secret,
        uses: Uses,
        now: UnixMillis,
    ) -> Result<u32, VaultError> {
        check_length(value)?;
        let uses = uses.check()?;
        if self.secrets.contains_key(name) {
            return Err(VaultError::Exists { name: name.clone() });
        }
        let last = self.removed.get(name).copied().unwrap_or(0);
        let version = last.checked_add(1).ok_or(VaultError::VersionsExhausted)?;
        let stored = Stored::seal(key, name, version, value, now)?;
        let entry = Entry { uses, created_at: now, versions: BTreeMap::from([(version, stored)]) };
        self.secrets.insert(name.clone(), entry);
        self.removed.remove(name);
        Ok(version)
    }

    pub(crate) fn rotate(
        &mut self,
        key: &DataKey,
        name: &Name,
        value: &Secret,
        now: UnixMillis,
    ) -> Result<u32, VaultError> {
        check_length(value)?;
        let entry = self.secrets.get_mut(name).ok_or_else(|| VaultError::Absent { name: name.clone() })?;
        let version = entry.newest().checked_add(1).ok_or(VaultError::VersionsExhausted)?;
        entry.versions.insert(version, Stored::seal(key, name, version, value, now)?);
        Ok(version)
    }

    pub(crate) fn remove(&mut self, name: &Name) -> Result<(), VaultError> {
        let entry = self.secrets.remove(name).ok_or_else(|| VaultError::Absent { name: name.clone() })?;
        self.removed.insert(name.clone(), entry.newest());
        Ok(())
    }

    pub(crate) fn list(&self) -> Vec<SecretInfo> {
        let info = |(name, entry): (&Name, &Entry)| SecretInfo {
            name: name.clone(),
            uses: entry.uses.clone(),
            created_at: entry.created_at,
            versions: entry
                .versions
                .iter()
                .map(|(version, stored)| VersionInfo { version: *version, created_at: stored.created_at })
                .collect(),
        };
        self.secrets.iter().map(info).collect()
    }

    /// What this name may be used for, the version that is meant, and its sealed value.
    pub(crate) fn find(
        &self,
        name: &Name,
        version: Option<u32>,
    ) -> Result<(&Uses, SealedValue<'_>), CredentialError> {
        let (name, entry) = self.secrets.get_key_value(name).ok_or(CredentialError::Absent)?;
        let version = version.unwrap_or(entry.newest());
        let stored = entry.versions.get(&version).ok_or(CredentialError::Absent)?;
        Ok((&entry.uses, SealedValue { name, version, sealed: &stored.sealed.0 }))
    }
}

impl Entry {
    fn newest(&self) -> u32 {
        self.versions.keys().next_back().copied().unwrap_or(0)
    }
}

impl Stored {
    fn seal(
        key: &DataKey,
        name: &Name,
        version: u32,
        value: &Secret,
        now: UnixMillis,
    ) -> Result<Self, VaultError> {
        let aad = place(name, version);
        let sealed = seal::seal(&key.subkey(Purpose::Records), value.expose(), aad.as_bytes())?;
        Ok(Self { created_at: now, sealed: Base64(sealed) })
    }
}

/// A value that was found and may be opened.
pub(crate) struct SealedValue<'a> {
    name: &'a Name,
    pub(crate) version: u32,
    sealed: &'a [u8],
}

impl SealedValue<'_> {
    pub(crate) fn open(&self, key: &DataKey) -> Option<Secret> {
        let aad = place(self.name, self.version);
        let mut plain = seal::open(&key.subkey(Purpose::Records), self.sealed, aad.as_bytes())?;
        Some(Secret::new(std::mem::take(&mut *plain)))
    }
}
