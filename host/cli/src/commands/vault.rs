//! `vault`.

use super::App;
use crate::args::Vault as Command;
use crate::exit;
use proofport_core::event::HostEvent;
use proofport_gateway::Vault;
use proofport_gateway::host::{Connections, Host, OpenOptions};
use proofport_gateway::operator_side::{Door, LockVault, Sent, UnlockVault, VaultStanding};

pub(super) async fn run(app: &App, command: &Command) -> anyhow::Result<u8> {
    let standing = match command {
        // The mark that a running host keeps says how that is, too.
        Command::Status => VaultStanding { locked: Vault::open(&app.home()?.vault())?.latched() },
        Command::Lock => lock(app).await?,
        Command::Unlock => unlock(app).await?,
    };
    app.out.answer(&standing, || {
        if standing.locked {
            "Locked: every call is refused until `proofport vault unlock`.\n".to_owned()
        } else {
            "Unlocked: calls that come with the passphrase may use secrets.\n".to_owned()
        }
    })?;
    Ok(exit::OK)
}

/// The mark comes first: whoever locks is in a hurry, and a call under way may hold the journal.
async fn lock(app: &App) -> anyhow::Result<VaultStanding> {
    let home = app.home()?;
    if Door::of(&home).await?.is_some() {
        return app.operator(Connections::None).await?.ask(LockVault {}).await;
    }
    let mut vault = Vault::open(&home.vault())?;
    vault.unlock(&app.passphrases.required()?)?;
    vault.set_latch(true)?;
    match Host::open_unlocked(home, vault, OpenOptions::program(Connections::None)).await {
        Ok(host) => {
            super::told_of(app.out, &host);
            host.record(HostEvent::VaultStateChanged { locked: true }).await?;
            host.close()?;
        }
        Err(error) => app.out.remark(&format!("the vault is locked, but that is not on record: {error}")),
    }
    Ok(VaultStanding { locked: true })
}

async fn unlock(app: &App) -> anyhow::Result<VaultStanding> {
    if let Some(door) = Door::of(&app.home()?).await? {
        let passphrase = app.passphrases.required()?;
        let operator = app.login(door, &passphrase).await?;
        return operator.ask(UnlockVault { passphrase: Sent(passphrase) }).await;
    }
    let host = app.open(Connections::None).await?;
    host.unlock().await?;
    host.close()?;
    Ok(VaultStanding { locked: false })
}
