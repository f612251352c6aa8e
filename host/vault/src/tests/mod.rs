//! The vault's promises as cases.

mod audit;
mod concurrent;
mod damage;
mod lifecycle;
mod permission;

use crate::{Destination, KdfParams, Use, Uses, Vault};
use proofport_core::contract::InjectionMode;
use proofport_core::id::Name;
use proofport_core::secret::Secret;
use proofport_core::time::UnixMillis;
use std::path::PathBuf;
use tempfile::TempDir;

/// The cheapest derivation that the algorithm takes.
const CHEAP: KdfParams = KdfParams { memory_kib: 8, passes: 1, lanes: 1 };
const PASSPHRASE: &str = "correct horse battery staple";
const CANARY: &str = "canary-7f3a9c41d2e8b605";
const NOW: UnixMillis = UnixMillis(1_700_000_000_000);

/// A folder with one unlocked vault in it.
struct Home {
    _folder: TempDir,
    path: PathBuf,
    vault: Vault,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vault.json");
        let vault = Vault::create(&path, &secret(PASSPHRASE), CHEAP).unwrap();
        Self { _folder: folder, path, vault }
    }

    /// The same file through fresh eyes.
    fn reopened(&self) -> Vault {
        let mut vault = Vault::open(&self.path).unwrap();
        vault.unlock(&secret(PASSPHRASE)).unwrap();
        vault
    }
}

fn secret(text: &str) -> Secret {
    Secret::new(text.as_bytes().to_vec())
}

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn to(text: &str) -> Destination {
    Destination::parse(text).unwrap()
}

fn uses(destinations: &[&str], modes: &[InjectionMode]) -> Uses {
    Uses { destinations: destinations.iter().map(|text| to(text)).collect(), modes: modes.to_vec() }
}

fn bearer() -> Uses {
    uses(&["https://api.example.com"], &[InjectionMode::HttpBearer])
}

/// What a bearer use of the secret reads, or the cause of its refusal.
fn read(vault: &Vault, secret: &str, version: Option<u32>) -> Result<(u32, String), crate::CredentialError> {
    let destination = to("https://api.example.com");
    let wanted = Use { destination: &destination, mode: InjectionMode::HttpBearer };
    let credential = vault.credential(&name(secret), version, &wanted)?;
    Ok((credential.version, String::from_utf8(credential.secret.expose().to_vec()).unwrap()))
}
