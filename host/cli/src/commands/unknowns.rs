//! `unknowns`: what waits for an operator.

use super::App;
use crate::exit;
use crate::render::unknowns::{Unknowns, text};
use proofport_gateway::host::Connections;
use proofport_gateway::operator_side;

pub(super) async fn run(app: &App) -> anyhow::Result<u8> {
    let operator = app.operator(Connections::None).await?;
    let found = operator.ask(operator_side::Unknowns {}).await;
    operator.close()?;
    let found = found?;
    app.out.answer(&Unknowns::of(&found), || text(&found))?;
    Ok(exit::OK)
}
