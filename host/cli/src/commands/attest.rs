//! `attest`: an operator settles what nothing else has. The answer is the envelope as it is afterwards.

use super::App;
use super::call::{deliver, failed, refuse};
use crate::args::{Act, Attest};
use crate::operator::Latch;
use proofport_core::code::Code;
use proofport_gateway::host::Connections;
use proofport_gateway::operator_side::Attest as Attesting;

pub(super) async fn run(app: &App, args: Attest) -> anyhow::Result<u8> {
    let Attest { act: Act { id }, child, outcome, reason } = args;
    let Some(proved) = app.proved(Latch::Refuses).await? else {
        return refuse(app, Code::VaultLocked, None);
    };
    let Some(operator) = proved.operator(app.out, Connections::None).await? else {
        return refuse(app, Code::VaultLocked, None);
    };
    match operator.ask(Attesting { id, child, outcome, reason }).await {
        Ok(answered) => deliver(app, operator, answered).await,
        Err(error) => failed(app, error),
    }
}
