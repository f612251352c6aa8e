//! Who may call.

use crate::operator_side::ask::{Ask, Desk};
use crate::operator_side::failure::Failure;
use crate::operator_side::wire::Sent;
use crate::session::SessionView;
use proofport_core::id::Name;
use proofport_core::secret::Secret;
use proofport_core::session::SessionId;
use serde::{Deserialize, Serialize};

/// Every session that is there: those that wait first.
#[derive(Serialize, Deserialize)]
pub struct ListSessions {}

/// Lets a waiting session in.
#[derive(Serialize, Deserialize)]
pub struct AllowSession {
    /// Which.
    pub session: SessionId,
}

/// Ends a session for good, or refuses one that waits.
#[derive(Serialize, Deserialize)]
pub struct EndSession {
    /// Which.
    pub session: SessionId,
}

/// Makes a token for an agent over HTTP.
#[derive(Serialize, Deserialize)]
pub struct MintToken {
    /// The agent's name.
    pub agent: Name,
}

/// A token, for the one time that it is shown.
#[derive(Serialize, Deserialize)]
pub struct Minted {
    /// The session that it is of.
    pub session: SessionView,
    /// The token.
    pub token: Sent,
}

impl Ask for ListSessions {
    const PATH: &'static str = "/v1/sessions";
    type Answer = Vec<SessionView>;

    async fn carry_out(self, desk: &Desk) -> Result<Vec<SessionView>, Failure> {
        Ok(desk.sessions()?.list())
    }
}

impl Ask for AllowSession {
    const PATH: &'static str = "/v1/sessions/allow";
    type Answer = SessionView;

    async fn carry_out(self, desk: &Desk) -> Result<SessionView, Failure> {
        Ok(desk.sessions()?.allow(&self.session).await?)
    }
}

impl Ask for EndSession {
    const PATH: &'static str = "/v1/sessions/end";
    type Answer = SessionView;

    async fn carry_out(self, desk: &Desk) -> Result<SessionView, Failure> {
        let ended = desk.sessions()?.end(&self.session).await?;
        // Whatever it has under way stops at its next boundary.
        let broker = desk.host().broker();
        broker.end_session(&self.session.to_string()).await.map_err(|error| Failure::internal(&error))?;
        Ok(ended)
    }
}

impl Ask for MintToken {
    const PATH: &'static str = "/v1/sessions/token";
    type Answer = Minted;

    async fn carry_out(self, desk: &Desk) -> Result<Minted, Failure> {
        let (session, token) = desk.sessions()?.token(&self.agent).await?;
        Ok(Minted { session, token: Sent(Secret::new(token.expose().to_vec())) })
    }
}
