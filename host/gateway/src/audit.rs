//! The audit log of a home: the file of its identity, and the keys that sign it.

use crate::home::{Home, sync_folder_of};
use crate::host::{Host, HostError};
use proofport_core::secret::Secret;
use proofport_vault::{AuditIdentity, Vault, VaultError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

/// The longest key file that is read, in bytes.
const LONGEST_IDENTITY: u64 = 64 * 1024;

/// The identity's file can't be made or read.
#[derive(Debug, thiserror::Error)]
pub enum AuditIdentityError {
    /// A file operation failed.
    #[error("could not {doing} the audit identity {}: {source}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// On which file.
        path: PathBuf,
        /// The operating system's answer.
        source: io::Error,
    },
    /// There is a file that holds something else. It is left as it is.
    #[error("{} is no age identity and is left as it is: name another file, or move it away", path.display())]
    OtherFile {
        /// The file.
        path: PathBuf,
    },
    /// The vault can't take the recipient.
    #[error(transparent)]
    Vault(#[from] VaultError),
}

/// The identity in this file, or a new one that is on disk when this returns.
///
/// # Errors
/// See [`AuditIdentityError`]; nothing is overwritten.
pub(crate) fn identity_in(path: &Path) -> Result<AuditIdentity, AuditIdentityError> {
    let failed = |doing| move |source| AuditIdentityError::Io { doing, path: path.to_owned(), source };
    if let Some(found) = read(path).map_err(failed("read"))? {
        return AuditIdentity::parse(&found)
            .map_err(|_| AuditIdentityError::OtherFile { path: path.to_owned() });
    }
    let identity = AuditIdentity::generate();
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        Some(_) | None => Path::new("."),
    };
    // Mode 0600 from the beginning, and whole or not there.
    let mut file = tempfile::Builder::new().prefix(".audit-").tempfile_in(folder).map_err(failed("make"))?;
    file.write_all(identity.file().as_bytes()).map_err(failed("write"))?;
    file.as_file().sync_all().map_err(failed("sync"))?;
    match file.persist_noclobber(path) {
        Ok(_) => {}
        // Another process was there first, and its identity counts.
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
            let found = read(path).map_err(failed("read"))?;
            let other = AuditIdentityError::OtherFile { path: path.to_owned() };
            return found.and_then(|found| AuditIdentity::parse(&found).ok()).ok_or(other);
        }
        Err(error) => return Err(failed("make")(error.error)),
    }
    sync_folder_of(path).map_err(failed("sync the folder of"))?;
    Ok(identity)
}

fn read(path: &Path) -> io::Result<Option<Secret>> {
    let file = match std::fs::File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let mut bytes = Vec::new();
    file.take(LONGEST_IDENTITY).read_to_end(&mut bytes)?;
    Ok(Some(Secret::new(bytes)))
}

/// Gives a vault that is older than the audit log its recipient. The identity is in its file, on disk, before
/// the vault says to whom the log is sealed, so that no log is ever sealed to nobody. Says which file that is.
///
/// # Errors
/// See [`AuditIdentityError`].
pub(crate) fn complete(vault: &mut Vault, home: &Home) -> Result<Option<PathBuf>, AuditIdentityError> {
    if vault.keys()?.audit_recipient.is_some() {
        return Ok(None);
    }
    let path = home.audit_identity();
    vault.set_audit_recipient(&identity_in(&path)?.recipient())?;
    Ok(Some(path))
}

impl Host {
    /// Has another key sign the audit log from the first record on that is made after the home was opened again.
    ///
    /// # Errors
    /// When the vault can't be written.
    pub(crate) fn rotate_audit_key(&self) -> Result<u32, HostError> {
        Ok(self.vault().write().unwrap_or_else(PoisonError::into_inner).rotate_audit_key()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn an_identity_is_made_once_and_overwrites_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key.txt");
        let made = identity_in(&path).unwrap().recipient();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(identity_in(&path).unwrap().recipient(), made);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
        std::fs::write(&path, "a shopping list").unwrap();
        assert!(matches!(identity_in(&path), Err(AuditIdentityError::OtherFile { .. })));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a shopping list");
        let nowhere = folder.path().join("no/key.txt");
        assert!(matches!(identity_in(&nowhere), Err(AuditIdentityError::Io { .. })));
    }

    /// A vault that is older than the log gets its recipient, also where that was interrupted.
    #[test]
    fn an_older_vault_is_completed() {
        use proofport_vault::KdfParams;
        let folder = tempfile::tempdir().unwrap();
        let home = Home::create(folder.path().join("home")).unwrap();
        let passphrase = Secret::new(b"correct horse".to_vec());
        let cheap = KdfParams { memory_kib: 8, passes: 1, lanes: 1 };
        let mut vault = Vault::create(&home.vault(), &passphrase, cheap).unwrap();
        // Stopped after the file and before the vault.
        let made = identity_in(&home.audit_identity()).unwrap().recipient();
        assert_eq!(complete(&mut vault, &home).unwrap(), Some(home.audit_identity()));
        assert_eq!(vault.keys().unwrap().audit_recipient, Some(made));
        // The operator moves it away, and no other is made.
        std::fs::remove_file(home.audit_identity()).unwrap();
        assert_eq!(complete(&mut vault, &home).unwrap(), None);
        assert!(!home.audit_identity().exists());
    }
}
