//! An opened home: what a call, and every operator's command that reads the record, works on.

use crate::audit::{self, AuditIdentityError};
use crate::bind::{BindError, bind};
use crate::check::check;
use crate::config::{Config, Problem, SessionsConfig, Store};
use crate::home::{Home, HomeError};
use crate::registry::{Registry, RegistryError};
use proofport_broker::{
    Broker, Clock, Entropy, NoProbe, Parts, Probe, StartError, SystemClock, SystemEntropy,
};
use proofport_core::event::{Event, HostEvent};
use proofport_core::id::Name;
use proofport_core::secret::Secret;
use proofport_egress::HttpEgress;
use proofport_egress::ssh::SshEgress;
use proofport_journal::{AuditKeys, Batch, FatalHook, Journal, JournalError, JournalKeys, Options};
use proofport_sandbox::{Figures as SandboxFigures, Limits, Sandbox, SandboxError};
use proofport_vault::{Vault, VaultError};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

/// Which connections are made ready. Loading a connector costs time, so a single call takes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Connections {
    /// None: for commands that only read the record.
    None,
    /// This one, if it is declared.
    One(Name),
    /// Every declared one.
    All,
}

/// How a home is opened.
pub struct OpenOptions {
    /// Which connections are made ready.
    pub connections: Connections,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
    /// A test's watch.
    pub probe: Arc<dyn Probe>,
    /// What a connector may use.
    pub sandbox: Limits,
    /// What ends the process when a commit fails.
    pub on_fatal: FatalHook,
}

impl OpenOptions {
    /// The program's own: the system's clock and randomness, no watch, the process exits on a failed
    /// commit.
    #[must_use]
    pub fn program(connections: Connections) -> Self {
        Self {
            connections,
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
            probe: Arc::new(NoProbe),
            sandbox: Limits::default(),
            on_fatal: FatalHook::exit(),
        }
    }
}

/// A home can't be opened.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The directory.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// The vault.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// The file of the identity that opens the audit log.
    #[error(transparent)]
    AuditIdentity(#[from] AuditIdentityError),
    /// The journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The record.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The approved connectors.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The sandbox.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The connections, with every mistake that was found.
    #[error("proofport.toml has {} that must be mended first", problems_text(.0.len()))]
    Config(Vec<Problem>),
    /// A connection that passed its checks can't be made ready.
    #[error("the connection `{name}` can't be used: {source}")]
    Bind {
        /// Which.
        name: Name,
        /// Why.
        source: BindError,
    },
}

fn problems_text(count: usize) -> String {
    if count == 1 { "a mistake".to_owned() } else { format!("{count} mistakes") }
}

/// An opened home. One at a time: the journal is locked.
pub struct Host {
    home: Home,
    vault: Arc<RwLock<Vault>>,
    broker: Broker,
    new_audit_identity: Option<PathBuf>,
    sandbox: Arc<SandboxFigures>,
}

impl Host {
    /// Unlocks the vault, opens the journal, makes connections ready and settles what an earlier
    /// process left open as unknown. Nothing is sent.
    ///
    /// # Errors
    /// See [`HostError`]; each names the file and what to do.
    pub async fn open(home: Home, passphrase: &Secret, options: OpenOptions) -> Result<Self, HostError> {
        let mut vault = Vault::open(&home.vault())?;
        vault.unlock(passphrase)?;
        Self::open_unlocked(home, vault, options).await
    }

    /// The same with a vault that is unlocked already.
    ///
    /// # Errors
    /// See [`HostError`].
    pub async fn open_unlocked(
        home: Home,
        mut vault: Vault,
        options: OpenOptions,
    ) -> Result<Self, HostError> {
        let new_audit_identity = audit::complete(&mut vault, &home)?;
        let keys = vault.keys()?;
        // Set a line ago where it was not before.
        let recipient = keys.audit_recipient.ok_or(VaultError::NoAuditRecipient)?;
        // A mistake in the file is reported where connections are made ready; the record can be read
        // without, and what is kept in reserve stays as it was found.
        let store = Config::load_or_empty(&home.config()).map_or_else(
            |_| Store { reserve_bytes: Journal::reserved(&home.journal()), ..Store::default() },
            |config| config.store,
        );
        let journal = Journal::open(
            &home.journal(),
            JournalKeys {
                event_mac: keys.event_mac,
                seal_recipient: keys.seal_recipient,
                seal_identity: Some(keys.seal_identity),
                audit: AuditKeys { seeds: keys.audit_seeds, recipient },
            },
            Options {
                on_fatal: options.on_fatal,
                reserve_bytes: store.reserve_bytes,
                max_content_bytes_total: store.contents_bytes,
                ..Options::default()
            },
        )?;
        let (connections, sandbox) = match &options.connections {
            Connections::None => Default::default(),
            Connections::One(_) | Connections::All => {
                let registry = Registry::open(home.connectors(), keys.registry_mac)?;
                let sandbox = Sandbox::new(Some(&home.cache()), keys.cache_mac, options.sandbox)?;
                let figures = sandbox.figures();
                (ready(&home, &vault, &registry, &sandbox, &options.connections).await?, figures)
            }
        };
        let vault = Arc::new(RwLock::new(vault));
        let broker = Broker::start(Parts {
            journal,
            vault: Arc::clone(&vault),
            egress: HttpEgress::new(),
            ssh_egress: SshEgress::new(),
            connections,
            clock: options.clock,
            entropy: options.entropy,
            probe: options.probe,
        })
        .await?;
        if options.connections != Connections::None {
            // What can't be removed now is in nobody's way.
            if let Err(error) = broker.sweep_contents(store.keep()) {
                tracing::error!(%error, "stored contents past their time could not be removed");
            }
        }
        Ok(Self { home, vault, broker, sandbox, new_audit_identity })
    }

    /// The home.
    #[must_use]
    pub const fn home(&self) -> &Home {
        &self.home
    }

    /// The file with the identity that opens the audit log, if this home was older than the log and got it when it
    /// was opened: its operator should be told.
    #[must_use]
    pub fn new_audit_identity(&self) -> Option<&Path> {
        self.new_audit_identity.as_deref()
    }

    /// The vault.
    #[must_use]
    pub const fn vault(&self) -> &Arc<RwLock<Vault>> {
        &self.vault
    }

    /// What carries out calls.
    #[must_use]
    pub const fn broker(&self) -> &Broker {
        &self.broker
    }

    /// What the sandbox of its connectors counts.
    #[must_use]
    pub fn sandbox_figures(&self) -> &SandboxFigures {
        &self.sandbox
    }

    /// Puts a fact about the host on record.
    ///
    /// # Errors
    /// When the journal can't be written.
    pub async fn record(&self, event: HostEvent) -> Result<(), JournalError> {
        let kind = event.kind();
        let batch = Batch {
            invocation: None,
            at: self.broker.now(),
            events: vec![Event::Host(event)],
            bodies: Vec::new(),
            intents: Vec::new(),
            open: None,
            tally: None,
        };
        self.broker.journal().append(batch).await?;
        self.broker.figures().recorded(kind);
        Ok(())
    }

    /// Writes what rides along and lets go of the home.
    ///
    /// # Errors
    /// When the journal can't be written.
    pub fn close(self) -> Result<(), JournalError> {
        self.broker.journal().clone().close()
    }
}

/// The wanted connections, checked and loaded.
async fn ready(
    home: &Home,
    vault: &Vault,
    registry: &Registry,
    sandbox: &Sandbox,
    wanted: &Connections,
) -> Result<HashMap<Name, Arc<proofport_broker::Connection>>, HostError> {
    let mut config = Config::load_or_empty(&home.config()).map_err(HostError::Config)?;
    config.connections.retain(|name, _| match wanted {
        Connections::None => false,
        Connections::One(one) => one == name,
        Connections::All => true,
    });
    if *wanted != Connections::All {
        // No agent comes to a host for a single call.
        config.sessions = SessionsConfig::default();
    }
    let problems = check(&config, registry, Some(vault));
    if !problems.is_empty() {
        return Err(HostError::Config(problems));
    }
    let mut connections = HashMap::new();
    for (name, declared) in &config.connections {
        let connection = bind(declared, registry, sandbox)
            .await
            .map_err(|source| HostError::Bind { name: name.clone(), source })?;
        connections.insert(name.clone(), Arc::new(connection));
    }
    Ok(connections)
}
