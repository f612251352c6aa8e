//! How a broker begins: with what the records say, and without sending anything.

use crate::broker::{Broker, Inner, Parts, ReadError};
use crate::driver::add;
use proofport_core::decide::Input;
use proofport_core::id::RequestId;
use proofport_core::state::IllegalEvent;
use proofport_journal::JournalError;

/// The broker can't begin.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The journal can't be read or written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The journal holds a history that can't have happened.
    #[error("the record of {id} can't have happened: {source}")]
    History {
        /// Whose.
        id: RequestId,
        /// Why.
        source: IllegalEvent,
    },
}

impl Broker {
    /// Begins: whatever was dispatched and has no end is now unknown, and what the host does about that by
    /// itself is announced. Nothing is sent; that is for [`Broker::look_after`].
    ///
    /// # Errors
    /// When the journal can't be read or written, or holds what can't have happened.
    pub async fn start(parts: Parts) -> Result<Self, StartError> {
        let inner = Inner::of(parts);
        for id in inner.journal.open_invocations()? {
            inner.take_up(id).await?;
        }
        Ok(Self::of(inner))
    }
}

impl Inner {
    /// Takes up an invocation where an earlier host left it.
    async fn take_up(&self, id: RequestId) -> Result<(), StartError> {
        let history = |source| StartError::History { id, source };
        let state = self.state(&id).map_err(|error| match error {
            ReadError::Journal(error) => StartError::Journal(error),
            ReadError::History(error) => history(error),
        })?;
        let Some(mut state) = state else { return Ok(()) };
        let (now, mut events) = (self.now(), Vec::new());
        add(&mut state, &mut events, Input::Recovered, now).map_err(history)?;
        if events.is_empty() {
            // What it announced still stands, or it was settled while something was announced.
            self.keep_in_mind(&state);
            return Ok(());
        }
        self.add_next_move(&mut state, &mut events, now).map_err(history)?;
        Ok(self.record(&state, events, now).await?)
    }
}
