//! Asking the vault: two keys, the connection's and the secret's, must both turn.

use crate::connection::{Connection, Place};
use crate::refuse;
use crate::run::Run;
use proofport_core::decide::Input;
use proofport_core::event::{CredentialRefusal, CredentialUse};
use proofport_core::exchange::Request;
use proofport_core::id::Name;
use proofport_core::secret::Secret;
use proofport_core::ssh::SshHost;
use proofport_core::verdict::Step;
use proofport_egress::ssh::SshCredential;
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

/// A secret that the vault handed out for one use, not yet read.
pub(crate) struct Handed {
    /// The connector's slot; none: the use is the host's own.
    pub(crate) slot: Option<Name>,
    /// The secret's name.
    pub(crate) named: Name,
    pub(crate) place: Place,
    pub(crate) secret: Secret,
    /// What it was handed out for.
    pub(crate) destination: Destination,
}

/// What recognises the secret, once it is read.
enum Read {
    Http(Arc<Credential>),
    Ssh(Arc<SshCredential>),
}

impl Run {
    /// Pins the credential. It is asked for the first request's destination, and asked again for
    /// every other.
    pub(crate) async fn authorize(&mut self) -> Input {
        let Some(connection) = self.scratch.connection.clone() else {
            return refuse::breach("no connection");
        };
        let (slot, destination) = match &self.scratch.step {
            Some(Step::Send(send)) => (send.request.credential().cloned(), destination(&send.request)),
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
        let Some(destination) = destination.or_else(|| usual_destination(&connection, &slot)) else {
            return Input::Authorized(none);
        };
        // What is sent again stays pinned to the version that it was sent with.
        let pinned = self.taken_over().and_then(|continues| continues.credential.as_ref()?.version);
        let authorized = match self.permitted(&connection, &slot, destination, pinned) {
            // What can't be read is told here, before anything is dialled.
            Ok((authorized, handed)) => self.read(handed).await.map(|_| authorized),
            Err(refusal) => Err(refusal),
        };
        match authorized {
            Ok(authorized) => {
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
        let (Some(slot), Some(destination)) = (request.credential(), destination(request)) else { return };
        if self.scratch.credential.is_none()
            && let Ok((authorized, _)) = self.permitted(connection, slot, destination, None)
        {
            self.scratch.credential = Some(authorized);
        }
    }

    /// What recognises the secret that was injected at dispatch; none if none was.
    pub(crate) async fn dispatched_guard(
        &mut self,
        connection: &Connection,
    ) -> Result<Option<Arc<Guard>>, NotRecognised> {
        let Some(used) = &self.state.credential else { return Ok(None) };
        let (Some(secret), Some(version)) = (&used.secret, used.version) else { return Ok(None) };
        let bound = connection.credentials.iter().find(|(_, binding)| binding.secret == *secret);
        let (slot, _) = bound.ok_or(NotRecognised)?;
        let destination = usual_destination(connection, slot).ok_or(NotRecognised)?;
        let permitted = self.permitted(connection, slot, destination, Some(version));
        let (_, handed) = permitted.map_err(|_| NotRecognised)?;
        match self.read(handed).await.map_err(|_| NotRecognised)? {
            Read::Http(credential) => Ok(Some(credential.guard())),
            Read::Ssh(credential) => Ok(Some(credential.guard())),
        }
    }

    /// The credential for this HTTP request, ready to be attached; none where the request names no slot.
    pub(crate) fn credential_for(
        &self,
        connection: &Connection,
        request: &Request,
    ) -> Result<Option<Arc<Credential>>, Box<Input>> {
        match self.pinned(connection, request)? {
            Some((_, handed)) => self.attach(handed).map(Some),
            None => Ok(None),
        }
    }

    /// The pinned secret, handed out for this request; none where the request names no slot.
    pub(crate) fn pinned(
        &self,
        connection: &Connection,
        request: &Request,
    ) -> Result<Option<(Authorized, Handed)>, Box<Input>> {
        let (Some(slot), Some(destination)) = (request.credential(), destination(request)) else {
            return Ok(None);
        };
        match &self.scratch.credential {
            Some(pinned) if pinned.slot == *slot => {
                self.permitted(connection, slot, destination, Some(pinned.version)).map(Some)
            }
            // The record names one credential for the invocation; a second would be unrecorded.
            Some(_) => Err(Box::new(refuse::breach("a second credential slot in one call"))),
            None => Err(Box::new(refuse::breach("a credential slot that nothing authorized"))),
        }
    }

    /// Asks the vault, and reads nothing.
    fn permitted(
        &self,
        connection: &Connection,
        slot: &Name,
        destination: Destination,
        version: Option<u32>,
    ) -> Result<(Authorized, Handed), Box<Input>> {
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
        let handed = {
            let vault = self.inner.vault.read().unwrap_or_else(PoisonError::into_inner);
            vault.credential(&binding.secret, version, &Use { destination: &destination, mode })
        };
        let handed = handed.map_err(|error| Box::new(refuse::vault(Some(slot.clone()), secret(), error)))?;
        let authorized =
            Authorized { slot: slot.clone(), secret: binding.secret.clone(), version: handed.version };
        let handed = Handed {
            slot: Some(slot.clone()),
            named: binding.secret.clone(),
            place: binding.place.clone(),
            secret: handed.secret,
            destination,
        };
        Ok((authorized, handed))
    }

    async fn read(&mut self, handed: Handed) -> Result<Read, Box<Input>> {
        match handed.destination {
            Destination::Origin(_) => self.attach(handed).map(Read::Http),
            Destination::SshHost(_) => self.login(handed).await.map(Read::Ssh),
        }
    }

    fn attach(&self, handed: Handed) -> Result<Arc<Credential>, Box<Input>> {
        let Handed { slot, named, place, secret, destination: _ } = handed;
        self.inner
            .prepared
            .get(&place, secret)
            .map_err(|_| Box::new(refuse::credential(slot, Some(named), CredentialRefusal::Unusable)))
    }
}

/// Where this request's credential goes.
fn destination(request: &Request) -> Option<Destination> {
    match request {
        Request::Http(request) => Some(Destination::Origin(request.origin.clone())),
        Request::Ssh(request) => {
            let host = request.host.as_deref().and_then(|name| SshHost::parse(name).ok());
            host.as_ref().map(Destination::ssh)
        }
    }
}

/// Where the credential in this slot goes unless a request says otherwise: the connection's first target of
/// its kind.
fn usual_destination(connection: &Connection, slot: &Name) -> Option<Destination> {
    match connection.credentials.get(slot)?.place {
        Place::SshKey { .. } | Place::SshPassword | Place::SshKeyboardInteractive => {
            connection.ssh_hosts().first().map(Destination::ssh)
        }
        Place::Bearer
        | Place::Basic { .. }
        | Place::Header { .. }
        | Place::Query { .. }
        | Place::SigV4 { .. }
        | Place::ClientCertificate => connection.origins.first().cloned().map(Destination::Origin),
    }
}
