//! What an operator does to a home: every one of these needs the passphrase, which proves the
//! operator, and leaves a record.

use crate::audit::identity_in;
use crate::config::{Config, Problem};
use crate::home::Home;
use crate::host::{Connections, Host, HostError, OpenOptions};
use crate::registry::{Approved, Registry, RegistryError};
use crate::review::Review;
use proofport_broker::{Clock as _, SystemClock};
use proofport_core::digest::Digest;
use proofport_core::event::HostEvent;
use proofport_core::id::Name;
use proofport_core::manifest::Manifest;
use proofport_core::secret::Secret;
use proofport_sandbox::{Fault, Limits, LoadError, ModuleError, Sandbox, SandboxError, inspect};
use proofport_vault::{KdfParams, SecretInfo, State, Uses, Vault, VaultError};
use std::path::Path;
use std::sync::PoisonError;

/// Makes a home: the directory, the vault with the host's keys, the journal. The identity that opens the audit
/// log is put into the file that is named, else into [`Home::audit_identity`]; one that is there is taken.
///
/// # Errors
/// When there is one already, or a file can't be written.
pub async fn init(
    dir: &Path,
    passphrase: &Secret,
    kdf: KdfParams,
    audit_identity: Option<&Path>,
) -> Result<Home, HostError> {
    let home = Home::create(dir)?;
    if home.vault().exists() {
        return Err(VaultError::AlreadyExists { path: home.vault() }.into());
    }
    // Before there is a vault: what is interrupted here can be repeated.
    let identity = identity_in(audit_identity.unwrap_or(&home.audit_identity()))?;
    let mut vault = Vault::create(&home.vault(), passphrase, kdf)?;
    vault.set_audit_recipient(&identity.recipient())?;
    let host = Host::open_unlocked(home.clone(), vault, OpenOptions::program(Connections::None)).await?;
    host.record(HostEvent::VaultStateChanged { locked: false }).await?;
    host.close()?;
    Ok(home)
}

/// A module that an admin looked at. Only such a one can be approved, and it is these bytes that are.
pub struct Reviewed {
    review: Review,
    manifest: Manifest,
    module: Vec<u8>,
}

impl Reviewed {
    /// What is shown.
    #[must_use]
    pub const fn review(&self) -> &Review {
        &self.review
    }

    /// The module itself.
    #[must_use]
    pub fn module(&self) -> &[u8] {
        &self.module
    }

    /// What it declares.
    #[must_use]
    pub const fn manifest(&self) -> &Manifest {
        &self.manifest
    }
}

/// A module can't be reviewed or installed.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// It is not a connector that this host takes.
    #[error(transparent)]
    Module(#[from] ModuleError),
    /// It can't be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// It could not say what it is.
    #[error("the connector can't say what it is: {0}")]
    Describe(#[from] Fault),
    /// The sandbox can't be made.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
}

/// Looks at a module: what it imports, and what it says of itself, run once in the sandbox without
/// any config, secret or network.
///
/// # Errors
/// See [`ReviewError`].
pub async fn review(module: Vec<u8>) -> Result<Reviewed, ReviewError> {
    let inspection = inspect(&module)?;
    // Nothing of an unapproved module is kept, so there is no cache and its key is of no use.
    let sandbox = Sandbox::new(None, zeroize::Zeroizing::new([0; 32]), Limits::default())?;
    let connector = sandbox.load(&module)?;
    let manifest = connector.describe("{}").await?.value;
    Ok(Reviewed { review: Review::of(&inspection, &manifest), manifest, module })
}

impl Host {
    fn registry(&self) -> Result<Registry, HostError> {
        let keys = self.vault().read().unwrap_or_else(PoisonError::into_inner).keys()?;
        Ok(Registry::open(self.home().connectors(), keys.registry_mac)?)
    }

    /// Approves exactly this module.
    ///
    /// # Errors
    /// When it can't be stored or recorded.
    pub async fn approve_connector(&self, reviewed: &Reviewed) -> Result<(), HostError> {
        let digest = reviewed.review.digest;
        let manifest = reviewed.manifest.clone();
        self.registry()?.approve(&reviewed.module, manifest, SystemClock.now())?;
        self.record(HostEvent::ConnectorDecided { digest, approved: true }).await?;
        Ok(())
    }

    /// Takes a connector's approval back, durably and for what runs here: its calls stop at their next boundary,
    /// and what was dispatched goes on to its end.
    ///
    /// # Errors
    /// When it is not approved, or that can't be stored or recorded.
    pub async fn revoke_connector(&self, digest: &Digest) -> Result<Approved, HostError> {
        let revoked = self.registry()?.revoke(digest)?;
        let stopped = self.broker().revoke_connector(digest).await;
        self.record(HostEvent::ConnectorDecided { digest: *digest, approved: false }).await?;
        if let Err(error) = stopped {
            // It can't begin any more; a question about it lapses by itself.
            tracing::error!(%error, "questions about a revoked connector could not be ended");
        }
        Ok(revoked)
    }

    /// The approved connectors.
    ///
    /// # Errors
    /// When the list can't be read.
    pub fn connectors(&self) -> Result<Vec<Approved>, HostError> {
        Ok(self.registry()?.list().into_iter().cloned().collect())
    }

    /// Every mistake in the declared connections, against approved connectors and the vault.
    ///
    /// # Errors
    /// When the list of approved connectors can't be read.
    pub fn check_connections(&self) -> Result<(usize, Vec<Problem>), RegistryError> {
        let vault = self.vault().read().unwrap_or_else(PoisonError::into_inner);
        let config = match Config::load(&self.home().config()) {
            Ok(config) => config,
            Err(problems) => return Ok((0, problems)),
        };
        let Ok(keys) = vault.keys() else { return Ok((config.connections.len(), Vec::new())) };
        let registry = Registry::open(self.home().connectors(), keys.registry_mac)?;
        Ok((config.connections.len(), crate::check::check(&config, &registry, Some(&vault))))
    }

    /// Stores a secret. Its value is not shown again.
    ///
    /// # Errors
    /// When the name is taken, the value too short, or the vault or the record can't be written.
    pub async fn set_secret(&self, name: &Name, value: Secret, uses: Uses) -> Result<u32, HostError> {
        let version = self.with_vault(|vault| vault.set(name, value, uses, SystemClock.now()))?;
        self.record(HostEvent::SecretChanged { name: name.clone(), version: Some(version) }).await?;
        Ok(version)
    }

    /// Stores a newer version of a secret.
    ///
    /// # Errors
    /// When there is no such secret, the value is too short, or the vault or the record can't be
    /// written.
    pub async fn rotate_secret(&self, name: &Name, value: Secret) -> Result<u32, HostError> {
        let version = self.with_vault(|vault| vault.rotate(name, value, SystemClock.now()))?;
        self.record(HostEvent::SecretChanged { name: name.clone(), version: Some(version) }).await?;
        Ok(version)
    }

    /// Removes a secret in all its versions.
    ///
    /// # Errors
    /// When there is no such secret, or the vault or the record can't be written.
    pub async fn remove_secret(&self, name: &Name) -> Result<(), HostError> {
        self.with_vault(|vault| vault.remove(name))?;
        self.record(HostEvent::SecretChanged { name: name.clone(), version: None }).await?;
        Ok(())
    }

    /// The secrets without their values.
    ///
    /// # Errors
    /// When the vault is locked.
    pub fn secrets(&self) -> Result<Vec<SecretInfo>, VaultError> {
        self.vault().read().unwrap_or_else(PoisonError::into_inner).list()
    }

    /// Refuses every use of a secret, durably, and forgets the keys. What was dispatched ends all the same: its
    /// credential was handed out before, and the journal has keys of its own for what is still to be stored.
    ///
    /// # Errors
    /// When the vault or the record can't be written.
    pub async fn lock(&self) -> Result<(), HostError> {
        self.with_vault(|vault| {
            let marked = vault.set_latch(true);
            // Whatever became of the mark.
            vault.lock();
            marked
        })?;
        self.record(HostEvent::VaultStateChanged { locked: true }).await?;
        Ok(())
    }

    /// Lifts the operator's lock, also from a vault whose keys were forgotten.
    ///
    /// # Errors
    /// When the passphrase is wrong, or the vault or the record can't be written.
    pub async fn unlock_with(&self, passphrase: Secret) -> Result<(), HostError> {
        let unlocked = |vault: &Vault| vault.state() == State::Unlocked;
        if unlocked(&self.vault().read().unwrap_or_else(PoisonError::into_inner)) {
            return self.unlock().await;
        }
        let path = self.home().vault();
        // Deriving the key takes long, so it is not done under the lock that every call looks through.
        let opened = tokio::task::spawn_blocking(move || {
            let mut vault = Vault::open(&path)?;
            vault.unlock(&passphrase).map(|()| vault)
        });
        // A task that ended without an answer changed nothing.
        let opened = opened.await.map_err(|_| VaultError::Locked)??;
        *self.vault().write().unwrap_or_else(PoisonError::into_inner) = opened;
        self.unlock().await
    }

    /// Lifts the operator's lock.
    ///
    /// # Errors
    /// When the vault or the record can't be written.
    pub async fn unlock(&self) -> Result<(), HostError> {
        self.with_vault(|vault| vault.set_latch(false))?;
        self.record(HostEvent::VaultStateChanged { locked: false }).await?;
        Ok(())
    }

    fn with_vault<T>(&self, work: impl FnOnce(&mut Vault) -> Result<T, VaultError>) -> Result<T, VaultError> {
        work(&mut self.vault().write().unwrap_or_else(PoisonError::into_inner))
    }
}
