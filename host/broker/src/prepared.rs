//! Credentials ready to be attached. Building what recognises a secret in answers costs more than a
//! call has, so it is kept as long as the vault is unlocked; whether it may be used is asked each time.

use crate::connection::Place;
use proofport_core::digest::Digest;
use proofport_core::secret::Secret;
use proofport_egress::Credential;
use proofport_egress::ssh::{InvalidSshCredential, SshCredential};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The most that are kept; beyond it all are built anew.
const MOST: usize = 64;

/// Credentials by place and value. A value is known by its digest, which never leaves this process.
#[derive(Default)]
pub(crate) struct Prepared {
    http: Mutex<HashMap<(Place, Digest), Arc<Credential>>>,
    ssh: Mutex<HashMap<Login, Arc<SshCredential>>>,
}

/// A place, a secret and its passphrase.
type Login = (Place, Digest, Option<Digest>);

/// The secret can't stand where it is to be attached.
pub(crate) struct Unusable;

impl Prepared {
    /// The credential for this secret in this place of an HTTP request.
    pub(crate) fn get(&self, place: &Place, secret: Secret) -> Result<Arc<Credential>, Unusable> {
        let key = (place.clone(), Digest::of_bytes(secret.expose()));
        let mut kept = self.http.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(credential) = kept.get(&key) {
            return Ok(Arc::clone(credential));
        }
        let injection = place.inject(secret).ok_or(Unusable)?;
        let credential = Arc::new(Credential::new(&injection).map_err(|_| Unusable)?);
        if kept.len() >= MOST {
            kept.clear();
        }
        kept.insert(key, Arc::clone(&credential));
        Ok(credential)
    }

    /// The credential that logs in over SSH. May take seconds, and nobody else waits for it.
    pub(crate) fn login(
        &self,
        place: &Place,
        secret: Secret,
        passphrase: Option<Secret>,
    ) -> Result<Arc<SshCredential>, InvalidSshCredential> {
        let digest = |secret: &Secret| Digest::of_bytes(secret.expose());
        let key = (place.clone(), digest(&secret), passphrase.as_ref().map(digest));
        let kept = || self.ssh.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(credential) = kept().get(&key) {
            return Ok(Arc::clone(credential));
        }
        let injection = place.login(secret, passphrase).ok_or(InvalidSshCredential::NotText)?;
        let credential = Arc::new(SshCredential::new(&injection)?);
        let mut kept = kept();
        if kept.len() >= MOST {
            kept.clear();
        }
        kept.insert(key, Arc::clone(&credential));
        Ok(credential)
    }

    /// Forgets all: the vault is locked.
    pub(crate) fn forget(&self) {
        self.http.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.ssh.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
