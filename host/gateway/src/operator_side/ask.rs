//! One thing that an operator can ask for, and what it is carried out on.

use super::failure::Failure;
use crate::host::Host;
use crate::session::Sessions;
use proofport_broker::{Authority, Caller};
use proofport_core::event::Event;
use proofport_core::id::RequestId;
use proofport_journal::JournalError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::{Arc, OnceLock};

/// One thing that an operator can ask for. Adding one is adding a type with this, and its line in
/// `server.rs`.
pub trait Ask: Serialize + DeserializeOwned + Send + 'static {
    /// Where it is asked on the operator socket.
    const PATH: &'static str;

    /// The most bytes that it may take as JSON.
    const MOST_BYTES: usize = 1024 * 1024;

    /// What is answered.
    type Answer: Serialize + DeserializeOwned + Send + 'static;

    /// Carries it out. Whoever asks has proved to be an operator.
    fn carry_out(self, desk: &Desk) -> impl Future<Output = Result<Self::Answer, Failure>> + Send;
}

/// An open home at which operators' asks are carried out.
pub struct Desk {
    host: Arc<Host>,
    serving: bool,
    /// Made when first needed: where no agent is served, most asks need none.
    sessions: OnceLock<Arc<Sessions>>,
}

impl Desk {
    /// Of a host that serves agents and looks after what it announced.
    #[must_use]
    pub fn serving(host: Arc<Host>, sessions: Arc<Sessions>) -> Self {
        Self { host, serving: true, sessions: OnceLock::from(sessions) }
    }

    /// Of a home that this process opened for one command.
    #[must_use]
    pub fn embedded(host: Host) -> Self {
        Self { host: Arc::new(host), serving: false, sessions: OnceLock::new() }
    }

    /// Writes what rides along and lets go of the home.
    ///
    /// # Errors
    /// When the journal can't be written.
    pub fn close(self) -> Result<(), JournalError> {
        self.host.broker().journal().clone().close()
    }

    /// The open home.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Whether a host serves here, which does by itself what is announced.
    #[must_use]
    pub const fn is_serving(&self) -> bool {
        self.serving
    }

    /// The sessions of agents.
    pub(crate) fn sessions(&self) -> Result<&Arc<Sessions>, Failure> {
        if let Some(sessions) = self.sessions.get() {
            return Ok(sessions);
        }
        let sessions = Arc::new(Sessions::open(&self.host)?);
        Ok(self.sessions.get_or_init(|| sessions))
    }

    /// Who carries out what an operator asks for: the host's own user, whoever of its operators it is.
    pub(crate) fn operator(&self) -> Caller {
        let user = rustix::process::getuid().as_raw();
        Caller {
            principal: format!("operator:{user}"),
            session: "operator".to_owned(),
            authority: Authority::Operator,
        }
    }

    /// In whose name a record is read: whoever's it is, an operator may. None where there is no such record.
    pub(crate) fn reader(&self, id: &RequestId) -> Result<Option<Caller>, Failure> {
        let history = self.host.broker().timeline(id)?;
        Ok(history.into_iter().find_map(|recorded| {
            if let Event::ActionAccepted(accepted) = recorded.event {
                Some(Caller { principal: accepted.principal, ..self.operator() })
            } else {
                None
            }
        }))
    }
}
