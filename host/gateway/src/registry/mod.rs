//! The approved connectors: which exact modules may run here.
//!
//! `connectors/approved.json` lists them, authenticated under a key of the vault, so that nobody
//! without the passphrase can approve a module by writing files; `connectors/HEX.wasm` are the
//! modules, hashed again whenever one is loaded. What the list can't prove is that it is the newest
//! one: an older copy of it is valid, and the journal's `CONNECTOR_DECIDED` events tell.

mod error;
mod file;
#[cfg(test)]
mod tests;

pub use error::RegistryError;

use crate::home::make_private;
use file::{Exclusive, ListKey};
use proofport_core::digest::Digest;
use proofport_core::manifest::Manifest;
use proofport_core::time::UnixMillis;
use proofport_sandbox::LARGEST_MODULE;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// An approved connector.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approved {
    /// The digest of its module: what was approved.
    pub digest: Digest,
    /// The module's length in bytes.
    pub size: u64,
    /// When it was approved.
    pub approved_at: UnixMillis,
    /// What it declared when it was reviewed; has its name and version.
    pub manifest: Manifest,
}

/// The list of approved connectors and the folder of their modules.
pub struct Registry {
    folder: PathBuf,
    key: ListKey,
    approved: BTreeMap<Digest, Approved>,
}

impl Registry {
    /// Reads the list; an absent one is empty.
    ///
    /// # Errors
    /// When the list can't be read, is damaged, or was not written under this key.
    pub fn open(folder: impl Into<PathBuf>, key: Zeroizing<[u8; 32]>) -> Result<Self, RegistryError> {
        let (folder, key) = (folder.into(), ListKey::new(key));
        let approved = file::read(&folder, &key)?;
        Ok(Self { folder, key, approved })
    }

    /// Takes over what another process approved or revoked since.
    ///
    /// # Errors
    /// As [`Registry::open`]; then nothing changes.
    pub fn refresh(&mut self) -> Result<(), RegistryError> {
        self.approved = file::read(&self.folder, &self.key)?;
        Ok(())
    }

    /// Stores a module and puts it on the list. Approving it again takes the newer manifest and
    /// writes the module anew, which also repairs a damaged one.
    ///
    /// # Errors
    /// When the module is too large, the list was tampered with, or a file can't be written; then the
    /// module is not approved.
    pub fn approve(
        &mut self,
        bytes: &[u8],
        manifest: Manifest,
        now: UnixMillis,
    ) -> Result<&Approved, RegistryError> {
        if bytes.len() > LARGEST_MODULE {
            return Err(RegistryError::TooLarge { size: bytes.len() });
        }
        let digest = Digest::of_bytes(bytes);
        make_private(&self.folder)?;
        let _exclusive = Exclusive::take(&self.folder)?;
        let mut approved = file::read(&self.folder, &self.key)?;
        // The module first: a list that names a missing module would be worse than a stray module.
        file::replace(&self.module_path(&digest), bytes)?;
        approved.insert(digest, Approved { digest, size: bytes.len() as u64, approved_at: now, manifest });
        file::write(&self.folder, &self.key, &approved)?;
        self.approved = approved;
        self.approved.get(&digest).ok_or(RegistryError::NotApproved { digest })
    }

    /// The approved connector with this digest.
    #[must_use]
    pub fn find(&self, digest: &Digest) -> Option<&Approved> {
        self.approved.get(digest)
    }

    /// The approved connectors by name, and of one name the newest approval first.
    #[must_use]
    pub fn list(&self) -> Vec<&Approved> {
        let mut list: Vec<&Approved> = self.approved.values().collect();
        list.sort_by(|a, b| {
            a.manifest.name.cmp(&b.manifest.name).then_with(|| b.approved_at.cmp(&a.approved_at))
        });
        list
    }

    /// The bytes of an approved module, hashed again.
    ///
    /// # Errors
    /// When it is not approved, its file is missing or can't be read, or holds other bytes.
    pub fn module(&self, digest: &Digest) -> Result<Vec<u8>, RegistryError> {
        if self.find(digest).is_none() {
            return Err(RegistryError::NotApproved { digest: *digest });
        }
        let path = self.module_path(digest);
        let bytes = read_module(&path).map_err(|source| match source.kind() == io::ErrorKind::NotFound {
            true => RegistryError::ModuleMissing { path: path.clone() },
            false => RegistryError::Io { doing: "read", path: path.clone(), source },
        })?;
        if Digest::of_bytes(&bytes) == *digest {
            Ok(bytes)
        } else {
            Err(RegistryError::DigestMismatch { path })
        }
    }

    /// Takes a connector off the list and removes its module.
    ///
    /// # Errors
    /// When it is not on the list, or a file can't be written; then it may still be approved.
    pub fn revoke(&mut self, digest: &Digest) -> Result<Approved, RegistryError> {
        if self.find(digest).is_none() {
            return Err(RegistryError::NotApproved { digest: *digest });
        }
        let _exclusive = Exclusive::take(&self.folder)?;
        let mut approved = file::read(&self.folder, &self.key)?;
        let revoked = approved.remove(digest).ok_or(RegistryError::NotApproved { digest: *digest })?;
        // The list first: from here on the module can't be loaded, whatever becomes of its file.
        file::write(&self.folder, &self.key, &approved)?;
        self.approved = approved;
        let path = self.module_path(digest);
        match fs::remove_file(&path) {
            Ok(()) => Ok(revoked),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(revoked),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "a revoked connector's module could not be removed");
                Ok(revoked)
            }
        }
    }

    fn module_path(&self, digest: &Digest) -> PathBuf {
        self.folder.join(format!("{}.wasm", digest.hex()))
    }
}

/// Reads at most one byte more than the largest module has; then the digest differs anyway.
fn read_module(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(LARGEST_MODULE as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
