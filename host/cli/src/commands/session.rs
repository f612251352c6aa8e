//! `session`: which agents may call.

use super::App;
use crate::args::{Ses, Session as Command, Token};
use crate::exit;
use crate::render::sessions::{Sessions, one, text};
use anyhow::Context as _;
use proofport_core::id::Name;
use proofport_core::session::SessionId;
use proofport_gateway::host::Connections;
use proofport_gateway::operator_side::{AllowSession, Ask, EndSession, ListSessions, MintToken, Minted};
use proofport_gateway::session::SessionView;
use serde::Serialize;

/// A token, shown once.
#[derive(Serialize)]
struct Shown<'a> {
    session: SessionId,
    agent: &'a Name,
    token: &'a str,
}

pub(super) async fn run(app: &App, command: &Command) -> anyhow::Result<u8> {
    match command {
        Command::List => list(app).await,
        Command::Allow(Ses { id }) => decide(app, AllowSession { session: *id }).await,
        Command::End(Ses { id }) => decide(app, EndSession { session: *id }).await,
        Command::Token(args) => token(app, args).await,
    }
}

async fn list(app: &App) -> anyhow::Result<u8> {
    let operator = app.operator(Connections::None).await?;
    if operator.embedded().is_some() {
        app.out.remark("no host runs here, so that nobody waits");
    }
    let found = operator.ask(ListSessions {}).await;
    operator.close()?;
    let found = found?;
    app.out.answer(&Sessions::of(&found), || text(&found))?;
    Ok(exit::OK)
}

async fn decide(app: &App, ask: impl Ask<Answer = SessionView>) -> anyhow::Result<u8> {
    let operator = app.operator(Connections::None).await?;
    let decided = operator.ask(ask).await;
    operator.close()?;
    let decided = decided?;
    app.out.answer(&Sessions::of(std::slice::from_ref(&decided)), || one(&decided))?;
    Ok(exit::OK)
}

async fn token(app: &App, Token { agent }: &Token) -> anyhow::Result<u8> {
    let operator = app.operator(Connections::None).await?;
    let minted = operator.ask(MintToken { agent: agent.clone() }).await;
    operator.close()?;
    let Minted { session, token } = minted?;
    let token = std::str::from_utf8(token.0.expose()).context("the token is no text")?;
    app.out.answer(&Shown { session: session.id, agent, token }, || format!("{token}\n"))?;
    app.out.remark(&format!(
        "this is the token of the agent `{agent}`, shown this once; `proofport session end {}` ends it",
        session.id
    ));
    Ok(exit::OK)
}
