//! A home for each guest, made once in a process: approving and compiling a module takes longer than
//! most tests. A rig's home is a copy.

use super::{cheap, passphrase};
use proofport_broker::{Clock as _, SystemClock};
use proofport_core::digest::Digest;
use proofport_core::manifest::Manifest;
use proofport_gateway::home::Home;
use proofport_gateway::registry::Registry;
use proofport_sandbox::{Limits, Sandbox};
use proofport_vault::Vault;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::{Mutex, OnceCell};

/// A home with one approved and compiled guest and no connection.
pub(super) struct Template {
    dir: tempfile::TempDir,
    /// The guest's module.
    pub(super) digest: Digest,
    /// What the guest declares.
    pub(super) manifest: Manifest,
}

type Made = Mutex<HashMap<&'static str, Arc<OnceCell<Arc<Template>>>>>;

/// The template of this guest.
pub(super) async fn of(guest: &'static str) -> Arc<Template> {
    static MADE: std::sync::OnceLock<Made> = std::sync::OnceLock::new();
    let cell = Arc::clone(MADE.get_or_init(Made::default).lock().await.entry(guest).or_default());
    Arc::clone(cell.get_or_init(|| async { Arc::new(make(guest).await) }).await)
}

async fn make(guest: &str) -> Template {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::create(dir.path().join("home")).unwrap();
    let vault = Vault::create(&home.vault(), &passphrase(), cheap()).unwrap();
    let keys = vault.keys().unwrap();
    let module = crate::guests::guest(guest);
    let sandbox = Sandbox::new(Some(&home.cache()), keys.cache_mac, Limits::default()).unwrap();
    let connector = sandbox.load(&module).unwrap();
    let manifest = connector.describe("{}").await.unwrap().value;
    let mut registry = Registry::open(home.connectors(), keys.registry_mac).unwrap();
    registry.approve(&module, manifest.clone(), SystemClock.now()).unwrap();
    Template { dir, digest: connector.digest(), manifest }
}

impl Template {
    /// A home of the same keys and connector.
    pub(super) fn copy_to(&self, path: &Path) {
        Home::create(path).unwrap();
        copy(&self.dir.path().join("home"), path);
    }
}

/// Copies what is in `from` into `to`.
pub(super) fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            std::fs::create_dir_all(&target).unwrap();
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
