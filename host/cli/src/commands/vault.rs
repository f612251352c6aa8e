//! `vault`.

use super::App;
use crate::args::Vault as Command;
use crate::exit;
use proofport_gateway::Vault;
use proofport_gateway::host::Connections;
use serde::Serialize;

#[derive(Serialize)]
struct Status {
    locked: bool,
}

pub(super) async fn run(app: &App, command: &Command) -> anyhow::Result<u8> {
    let locked = match command {
        Command::Status => Vault::open(&app.home()?.vault())?.latched(),
        Command::Lock => set(app, true).await?,
        Command::Unlock => set(app, false).await?,
    };
    app.out.answer(&Status { locked }, || {
        if locked {
            "Locked: every call is refused until `proofport vault unlock`.\n".to_owned()
        } else {
            "Unlocked: calls that come with the passphrase may use secrets.\n".to_owned()
        }
    })?;
    Ok(exit::OK)
}

async fn set(app: &App, locked: bool) -> anyhow::Result<bool> {
    let host = app.open(Connections::None).await?;
    host.set_locked(locked).await?;
    host.close()?;
    Ok(locked)
}
