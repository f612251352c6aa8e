//! `inspect` and `timeline`: what operators see of an invocation.

use super::{App, NoSuchInvocation};
use crate::exit;
use crate::render::{inspect as diagnostic, timeline as events};
use proofport_core::id::RequestId;
use proofport_gateway::host::Connections;
use proofport_gateway::{Clock as _, SystemClock};

pub(super) async fn inspect(app: &App, id: RequestId) -> anyhow::Result<u8> {
    let host = app.open(Connections::None).await?;
    let found = host.broker().diagnostic(&id);
    host.close()?;
    let found = found?.ok_or(NoSuchInvocation(id))?;
    app.out.answer(&found, || diagnostic::text(&found, SystemClock.now()))?;
    Ok(exit::OK)
}

pub(super) async fn timeline(app: &App, id: RequestId) -> anyhow::Result<u8> {
    let host = app.open(Connections::None).await?;
    let recorded = host.broker().timeline(&id);
    let linked = host.broker().continued_by(&id);
    host.close()?;
    let (recorded, linked) = (recorded?, linked?);
    anyhow::ensure!(!recorded.is_empty(), NoSuchInvocation(id));
    app.out.answer(&events::Timeline::of(id, &recorded, &linked), || events::text(&recorded, &linked))?;
    Ok(exit::OK)
}
