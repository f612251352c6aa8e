//! Homes whose connection is written out, for whatever [`Wanted`](super::Wanted) has no words for.

use super::{Rig, name, passphrase, template};
use proofport_broker::{Clock as _, NoProbe, SystemClock};
use proofport_core::contract::InjectionMode;
use proofport_core::secret::Secret;
use proofport_gateway::home::Home;
use proofport_vault::{Destination, Uses, Vault};
use std::sync::Arc;

/// A secret of such a home.
#[derive(Clone, Copy, Debug)]
pub struct Stored<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its value.
    pub value: &'a str,
    /// Where it may go.
    pub destination: &'a str,
    /// How it may be used.
    pub mode: InjectionMode,
}

impl Rig {
    /// A home with these secrets and this text as its `proofport.toml`, in which `DIGEST` stands for the
    /// guest's.
    ///
    /// # Panics
    /// When anything about it fails.
    pub async fn declared(guest: &'static str, secrets: &[Stored<'_>], toml: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("home");
        let template = template::of(guest).await;
        template.copy_to(&path);
        let home = Home::at(&path).unwrap();
        let mut vault = Vault::open(&home.vault()).unwrap();
        vault.unlock(&passphrase()).unwrap();
        for secret in secrets {
            let destinations = vec![Destination::parse(secret.destination).unwrap()];
            let uses = Uses { destinations, modes: vec![secret.mode] };
            let value = Secret::new(secret.value.as_bytes().to_vec());
            vault.set(&name(secret.name), value, uses, SystemClock.now()).unwrap();
        }
        std::fs::write(home.config(), toml.replace("DIGEST", &template.digest.to_string())).unwrap();
        Self { dir, clock: Arc::new(SystemClock), probe: Arc::new(NoProbe) }
    }
}
