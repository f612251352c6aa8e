//! Credentials ready to be attached. Building what recognises a secret in answers costs more than a
//! call has, so it is kept as long as the vault is unlocked; whether it may be used is asked each time.

use crate::connection::Place;
use proofport_core::digest::Digest;
use proofport_core::secret::Secret;
use proofport_egress::{Credential, InvalidInjection};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The most that are kept; beyond it all are built anew.
const MOST: usize = 64;

/// Credentials by place and value. A value is known by its digest, which never leaves this process.
#[derive(Default)]
pub(crate) struct Prepared(Mutex<HashMap<(Place, Digest), Arc<Credential>>>);

impl Prepared {
    /// The credential for this secret in this place.
    pub(crate) fn get(&self, place: &Place, secret: Secret) -> Result<Arc<Credential>, InvalidInjection> {
        let key = (place.clone(), Digest::of_bytes(secret.expose()));
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(credential) = kept.get(&key) {
            return Ok(Arc::clone(credential));
        }
        let credential = Arc::new(Credential::new(&place.inject(secret))?);
        if kept.len() >= MOST {
            kept.clear();
        }
        kept.insert(key, Arc::clone(&credential));
        Ok(credential)
    }

    /// Forgets all: the vault is locked.
    pub(crate) fn forget(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
