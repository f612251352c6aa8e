//! `unknowns`: what waits for an operator.

use super::App;
use crate::exit;
use crate::render::unknowns::{Unknowns, text};
use proofport_gateway::host::Connections;

pub(super) async fn run(app: &App) -> anyhow::Result<u8> {
    let host = app.open(Connections::None).await?;
    let found = host.unknowns();
    host.close()?;
    let found = found?;
    app.out.answer(&Unknowns::of(&found), || text(&found))?;
    Ok(exit::OK)
}
