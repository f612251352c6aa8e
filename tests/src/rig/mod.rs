//! A real home with one connection, and a host opened on it: everything but the terminal.

mod counting;
mod declared;
mod template;

pub use counting::{Counting, Syncs};
pub use declared::Stored;

use proofport_broker::{
    Authority, Broker, CallRequest, Caller, Clock, Delivery, NoProbe, Parts, Probe, SystemClock,
    SystemEntropy,
};
use proofport_core::envelope::Envelope;
use proofport_core::id::{Name, OperationName, RequestId};
use proofport_core::origin::Origin;
use proofport_core::secret::Secret;
use proofport_egress::HttpEgress;
use proofport_egress::ssh::SshEgress;
use proofport_gateway::bind::bind;
use proofport_gateway::config::Config;
use proofport_gateway::home::Home;
use proofport_gateway::registry::Registry;
use proofport_journal::{AuditKeys, FatalHook, Journal, JournalKeys, Options};
use proofport_sandbox::{Limits, Sandbox};
use proofport_vault::{Destination, KdfParams, Uses, Vault};
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// The secret of every rig: ugly enough to be found in any shape.
pub const CANARY: &str = "cAnary+/=s3cr3t&%20-9f8e7d6c5b4a";

/// The passphrase of every rig.
pub const PASSPHRASE: &str = "correct horse battery staple";

/// The cheapest key derivation there is: tests start many hosts.
#[must_use]
pub fn cheap() -> KdfParams {
    KdfParams { memory_kib: 64, passes: 1, lanes: 1 }
}

/// What a rig's one connection, `c`, is.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The guest's name.
    pub guest: &'static str,
    /// Where it goes.
    pub origin: Origin,
    /// Which slot the secret fills, if any.
    pub slot: Option<&'static str>,
    /// More lines for the connection's table in `proofport.toml`.
    pub more: String,
    /// The secret's value.
    pub secret: String,
    /// Whether people are asked as they are unless the admin says otherwise; else nobody is.
    pub asks: bool,
}

impl Wanted {
    /// A connection of this guest to this origin, with the secret in its slot.
    #[must_use]
    pub fn new(guest: &'static str, origin: Origin, slot: &'static str) -> Self {
        let slot = (!slot.is_empty()).then_some(slot);
        Self { guest, origin, slot, more: String::new(), secret: CANARY.to_owned(), asks: false }
    }

    /// With these lines in `[connections.c.limits]`.
    #[must_use]
    pub fn limits(mut self, lines: &str) -> Self {
        self.more = format!("{}\n[connections.c.limits]\n{lines}\n", self.more);
        self
    }
}

/// A home on disk.
pub struct Rig {
    /// Where it is; removed with the rig.
    pub dir: tempfile::TempDir,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// A watch.
    pub probe: Arc<dyn Probe>,
}

/// A host opened on a rig's home.
pub struct Open {
    /// The broker.
    pub broker: Broker,
    /// The vault.
    pub vault: Arc<RwLock<Vault>>,
    /// What the journal's file saw.
    pub syncs: Syncs,
    /// How long opening the journal took.
    pub journal_took: Duration,
}

impl Rig {
    /// Makes a home with one connection.
    ///
    /// # Panics
    /// When anything about it fails.
    pub async fn new(wanted: &Wanted) -> Self {
        let dir = tempfile::tempdir().unwrap();
        make_home(&dir.path().join("home"), wanted).await;
        Self { dir, clock: Arc::new(SystemClock), probe: Arc::new(NoProbe) }
    }

    /// The home's directory.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// A copy of the home as it is on disk, as a host that is killed there would leave it.
    ///
    /// # Panics
    /// When it can't be made.
    #[must_use]
    pub fn as_if_killed(&self) -> PathBuf {
        let copy = self.dir.path().join("copy");
        Home::create(&copy).unwrap();
        template::copy(&self.home(), &copy);
        copy
    }

    /// Opens a host on the home.
    ///
    /// # Panics
    /// When it can't be opened.
    pub async fn open(&self) -> Open {
        open(&self.home(), Arc::clone(&self.clock), Arc::clone(&self.probe)).await
    }
}

/// Makes a home with one connection at `path`.
///
/// # Panics
/// When anything about it fails.
pub async fn make_home(path: &Path, wanted: &Wanted) {
    let template = template::of(wanted.guest).await;
    template.copy_to(path);
    let home = Home::at(path).unwrap();
    let mut toml = format!(
        "[connections.c]\nconnector = \"{}\"\norigins = [\"{}\"]\naddresses = [\"127.0.0.0/8\"]\n{}",
        template.digest, wanted.origin, wanted.more
    );
    if let Some(slot) = wanted.slot {
        let declared = template.manifest.slot(&name(slot)).expect("the guest has this slot");
        let mode = declared.modes[0];
        let uses = Uses { destinations: vec![Destination::Origin(wanted.origin.clone())], modes: vec![mode] };
        let mut vault = Vault::open(&home.vault()).unwrap();
        vault.unlock(&passphrase()).unwrap();
        let value = Secret::new(wanted.secret.clone().into_bytes());
        vault.set(&name("secret"), value, uses, SystemClock.now()).unwrap();
        toml.push_str(&format!(
            "\n[connections.c.credentials.{slot}]\nsecret = \"secret\"\nmode = \"{mode}\"\n"
        ));
    }
    if !wanted.asks && !wanted.more.contains("[connections.c.approvals]") {
        toml.push_str("\n[connections.c.approvals]\nreads = \"auto\"\nwrites = \"auto\"\n");
    }
    // A test that fails often means to, unless the budget is what it tests.
    if !wanted.more.contains("[connections.c.failures]") {
        toml.push_str("\n[connections.c.failures]\nmost = 1000000\n");
    }
    std::fs::write(home.config(), toml).unwrap();
}

/// Opens a host on a home as the program does, but with the journal's file watched.
///
/// # Panics
/// When it can't be opened.
pub async fn open(home: &Path, clock: Arc<dyn Clock>, probe: Arc<dyn Probe>) -> Open {
    open_as(home, clock, probe, true).await
}

/// The same, with or without syncing. Without is for measuring what syncing costs, and for nothing
/// else.
///
/// # Panics
/// When it can't be opened.
pub async fn open_as(home: &Path, clock: Arc<dyn Clock>, probe: Arc<dyn Probe>, sync: bool) -> Open {
    let home = Home::at(home).unwrap();
    let mut vault = Vault::open(&home.vault()).unwrap();
    vault.unlock(&passphrase()).unwrap();
    let keys = vault.keys().unwrap();
    let syncs = Syncs::default();
    let counted = syncs.clone();
    freed(&home.journal()).await;
    let start = Instant::now();
    let journal = Journal::open_wrapped(
        &home.journal(),
        JournalKeys {
            event_mac: keys.event_mac,
            // A home of the program's has another recipient, whose identity is its operator's.
            audit: AuditKeys {
                seeds: keys.audit_seeds,
                recipient: keys.audit_recipient.unwrap_or_else(|| keys.seal_recipient.clone()),
            },
            seal_recipient: keys.seal_recipient,
            seal_identity: Some(keys.seal_identity),
        },
        Options { on_fatal: FatalHook::exit(), reserve_bytes: 0, ..Options::default() },
        |file| Counting::new(file, counted, sync),
    )
    .unwrap();
    let journal_took = start.elapsed();
    let registry = Registry::open(home.connectors(), keys.registry_mac).unwrap();
    let sandbox = Sandbox::new(Some(&home.cache()), keys.cache_mac, Limits::default()).unwrap();
    let config = Config::load(&home.config()).unwrap_or_else(|problems| panic!("{problems:?}"));
    let problems = proofport_gateway::check::check(&config, &registry, Some(&vault));
    assert!(problems.is_empty(), "{problems:?}");
    let mut connections = HashMap::new();
    for (name, declared) in &config.connections {
        connections.insert(name.clone(), Arc::new(bind(declared, &registry, &sandbox).await.unwrap()));
    }
    let vault = Arc::new(RwLock::new(vault));
    let broker = Broker::start(Parts {
        journal,
        vault: Arc::clone(&vault),
        egress: HttpEgress::new(),
        ssh_egress: SshEgress::new(),
        connections,
        clock,
        entropy: Arc::new(SystemEntropy),
        probe,
    })
    .await
    .unwrap();
    Open { broker, vault, syncs, journal_took }
}

/// Waits until no host has the journal any more. One that was closed has it until the last of its tasks
/// is over, which may be later than what a test waited for.
async fn freed(journal: &Path) {
    let lock = journal.with_extension("redb.lock");
    let Ok(file) = File::options().read(true).write(true).open(&lock) else { return };
    let (say, said) = oneshot::channel();
    // A thread that nothing joins: one that waits in vain must not keep the failed test from ending.
    std::thread::spawn(move || say.send(file.lock().and_then(|()| file.unlock())));
    let locked = tokio::time::timeout(Duration::from_secs(60), said).await;
    locked.expect("another host has the home").expect("the thread waits").expect("the lock can be had");
}

impl Open {
    /// Calls an operation of the connection and confirms the delivery.
    pub async fn call(&self, operation: &str, input: &str) -> Envelope {
        self.call_with(operation, input, None).await
    }

    /// The same with a call key.
    pub async fn call_with(&self, operation: &str, input: &str, key: Option<&str>) -> Envelope {
        let delivery = self.deliver(operation, input, key).await;
        let envelope = delivery.envelope.clone();
        delivery.confirmed();
        envelope
    }

    /// The delivery of a call, not confirmed.
    pub async fn deliver(&self, operation: &str, input: &str, key: Option<&str>) -> Delivery {
        self.broker
            .call(CallRequest {
                operation: OperationName { connection: name("c"), operation: name(operation) },
                input: input.as_bytes().to_vec(),
                call_key: key.map(str::to_owned),
                caller: caller(),
            })
            .await
    }

    /// The stored answer.
    #[must_use]
    pub fn result(&self, id: &RequestId) -> Envelope {
        self.broker.result(id, &caller()).envelope
    }

    /// Closes the journal, so that the home can be opened again.
    ///
    /// # Panics
    /// When what rides along can't be written.
    pub fn close(self) {
        self.broker.journal().clone().close().unwrap();
    }
}

/// Who calls in every rig.
#[must_use]
pub fn caller() -> Caller {
    Caller { principal: "tester".to_owned(), session: "one".to_owned(), authority: Authority::Operator }
}

fn passphrase() -> Secret {
    Secret::new(PASSPHRASE.as_bytes().to_vec())
}

/// The time.
#[must_use]
pub fn now() -> proofport_core::time::UnixMillis {
    SystemClock.now()
}

/// A name that is one.
///
/// # Panics
/// When it is not.
#[must_use]
pub fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}
