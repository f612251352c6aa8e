//! One file per group of commands.

mod approvals;
mod attest;
mod audit;
mod call;
mod connection;
mod connector;
mod content;
mod init;
mod mcp;
mod record;
mod result;
mod secret;
mod serve;
mod session;
mod unknowns;
mod vault;

use crate::args::{Globals, InHome};
use crate::output::Output;
use crate::passphrase::Passphrases;
use proofport_core::id::RequestId;
use proofport_gateway::home::Home;
use proofport_gateway::host::{Connections, Host, HostError, OpenOptions};
use std::path::PathBuf;

/// What every command works with.
pub(crate) struct App {
    home: Option<PathBuf>,
    pub(crate) passphrases: Passphrases,
    pub(crate) out: Output,
}

/// Nothing was ever taken on under this id. For operators; callers get an envelope.
#[derive(Debug, thiserror::Error)]
#[error("there is no invocation {0} on record here: check the id and the home")]
struct NoSuchInvocation(RequestId);

impl App {
    pub(crate) fn new(globals: Globals) -> Self {
        let Globals { home, passphrase_file, json } = globals;
        let from_environment = || std::env::var_os("PROOFPORT_HOME").filter(|home| !home.is_empty());
        let home = home.or_else(|| from_environment().map(PathBuf::from));
        Self { home, passphrases: Passphrases { file: passphrase_file }, out: Output { json } }
    }

    /// The directory that was named, or the usual one.
    fn home_path(&self) -> anyhow::Result<PathBuf> {
        if let Some(home) = &self.home {
            return Ok(home.clone());
        }
        usual_home(
            std::env::var_os("XDG_DATA_HOME").map(PathBuf::from),
            std::env::var_os("HOME").map(PathBuf::from),
        )
        .ok_or_else(|| anyhow::anyhow!("there is no home directory: name one with --home or PROOFPORT_HOME"))
    }

    /// The home.
    ///
    /// # Errors
    /// When there is none, or it is not private.
    pub(crate) fn home(&self) -> anyhow::Result<Home> {
        Ok(Home::at(self.home_path()?).map_err(HostError::Home)?)
    }

    /// The home, opened by this process with the passphrase that proves the operator.
    ///
    /// # Errors
    /// When there is no passphrase or it is wrong, another process has the home open, or it can't be opened.
    pub(crate) async fn open(&self, connections: Connections) -> anyhow::Result<Host> {
        let home = self.home()?;
        let passphrase = self.passphrases.required()?;
        let host = Host::open(home, &passphrase, OpenOptions::program(connections)).await?;
        told_of(self.out, &host);
        Ok(host)
    }
}

/// Tells the person at the terminal what opening an older home made.
pub(crate) fn told_of(out: Output, host: &Host) {
    if let Some(path) = host.new_audit_identity() {
        out.remark(&audit::advice(path));
    }
}

/// As the XDG base directory specification says: only absolute paths count.
fn usual_home(data: Option<PathBuf>, user: Option<PathBuf>) -> Option<PathBuf> {
    let data = data.filter(|path| path.is_absolute());
    let user = user.filter(|path| path.is_absolute()).map(|user| user.join(".local/share"));
    data.or(user).map(|folder| folder.join("proofport"))
}

/// Carries out a command and says with which status the program ends.
///
/// # Errors
/// When there is no answer to print, with the reason for the person who asked.
pub(crate) async fn run(app: &App, command: InHome) -> anyhow::Result<u8> {
    match command {
        InHome::Init(args) => init::run(app, &args).await,
        InHome::Serve => serve::run(app).await,
        InHome::Vault(command) => vault::run(app, &command).await,
        InHome::Secret(command) => secret::run(app, command).await,
        InHome::Connector(command) => connector::run(app, &command).await,
        InHome::Connection(command) => connection::run(app, &command).await,
        InHome::Call(args) => call::call(app, args).await,
        InHome::Result(args) => result::run(app, args).await,
        InHome::Reconcile(act) => call::reconcile(app, act.id).await,
        InHome::Wait(act) => call::wait(app, act.id).await,
        InHome::Follow(act) => call::follow(app, act.id).await,
        InHome::Retry(act) => call::retry(app, act.id).await,
        InHome::Cancel(act) => call::cancel(app, act.id).await,
        InHome::Session(command) => session::run(app, &command).await,
        InHome::Approvals => approvals::list(app).await,
        InHome::Approve(args) => approvals::approve(app, args).await,
        InHome::Deny(act) => approvals::deny(app, act.id).await,
        InHome::Mcp(args) => mcp::run(app, args).await,
        InHome::Unknowns => unknowns::run(app).await,
        InHome::Attest(args) => attest::run(app, args).await,
        InHome::Inspect(act) => record::inspect(app, act.id).await,
        InHome::Audit(command) => audit::run(app, command).await,
        InHome::Timeline(act) => record::timeline(app, act.id).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_home_follows_the_specification() {
        let check = |data: Option<&str>, user: Option<&str>, expected: Option<&str>| {
            let got = usual_home(data.map(PathBuf::from), user.map(PathBuf::from));
            assert_eq!(got, expected.map(PathBuf::from));
        };
        check(Some("/data"), Some("/home/x"), Some("/data/proofport"));
        check(None, Some("/home/x"), Some("/home/x/.local/share/proofport"));
        check(Some("relative"), Some("/home/x"), Some("/home/x/.local/share/proofport"));
        check(Some(""), None, None);
        check(None, None, None);
    }
}
