//! Where an operator's command is carried out: at the host that runs on the home, over its operator socket;
//! or, where none runs, on the home itself, which this process opens for as long as the command takes.

use crate::commands::{App, told_of};
use crate::output::Output;
use proofport_core::secret::Secret;
use proofport_gateway::home::Home;
use proofport_gateway::host::{Connections, Host, HostError, OpenOptions};
use proofport_gateway::operator_side::{Ask, Client, ClientError, Desk, Door, Failure};
use proofport_gateway::{Vault, VaultError};

/// Who carries out what is asked for.
pub(crate) enum Operator {
    /// This process.
    Embedded(Box<Desk>),
    /// The host that runs.
    Running(Client),
}

/// What the operator's durable mark means for a command.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Latch {
    /// It uses secrets, so it is refused.
    Refuses,
    /// It only reads the record.
    Ignored,
}

impl Operator {
    /// Asks for something; the answer is the same wherever it is carried out.
    ///
    /// # Errors
    /// When it was not carried out, or a host that ran went away meanwhile.
    pub(crate) async fn ask<A: Ask>(&self, ask: A) -> anyhow::Result<A::Answer> {
        match self {
            Self::Embedded(desk) => Ok(ask.carry_out(desk).await?),
            Self::Running(client) => client.ask(&ask).await.map_err(plain),
        }
    }

    /// This process's own host, if it is that.
    pub(crate) fn embedded(&self) -> Option<&Host> {
        match self {
            Self::Embedded(desk) => Some(desk.host()),
            Self::Running(_) => None,
        }
    }

    /// Lets go of the home.
    ///
    /// # Errors
    /// When what rides along can't be written.
    pub(crate) fn close(self) -> anyhow::Result<()> {
        match self {
            Self::Embedded(desk) => Ok(desk.close()?),
            Self::Running(_) => Ok(()),
        }
    }
}

/// What the host said is not wrapped: who asked an embedded one gets the very same error.
fn plain(error: ClientError) -> anyhow::Error {
    match error {
        ClientError::Failure(failure) => failure.into(),
        ClientError::NotOurs(_) | ClientError::Lost(_) => error.into(),
    }
}

/// What is known before a passphrase is.
pub(crate) struct Proved {
    home: Home,
    door: Option<Door>,
    passphrase: Secret,
}

impl Proved {
    /// The operator; none where the passphrase doesn't unlock the vault, and that was told.
    ///
    /// # Errors
    /// When the home can't be opened.
    pub(crate) async fn operator(
        self,
        out: Output,
        connections: Connections,
    ) -> anyhow::Result<Option<Operator>> {
        let Self { home, door, passphrase } = self;
        if let Some(door) = door {
            return match door.login(&passphrase).await {
                Ok(client) => Ok(Some(Operator::Running(client))),
                Err(ClientError::Failure(failure @ Failure::WrongPassphrase)) => {
                    out.remark(&failure.to_string());
                    Ok(None)
                }
                Err(error) => Err(plain(error)),
            };
        }
        match Host::open(home, &passphrase, OpenOptions::program(connections)).await {
            Ok(host) => {
                told_of(out, &host);
                Ok(Some(Operator::Embedded(Box::new(Desk::embedded(host)))))
            }
            Err(HostError::Vault(
                error @ (VaultError::WrongPassphrase { .. } | VaultError::EmptyPassphrase),
            )) => {
                out.remark(&error.to_string());
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Whether a host runs, which knows its connections.
    pub(crate) const fn is_running(&self) -> bool {
        self.door.is_some()
    }

    /// The same proof once more.
    pub(crate) fn again(&self) -> Self {
        Self { home: self.home.clone(), door: None, passphrase: self.passphrase.duplicate() }
    }
}

impl App {
    /// The operator, proved by the passphrase. Where no host runs, these connections are made ready.
    ///
    /// # Errors
    /// When there is no passphrase or it is wrong, or the home can't be opened.
    pub(crate) async fn operator(&self, connections: Connections) -> anyhow::Result<Operator> {
        match Door::of(&self.home()?).await? {
            Some(door) => self.login(door, &self.passphrases.required()?).await,
            None => Ok(Operator::Embedded(Box::new(Desk::embedded(self.open(connections).await?)))),
        }
    }

    /// The operator at the host that runs.
    ///
    /// # Errors
    /// When the passphrase is wrong, or the host is gone.
    pub(crate) async fn login(&self, door: Door, passphrase: &Secret) -> anyhow::Result<Operator> {
        Ok(Operator::Running(door.login(passphrase).await.map_err(plain)?))
    }

    /// The home and the passphrase; none where the vault stays locked, and the reason was told.
    ///
    /// # Errors
    /// When there is no home, or no passphrase can be asked for.
    pub(crate) async fn proved(&self, latch: Latch) -> anyhow::Result<Option<Proved>> {
        let home = self.home()?;
        // Looked at before anything else, so that a locked vault says nothing about what exists.
        let vault = Vault::open(&home.vault()).map_err(HostError::Vault)?;
        if latch == Latch::Refuses && vault.latched() {
            self.out.remark("an operator locked the vault: `proofport vault unlock` lifts that");
            return Ok(None);
        }
        let door = Door::of(&home).await?;
        let passphrase = self.passphrases.any()?;
        if passphrase.is_none() {
            self.out.remark(
                "no passphrase was given: use --passphrase-file FILE or PROOFPORT_PASSPHRASE, or run it at a terminal",
            );
        }
        Ok(passphrase.map(|passphrase| Proved { home, door, passphrase }))
    }
}
