//! A connection's proxy, with its credential.

use crate::connection::{Connection, Place, ProxyBinding};
use crate::refuse;
use crate::run::Run;
use proofport_core::contract::InjectionMode;
use proofport_core::decide::Input;
use proofport_core::event::CredentialRefusal;
use proofport_egress::Proxy;
use proofport_vault::{Destination, Use};
use std::sync::PoisonError;

impl Run {
    /// The proxy that exchanges of this connection go through. Its credential is asked for the proxy's
    /// own origin, and recognised in whatever comes back.
    pub(crate) fn proxy(&mut self, connection: &Connection) -> Result<Option<Proxy>, Box<Input>> {
        let Some(binding) = &connection.proxy else { return Ok(None) };
        let ProxyBinding { origin, addresses, resolves, login } = binding;
        let authorization = match login {
            None => None,
            Some((user, secret)) => {
                let named = || Some(secret.clone());
                let destination = Destination::Origin(origin.clone());
                let handed = {
                    let vault = self.inner.vault.read().unwrap_or_else(PoisonError::into_inner);
                    let used = Use { destination: &destination, mode: InjectionMode::HttpBasic };
                    vault.credential(secret, None, &used)
                };
                let handed = handed.map_err(|error| Box::new(refuse::vault(None, named(), error)))?;
                let unusable = || Box::new(refuse::credential(None, named(), CredentialRefusal::Unusable));
                let place = Place::Basic { user: user.clone() };
                let credential = self.inner.prepared.get(&place, handed.secret).map_err(|_| unusable())?;
                self.guard_against(credential.guard());
                let value = credential.header_value().ok_or_else(unusable)?;
                Some((value.clone(), format!("{secret}@{}", handed.version)))
            }
        };
        Ok(Some(Proxy {
            origin: origin.clone(),
            addresses: addresses.clone(),
            resolves: *resolves,
            authorization,
        }))
    }
}
