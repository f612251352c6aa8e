//! What logs in. Reading a key takes as long as its owner chose for decrypting it, so that it is read where
//! it may block, and kept.

use crate::ask::Handed;
use crate::connection::{Connection, Place};
use crate::refuse;
use crate::run::Run;
use proofport_core::decide::Input;
use proofport_core::event::CredentialRefusal;
use proofport_core::exchange::Request;
use proofport_core::id::Name;
use proofport_egress::ssh::{InvalidSshCredential, JumpHost, SshCredential};
use proofport_vault::{Destination, Use};
use std::sync::{Arc, PoisonError};

impl Run {
    /// The credential for this exec, ready to log in.
    pub(super) async fn login_for(
        &mut self,
        connection: &Connection,
        request: &Request,
    ) -> Result<Arc<SshCredential>, Box<Input>> {
        match self.pinned(connection, request)? {
            Some((_, handed)) => self.login(handed).await,
            // Nobody logs in as nobody: the connector named no slot.
            None => Err(Box::new(refuse::credential(None, None, CredentialRefusal::SlotUnbound))),
        }
    }

    /// The connection's jump host, with what logs in there.
    pub(super) async fn jump(&mut self, connection: &Connection) -> Result<Option<JumpHost>, Box<Input>> {
        let jump = connection.ssh.as_ref().and_then(|ssh| ssh.jump.as_ref());
        let Some(jump) = jump else { return Ok(None) };
        let destination = Destination::ssh(&jump.host);
        let handed = {
            let vault = self.inner.vault.read().unwrap_or_else(PoisonError::into_inner);
            let used = Use { destination: &destination, mode: jump.place.mode() };
            vault.credential(&jump.secret, None, &used)
        };
        let refused = |error| Box::new(refuse::vault(None, Some(jump.secret.clone()), error));
        let secret = handed.map_err(refused)?.secret;
        let handed =
            Handed { slot: None, named: jump.secret.clone(), place: jump.place.clone(), secret, destination };
        let credential = self.login(handed).await?;
        self.guard_against(credential.guard());
        Ok(Some(JumpHost {
            host: jump.host.clone(),
            host_keys: jump.host_keys.clone(),
            addresses: jump.addresses.clone(),
            credential,
            resolves: jump.resolves,
        }))
    }

    /// Reads what was handed out, unless it was read before, and asks whether its time is now.
    pub(crate) async fn login(&mut self, handed: Handed) -> Result<Arc<SshCredential>, Box<Input>> {
        let passphrase = self.passphrase(&handed)?;
        let Handed { slot, named, place, secret, destination: _ } = handed;
        let refuse = |refusal| Box::new(refuse::credential(slot.clone(), Some(named.clone()), refusal));
        let inner = Arc::clone(&self.inner);
        let read =
            tokio::task::spawn_blocking(move || inner.prepared.login(&place, secret, passphrase)).await;
        let credential = match read {
            Ok(Ok(credential)) => credential,
            Ok(Err(invalid)) => return Err(refuse(refusal(invalid))),
            Err(_) => return Err(refuse(CredentialRefusal::Unusable)),
        };
        credential.check_time(self.inner.now()).map_err(|invalid| refuse(refusal(invalid)))?;
        Ok(credential)
    }

    /// What decrypts the key. It is a secret of its own and must permit the same use.
    fn passphrase(&self, handed: &Handed) -> Result<Option<proofport_core::secret::Secret>, Box<Input>> {
        let Some(name) = passphrase_of(&handed.place) else { return Ok(None) };
        let used = Use { destination: &handed.destination, mode: handed.place.mode() };
        let found = {
            let vault = self.inner.vault.read().unwrap_or_else(PoisonError::into_inner);
            vault.credential(name, None, &used)
        };
        match found {
            Ok(found) => Ok(Some(found.secret)),
            Err(error) => Err(Box::new(refuse::vault(handed.slot.clone(), Some(name.clone()), error))),
        }
    }
}

const fn passphrase_of(place: &Place) -> Option<&Name> {
    match place {
        Place::SshKey { passphrase, .. } => passphrase.as_ref(),
        Place::SshPassword
        | Place::SshKeyboardInteractive
        | Place::Bearer
        | Place::Basic { .. }
        | Place::Header { .. }
        | Place::Query { .. }
        | Place::SigV4 { .. }
        | Place::ClientCertificate => None,
    }
}

/// What operators are told. Callers learn the code alone.
const fn refusal(invalid: InvalidSshCredential) -> CredentialRefusal {
    match invalid {
        InvalidSshCredential::NotOpenSsh | InvalidSshCredential::Unreadable | InvalidSshCredential::Kind => {
            CredentialRefusal::UnreadableKey
        }
        InvalidSshCredential::PassphraseMissing | InvalidSshCredential::PassphraseWrong => {
            CredentialRefusal::WrongPassphrase
        }
        InvalidSshCredential::Certificate
        | InvalidSshCredential::NotForUsers
        | InvalidSshCredential::OtherKey => CredentialRefusal::WrongCertificate,
        InvalidSshCredential::NotYetValid | InvalidSshCredential::Expired => {
            CredentialRefusal::CertificateTime
        }
        InvalidSshCredential::TooShort | InvalidSshCredential::TooLong | InvalidSshCredential::NotText => {
            CredentialRefusal::Unusable
        }
    }
}
