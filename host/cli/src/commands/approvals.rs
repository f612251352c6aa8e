//! `approvals`, `approve` and `deny`: what agents wait for.

use super::App;
use super::call::{deliver, failed};
use crate::args::{Act, Approve as Args};
use crate::exit::{self, Usage};
use crate::operator::Operator;
use crate::render::cards::{Cards, one, text};
use proofport_core::id::RequestId;
use proofport_gateway::Reach;
use proofport_gateway::host::Connections;
use proofport_gateway::operator_side::{Approvals, Approve, Deny, Waiting};
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

pub(super) async fn list(app: &App) -> anyhow::Result<u8> {
    let operator = app.operator(Connections::None).await?;
    let found = operator.ask(Approvals { id: None }).await;
    operator.close()?;
    let found = found?;
    app.out.answer(&Cards::of(&found), || text(&found))?;
    Ok(exit::OK)
}

pub(super) async fn approve(app: &App, args: Args) -> anyhow::Result<u8> {
    let Args { act: Act { id }, once, session, minutes, yes } = args;
    let reach = match (once, session, minutes) {
        (true, _, _) => Reach::Once,
        (_, true, _) => Reach::Session,
        (_, _, Some(minutes)) => Reach::Seconds(minutes.saturating_mul(60)),
        (false, false, None) => Reach::Usual,
    };
    let operator = app.operator(Connections::None).await?;
    let waiting = match only(&operator, id).await {
        Ok(waiting) => waiting,
        Err(error) => {
            operator.close()?;
            return Err(error);
        }
    };
    if !yes && !agreed(app, &waiting)? {
        operator.close()?;
        app.out.remark("nothing was decided");
        return Ok(exit::OK);
    }
    match operator.ask(Approve { id, about: waiting.card.request, reach }).await {
        Ok(answered) => deliver(app, operator, answered).await,
        Err(error) => failed(app, error),
    }
}

pub(super) async fn deny(app: &App, id: RequestId) -> anyhow::Result<u8> {
    let operator = app.operator(Connections::None).await?;
    match operator.ask(Deny { id, about: None }).await {
        Ok(answered) => deliver(app, operator, answered).await,
        Err(error) => failed(app, error),
    }
}

/// The question about this call.
async fn only(operator: &Operator, id: RequestId) -> anyhow::Result<Waiting> {
    let found = operator.ask(Approvals { id: Some(id) }).await?;
    found.into_iter().next().ok_or_else(|| NotWaiting(id).into())
}

/// Nobody is asked about this call.
#[derive(Debug, thiserror::Error)]
#[error("{0} waits for nobody's approval: `proofport approvals` lists what does")]
struct NotWaiting(RequestId);

/// Shows the card and asks. The word is about what was shown: the host compares its fingerprint.
fn agreed(app: &App, waiting: &Waiting) -> anyhow::Result<bool> {
    if !io::stdin().is_terminal() || app.out.json {
        let what = "there is nobody at a terminal to look at it: add --yes if that was done before";
        return Err(Usage(what.to_owned()).into());
    }
    app.out.remark(&one(waiting));
    let mut terminal = io::stderr().lock();
    write!(terminal, "Approve exactly this? [y/N] ")?;
    terminal.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
