//! The vault: its states, and every change as read, change, replace under one lock.

use crate::contents::{Contents, SecretInfo};
use crate::error::{CredentialError, VaultError};
use crate::file::{Base64, Latch, VaultFile};
use crate::kdf::KdfParams;
use crate::keys::{DataKey, HostKeys, Purpose};
use crate::seal;
use crate::storage::{self, Exclusive, Target};
use crate::uses::{Use, Uses};
use age::secrecy::ExposeSecret as _;
use proofport_core::id::Name;
use proofport_core::secret::Secret;
use proofport_core::time::UnixMillis;
use std::fmt;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Whether the data key is in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing but the recipient and the operator's mark can be read.
    Locked,
    /// The passphrase was given.
    Unlocked,
}

/// A secret that was asked for and may be used.
pub struct Credential {
    /// Which version it is.
    pub version: u32,
    /// Its bytes.
    pub secret: Secret,
}

/// One vault file, locked or unlocked.
pub struct Vault {
    path: PathBuf,
    file: VaultFile,
    open: Option<Open>,
}

/// What an unlocked vault has in memory. Values stay sealed until they are used.
struct Open {
    key: DataKey,
    contents: Contents,
}

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vault")
            .field("path", &self.path)
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}

impl Vault {
    /// Makes a new vault with its data key and age identity, and returns it unlocked. The passphrase
    /// is taken byte for byte.
    ///
    /// # Errors
    /// When a file is there already, the passphrase is empty, the cost is out of bounds, or the file
    /// can't be written.
    pub fn create(path: &Path, passphrase: &Secret, kdf: KdfParams) -> Result<Self, VaultError> {
        let salt = *seal::random()?;
        let kek = kdf.derive(passphrase, &salt)?;
        let key = DataKey::generate()?;
        let (data_key, check) = key.wrap(&kek)?;
        let identity = age::x25519::Identity::generate();
        let recipient = identity.to_public().to_string();
        let identity = Secret::new(identity.to_string().expose_secret().as_bytes().to_vec());
        let contents = Contents::new(&key, &identity)?;
        let mut file =
            VaultFile { kdf, salt, check, data_key, recipient, contents: Vec::new(), latch: Latch::Set };
        file.contents = seal_contents(&file, &key, &contents)?;
        file.latch = clear_latch(&file, &key)?;
        storage::write(path, &file, Target::New)?;
        Ok(Self { path: path.to_owned(), file, open: Some(Open { key, contents }) })
    }

    /// Opens an existing vault, locked.
    ///
    /// # Errors
    /// When there is none, or the file is not a whole vault of a version that this program reads.
    pub fn open(path: &Path) -> Result<Self, VaultError> {
        Ok(Self { path: path.to_owned(), file: storage::read(path)?, open: None })
    }

    /// Derives the key and opens the contents as they are on disk now. Blocks for the time that the
    /// derivation takes. An unlocked vault stays so if this fails.
    ///
    /// # Errors
    /// When the passphrase is wrong, or the file was damaged or altered.
    pub fn unlock(&mut self, passphrase: &Secret) -> Result<(), VaultError> {
        let file = storage::read(&self.path)?;
        let kek = file.kdf.derive(passphrase, &file.salt)?;
        if !DataKey::is_right(&kek, &file.check) {
            return Err(VaultError::WrongPassphrase { path: self.path.clone() });
        }
        let key = DataKey::unwrap(&kek, &file.data_key).ok_or_else(|| self.corrupt("its data key"))?;
        let contents = self.verified(&file, &key)?;
        self.open = Some(Open { key, contents });
        self.file = file;
        Ok(())
    }

    /// Forgets the keys.
    pub fn lock(&mut self) {
        self.open = None;
    }

    /// Whether the data key is in memory. See also [`Vault::latched`].
    #[must_use]
    pub const fn state(&self) -> State {
        match self.open {
            Some(_) => State::Unlocked,
            None => State::Locked,
        }
    }

    /// Whether the operator's durable mark is set: then every use is refused, also when unlocked.
    #[must_use]
    pub const fn latched(&self) -> bool {
        matches!(self.file.latch, Latch::Set)
    }

    /// Sets or clears the operator's durable mark. Setting needs no passphrase and keeps the state.
    ///
    /// # Errors
    /// When the mark is to be cleared while locked, or the file can't be read or written.
    pub fn set_latch(&mut self, locked: bool) -> Result<(), VaultError> {
        let _exclusive = Exclusive::take(&self.path)?;
        let mut file = storage::read(&self.path)?;
        let contents = match &self.open {
            Some(open) => Some(self.verified(&file, &open.key)?),
            None => None,
        };
        file.latch = match (&self.open, locked) {
            (_, true) => Latch::Set,
            (Some(open), false) => clear_latch(&file, &open.key)?,
            (None, false) => return Err(VaultError::Locked),
        };
        storage::write(&self.path, &file, Target::Existing)?;
        self.file = file;
        if let (Some(open), Some(contents)) = (&mut self.open, contents) {
            open.contents = contents;
        }
        Ok(())
    }

    /// Takes over what another process wrote since: changed secrets and the operator's mark.
    ///
    /// # Errors
    /// When the file can't be read, was altered, or went back to an older state.
    pub fn refresh(&mut self) -> Result<(), VaultError> {
        let file = storage::read(&self.path)?;
        if file == self.file {
            return Ok(());
        }
        if let Some(open) = &self.open {
            let contents = self.verified(&file, &open.key)?;
            if let Some(open) = &mut self.open {
                open.contents = contents;
            }
        }
        self.file = file;
        Ok(())
    }

    /// Stores a new secret and returns its version: 1, or one more than a removed secret of this name
    /// had, since a version never comes to mean another value.
    ///
    /// # Errors
    /// When locked, the name exists, the value is too short or too long, no use is allowed, or the
    /// file can't be replaced.
    pub fn set(
        &mut self,
        name: &Name,
        value: Secret,
        uses: Uses,
        now: UnixMillis,
    ) -> Result<u32, VaultError> {
        self.change(|key, contents| contents.set(key, name, &value, uses, now))
    }

    /// Stores a new version of an existing secret and returns it. Older versions stay usable for what
    /// is pinned to them.
    ///
    /// # Errors
    /// When locked, there is no such secret, the value is too short or too long, or the file can't be
    /// replaced.
    pub fn rotate(&mut self, name: &Name, value: Secret, now: UnixMillis) -> Result<u32, VaultError> {
        self.change(|key, contents| contents.rotate(key, name, &value, now))
    }

    /// Removes a secret with all its versions.
    ///
    /// # Errors
    /// When locked, there is no such secret, or the file can't be replaced.
    pub fn remove(&mut self, name: &Name) -> Result<(), VaultError> {
        self.change(|_, contents| contents.remove(name))
    }

    /// Says to whom the audit log is sealed, once in the vault's life. The same again changes nothing.
    ///
    /// # Errors
    /// When locked, it is no age X25519 recipient, another one is set, or the file can't be replaced.
    pub fn set_audit_recipient(&mut self, recipient: &str) -> Result<(), VaultError> {
        self.change(|_, contents| contents.set_audit_recipient(recipient))
    }

    /// Has another key sign the audit log, and returns its number. The journal hands over to it, by the old
    /// key's hand, with the first commit after it is opened again.
    ///
    /// # Errors
    /// When locked, the log has no recipient yet, or the file can't be replaced.
    pub fn rotate_audit_key(&mut self) -> Result<u32, VaultError> {
        self.change(|_, contents| contents.rotate_audit_key())
    }

    /// The secrets without their values, by name.
    ///
    /// # Errors
    /// When locked.
    pub fn list(&self) -> Result<Vec<SecretInfo>, VaultError> {
        self.open.as_ref().map(|open| open.contents.list()).ok_or(VaultError::Locked)
    }

    /// Hands out a secret for one use, if the secret itself allows that use: one of the two keys; the
    /// connection's is the caller's to check. None as version means the newest.
    ///
    /// # Errors
    /// See [`CredentialError`]; the first cause that applies, in its order.
    pub fn credential(
        &self,
        name: &Name,
        version: Option<u32>,
        wanted: &Use<'_>,
    ) -> Result<Credential, CredentialError> {
        let open = match &self.open {
            Some(open) if !self.latched() => open,
            Some(_) | None => return Err(CredentialError::Locked),
        };
        let (uses, value) = open.contents.find(name, version)?;
        if !uses.permits_mode(wanted) {
            return Err(CredentialError::ModeNotPermitted);
        }
        if !uses.permits_destination(wanted) {
            return Err(CredentialError::DestinationNotPermitted);
        }
        let secret = value.open(&open.key).ok_or(CredentialError::Undecryptable)?;
        Ok(Credential { version: value.version, secret })
    }

    /// The newest version of a secret; none when locked or absent. Says nothing about its uses.
    #[must_use]
    pub fn newest_version(&self, name: &Name) -> Option<u32> {
        let open = self.open.as_ref()?;
        open.contents.find(name, None).ok().map(|(_, value)| value.version)
    }

    /// The host's own keys.
    ///
    /// # Errors
    /// When locked.
    pub fn keys(&self) -> Result<HostKeys, VaultError> {
        let Open { key, contents } = self.open.as_ref().ok_or(VaultError::Locked)?;
        let token = Zeroizing::new(data_encoding::BASE32_NOPAD.encode(&*key.subkey(Purpose::Operator)));
        let (audit_recipient, audit_keys) = contents.audit();
        Ok(HostKeys {
            event_mac: key.subkey(Purpose::Events),
            cache_mac: key.subkey(Purpose::Cache),
            registry_mac: key.subkey(Purpose::Registry),
            operator_credential: Secret::new(format!("ppo-{}", token.to_ascii_lowercase()).into_bytes()),
            seal_recipient: self.file.recipient.clone(),
            seal_identity: contents.identity(key).ok_or_else(|| self.corrupt("its identity"))?,
            audit_seeds: (1..=audit_keys).map(|number| key.audit_seed(number)).collect(),
            audit_recipient: audit_recipient.map(str::to_owned),
        })
    }

    /// The age recipient (`age1…`) of bodies, also while locked. While locked it is
    /// what the file says; unlocking proves it.
    #[must_use]
    pub fn seal_recipient(&self) -> &str {
        &self.file.recipient
    }

    fn corrupt(&self, what: &'static str) -> VaultError {
        VaultError::Corrupt { path: self.path.clone(), what }
    }

    /// Opens a file's contents and checks everything that is authenticated.
    fn verified(&self, file: &VaultFile, key: &DataKey) -> Result<Contents, VaultError> {
        let aad = file.header();
        let plain = seal::open(&key.subkey(Purpose::Contents), &file.contents, aad.as_bytes())
            .ok_or_else(|| self.corrupt("its contents"))?;
        let contents: Contents = serde_json::from_slice(&plain).map_err(|_| self.corrupt("its contents"))?;
        if let Latch::Clear(proof) = &file.latch {
            seal::open(&key.subkey(Purpose::Latch), &proof.0, file.latch_place().as_bytes())
                .ok_or_else(|| self.corrupt("the operator's mark"))?;
        }
        match &self.open {
            Some(open) if contents.revision < open.contents.revision => {
                Err(VaultError::WentBack { path: self.path.clone() })
            }
            Some(_) | None => Ok(contents),
        }
    }

    /// Reads the newest state, changes it and replaces the file, alone. What is in memory changes
    /// only after the file did.
    fn change<T>(
        &mut self,
        change: impl FnOnce(&DataKey, &mut Contents) -> Result<T, VaultError>,
    ) -> Result<T, VaultError> {
        let open = self.open.as_ref().ok_or(VaultError::Locked)?;
        let _exclusive = Exclusive::take(&self.path)?;
        let mut file = storage::read(&self.path)?;
        let mut contents = self.verified(&file, &open.key)?;
        let answer = change(&open.key, &mut contents)?;
        contents.revision += 1;
        file.contents = seal_contents(&file, &open.key, &contents)?;
        if let Latch::Clear(_) = file.latch {
            file.latch = clear_latch(&file, &open.key)?;
        }
        storage::write(&self.path, &file, Target::Existing)?;
        self.file = file;
        if let Some(open) = &mut self.open {
            open.contents = contents;
        }
        Ok(answer)
    }
}

fn seal_contents(file: &VaultFile, key: &DataKey, contents: &Contents) -> Result<Vec<u8>, VaultError> {
    let plain = Zeroizing::new(serde_json::to_vec(contents).map_err(|_| VaultError::Full)?);
    seal::seal(&key.subkey(Purpose::Contents), &plain, file.header().as_bytes())
}

/// The proof that whoever cleared the mark had the key. It holds for these contents only.
fn clear_latch(file: &VaultFile, key: &DataKey) -> Result<Latch, VaultError> {
    seal::seal(&key.subkey(Purpose::Latch), b"", file.latch_place().as_bytes())
        .map(|proof| Latch::Clear(Base64(proof)))
}
