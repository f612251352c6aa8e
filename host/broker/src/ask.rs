//! Asking the vault: two keys, the connection's and the secret's, must both turn.

use crate::connection::Connection;
use crate::refuse;
use crate::run::Run;
use proofport_core::decide::Input;
use proofport_core::event::{CredentialRefusal, CredentialUse};
use proofport_core::exchange::Request;
use proofport_core::id::Name;
use proofport_core::origin::Origin;
use proofport_core::verdict::Step;
use proofport_egress::{Credential, Guard};
use proofport_vault::{Destination, Use};
use std::sync::{Arc, PoisonError};

/// A credential that this invocation may use: one slot, one secret, one version, for the whole of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Authorized {
    pub(crate) slot: Name,
    pub(crate) secret: Name,
    pub(crate) version: u32,
}

/// The secret of an earlier dispatch is not to be had any more.
pub(crate) struct NotRecognised;

impl Run {
    /// Pins the credential. It is asked for the first request's destination, and asked again for
    /// every other.
    pub(crate) fn authorize(&mut self) -> Input {
        let Some(connection) = self.scratch.connection.clone() else {
            return refuse::breach("no connection");
        };
        let (slot, origin) = match &self.scratch.step {
            Some(Step::Send(send)) => (send.request.credential().cloned(), origin(&send.request)),
            Some(Step::Settle(_) | Step::Refuse(_)) | None => (None, None),
        };
        let none = CredentialUse { secret: None, version: None, mode: None };
        // A first request without a credential may be followed by one with the only slot there is.
        let only = match connection.manifest.credential_slots.as_slice() {
            [only] => Some(only.name.clone()).filter(|name| connection.credentials.contains_key(name)),
            _ => None,
        };
        let named = slot.is_some();
        let Some(slot) = slot.or(only) else { return Input::Authorized(none) };
        let origin = origin.or_else(|| connection.origins.first().cloned());
        let Some(origin) = origin else { return Input::Authorized(none) };
        match self.credential(&connection, &slot, &origin, None) {
            Ok((authorized, _)) => {
                let mode = connection.credentials.get(&slot).map(|binding| binding.place.mode());
                let used = CredentialUse {
                    secret: Some(authorized.secret.clone()),
                    version: Some(authorized.version),
                    mode,
                };
                self.scratch.credential = Some(authorized);
                Input::Authorized(used)
            }
            Err(refusal) if named => *refusal,
            // Nothing has asked for it yet; whatever does will be told.
            Err(_) => Input::Authorized(none),
        }
    }

    /// For a reconciliation's query: the newest version of what its slot is bound to now.
    pub(crate) fn pin_newest_credential(&mut self, connection: &Connection, request: &Request) {
        let (Some(slot), Some(origin)) = (request.credential(), origin(request)) else { return };
        if self.scratch.credential.is_none()
            && let Ok((authorized, _)) = self.credential(connection, slot, &origin, None)
        {
            self.scratch.credential = Some(authorized);
        }
    }

    /// What recognises the secret that was injected at dispatch; none if none was.
    pub(crate) fn dispatched_guard(
        &self,
        connection: &Connection,
    ) -> Result<Option<Arc<Guard>>, NotRecognised> {
        let Some(used) = &self.state.credential else { return Ok(None) };
        let (Some(secret), Some(version)) = (&used.secret, used.version) else { return Ok(None) };
        let bound = connection.credentials.iter().find(|(_, binding)| binding.secret == *secret);
        let (slot, _) = bound.ok_or(NotRecognised)?;
        let origin = connection.origins.first().ok_or(NotRecognised)?;
        let found = self.credential(connection, slot, origin, Some(version));
        found.map(|(_, credential)| Some(credential.guard())).map_err(|_| NotRecognised)
    }

    /// The credential for this request, ready to be attached; none where the request names no slot.
    pub(crate) fn credential_for(
        &self,
        connection: &Connection,
        request: &Request,
    ) -> Result<Option<Arc<Credential>>, Box<Input>> {
        let (Some(slot), Some(origin)) = (request.credential(), origin(request)) else { return Ok(None) };
        match &self.scratch.credential {
            Some(pinned) if pinned.slot == *slot => self
                .credential(connection, slot, &origin, Some(pinned.version))
                .map(|(_, credential)| Some(credential)),
            // The record names one credential for the invocation; a second would be unrecorded.
            Some(_) => Err(Box::new(refuse::breach("a second credential slot in one call"))),
            None => Err(Box::new(refuse::breach("a credential slot that nothing authorized"))),
        }
    }

    fn credential(
        &self,
        connection: &Connection,
        slot: &Name,
        origin: &Origin,
        version: Option<u32>,
    ) -> Result<(Authorized, Arc<Credential>), Box<Input>> {
        let Some(binding) = connection.credentials.get(slot) else {
            return Err(Box::new(refuse::credential(
                Some(slot.clone()),
                None,
                CredentialRefusal::SlotUnbound,
            )));
        };
        let mode = binding.place.mode();
        let secret = || Some(binding.secret.clone());
        let supported = connection.manifest.slot(slot).is_some_and(|declared| declared.modes.contains(&mode));
        if !supported {
            let refusal = CredentialRefusal::ModeNotPermitted;
            return Err(Box::new(refuse::credential(Some(slot.clone()), secret(), refusal)));
        }
        let destination = Destination::Origin(origin.clone());
        let handed = {
            let vault = self.inner.vault.read().unwrap_or_else(PoisonError::into_inner);
            vault.credential(&binding.secret, version, &Use { destination: &destination, mode })
        };
        let handed = handed.map_err(|error| Box::new(refuse::vault(Some(slot.clone()), secret(), error)))?;
        let credential = self.inner.prepared.get(&binding.place, handed.secret).map_err(|_| {
            Box::new(refuse::credential(Some(slot.clone()), secret(), CredentialRefusal::Unusable))
        })?;
        let authorized =
            Authorized { slot: slot.clone(), secret: binding.secret.clone(), version: handed.version };
        Ok((authorized, credential))
    }
}

fn origin(request: &Request) -> Option<Origin> {
    match request {
        Request::Http(request) => Some(request.origin.clone()),
        Request::Ssh(_) => None,
    }
}
