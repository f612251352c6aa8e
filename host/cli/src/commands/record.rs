//! `inspect` and `timeline`: what operators see of an invocation.

use super::{App, NoSuchInvocation};
use crate::exit;
use crate::render::{inspect as diagnostic, timeline as events};
use proofport_core::id::RequestId;
use proofport_gateway::host::Connections;
use proofport_gateway::operator_side::{Inspect, Timed, Timeline};

pub(super) async fn inspect(app: &App, id: RequestId) -> anyhow::Result<u8> {
    let operator = app.operator(Connections::None).await?;
    let found = operator.ask(Inspect { id }).await;
    operator.close()?;
    let found = found?;
    let now = found.now;
    let found = found.diagnostic()?.ok_or(NoSuchInvocation(id))?;
    app.out.answer(&found, || diagnostic::text(&found, now))?;
    Ok(exit::OK)
}

pub(super) async fn timeline(app: &App, id: RequestId) -> anyhow::Result<u8> {
    let operator = app.operator(Connections::None).await?;
    let found = operator.ask(Timeline { id }).await;
    operator.close()?;
    let Timed { events: recorded, continued_by: linked } = found?;
    anyhow::ensure!(!recorded.is_empty(), NoSuchInvocation(id));
    app.out.answer(&events::Timeline::of(id, &recorded, &linked), || events::text(&recorded, &linked))?;
    Ok(exit::OK)
}
