//! What was taken back while the host runs: sessions that ended, connectors that were revoked, secrets that
//! were removed. It acts at the next boundary, before anything more leaves, and rewrites nothing that was
//! dispatched.

use crate::approvals::DecideError;
use crate::broker::{Broker, Inner};
use crate::connection::Connection;
use crate::driver::add;
use crate::refuse;
use crate::run::Run;
use proofport_core::code::Code;
use proofport_core::decide::Input;
use proofport_core::digest::Digest;
use proofport_core::event::{HostEvent, StopDetail};
use proofport_core::exchange::Send;
use proofport_core::state::State;
use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock};

/// What may not begin, or go on before its dispatch, any more.
#[derive(Default)]
pub(crate) struct Revoked {
    all: RwLock<All>,
}

#[derive(Default)]
struct All {
    sessions: HashSet<String>,
    connectors: HashSet<Digest>,
}

impl Revoked {
    fn stop_session(&self, session: &str) {
        self.all.write().unwrap_or_else(PoisonError::into_inner).sessions.insert(session.to_owned());
    }

    /// Takes over what the host's own record says: a session that was ended before this process began stays so.
    pub(crate) fn recall(&self, events: impl IntoIterator<Item = HostEvent>) {
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        for event in events {
            if let HostEvent::SessionDecided { allowed, session: Some(facts) } = event {
                let session = facts.id.to_string();
                if allowed {
                    all.sessions.remove(&session);
                } else {
                    all.sessions.insert(session);
                }
            }
        }
    }

    fn is_revoked(&self, connector: &Digest) -> bool {
        self.all.read().unwrap_or_else(PoisonError::into_inner).connectors.contains(connector)
    }

    /// Why this may not go on; none: it may.
    fn refuses(&self, session: Option<&str>, connection: &Connection) -> Option<Input> {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        if session.is_some_and(|session| all.sessions.contains(session)) {
            return Some(refuse::refused(Code::UserDenied, StopDetail::SessionEnded));
        }
        let revoked = all.connectors.contains(&connection.connector.digest());
        revoked.then(|| refuse::refused(Code::UnsupportedAction, StopDetail::ConnectorNotApproved))
    }
}

impl Broker {
    /// Ends a session: nothing begins for it any more, nothing of what it called is dispatched from here on,
    /// and what it asked people about is over. What was dispatched goes on to its end.
    ///
    /// # Errors
    /// When a question that it had open can't be put on record as over.
    pub async fn end_session(&self, session: &str) -> Result<(), DecideError> {
        let inner = self.inner();
        self.stop_session(session);
        inner.forget_questions(|state| state.accepted.session == session, StopDetail::SessionEnded).await
    }

    /// The same without a word about what it asked: that is refused when it is to begin.
    pub fn stop_session(&self, session: &str) {
        self.inner().revoked.stop_session(session);
    }

    /// Revokes a connector in this process: no call through it begins, or is dispatched, from here on.
    ///
    /// # Errors
    /// When a question about such a call can't be put on record as over.
    pub async fn revoke_connector(&self, digest: &Digest) -> Result<(), DecideError> {
        let inner = self.inner();
        inner.revoked.all.write().unwrap_or_else(PoisonError::into_inner).connectors.insert(*digest);
        let of_it =
            |state: &State| state.binding.as_ref().is_some_and(|binding| binding.connector == *digest);
        inner.forget_questions(of_it, StopDetail::ConnectorNotApproved).await
    }

    /// Whether a connector was revoked in this process.
    #[must_use]
    pub fn is_revoked(&self, digest: &Digest) -> bool {
        self.inner().revoked.is_revoked(digest)
    }
}

impl Inner {
    /// Whether this connection's connector was revoked.
    pub(crate) fn is_revoked(&self, connection: &Connection) -> bool {
        self.revoked.is_revoked(&connection.connector.digest())
    }

    /// Ends the questions about these invocations.
    async fn forget_questions(
        self: &Arc<Self>,
        which: impl Fn(&State) -> bool,
        why: StopDetail,
    ) -> Result<(), DecideError> {
        let code = match why {
            StopDetail::ConnectorNotApproved => Code::UnsupportedAction,
            StopDetail::SessionEnded
            | StopDetail::None
            | StopDetail::UnknownConnection
            | StopDetail::UnknownOperation
            | StopDetail::OverLimit { .. }
            | StopDetail::Connector { .. }
            | StopDetail::Credential { .. }
            | StopDetail::Setup { .. }
            | StopDetail::Query { .. } => Code::UserDenied,
        };
        // What was approved and is not begun is over, too. Whatever is being carried out looks by itself.
        let open = |state: &State| crate::approvals::waiting(state).is_some() || state.waits_to_begin();
        for id in self.journal.open_invocations()? {
            if self.is_entered(&id) || !self.state(&id)?.is_some_and(|state| open(&state) && which(&state)) {
                continue;
            }
            let Some(_claim) = self.claim(id) else { continue };
            let Some(mut state) = self.state(&id)? else { continue };
            if self.is_entered(&id) || !open(&state) {
                continue;
            }
            let (now, mut events) = (self.now(), Vec::new());
            add(&mut state, &mut events, refuse::refused(code, why.clone()), now)?;
            self.record(&state, events, now).await?;
        }
        Ok(())
    }
}

impl Run {
    /// A refusal, where this call's session or connector was taken back.
    pub(crate) fn refuse_revoked(&self, connection: &Connection) -> Option<Input> {
        // What an operator sends again is nobody's session's.
        let session = (!self.scratch.by_operator).then_some(self.state.accepted.session.as_str());
        self.inner.revoked.refuses(session, connection)
    }

    /// The last look before the dispatch is made durable: at what was taken back while the connection was made.
    pub(crate) fn refuse_taken_back(&self, connection: &Connection, send: &Send) -> Option<Input> {
        if self.inner.is_locked() {
            return Some(refuse::refused(Code::VaultLocked, StopDetail::None));
        }
        self.refuse_revoked(connection)
            // The secret may have been removed since it was handed out.
            .or_else(|| self.pinned(connection, &send.request).err().map(|refused| *refused))
    }
}
