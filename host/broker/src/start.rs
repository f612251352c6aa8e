//! How a broker begins: with what the records say, and without sending anything.

use crate::broker::{Broker, Inner, Parts, ReadError};
use crate::driver::add;
use proofport_core::decide::Input;
use proofport_core::event::Event;
use proofport_core::id::RequestId;
use proofport_core::state::{IllegalEvent, State};
use proofport_core::time::UnixMillis;
use proofport_journal::JournalError;
use std::sync::Arc;
use tokio::task::JoinSet;

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
        let host = inner.journal.host_events(usize::MAX)?.into_iter();
        inner.revoked.recall(
            host.filter_map(
                |recorded| {
                    if let Event::Host(event) = recorded.event { Some(event) } else { None }
                },
            ),
        );
        // Together, so that many of them share few commits.
        let mut ends = JoinSet::new();
        for id in inner.journal.open_invocations()? {
            if let Some((state, events, now)) = inner.take_up(id)? {
                let inner = Arc::clone(&inner);
                ends.spawn(async move { inner.record(&state, events, now).await });
            }
        }
        while let Some(ended) = ends.join_next().await {
            ended.unwrap_or(Err(JournalError::Closed))?;
        }
        Ok(Self::of(inner))
    }
}

impl Inner {
    /// Takes up an invocation where an earlier host left it, and says what is to be put on record of that.
    fn take_up(&self, id: RequestId) -> Result<Option<(State, Vec<Event>, UnixMillis)>, StartError> {
        let history = |source| StartError::History { id, source };
        let state = self.state(&id).map_err(|error| match error {
            ReadError::Journal(error) => StartError::Journal(error),
            ReadError::History(error) => history(error),
        })?;
        let Some(mut state) = state else { return Ok(None) };
        let (now, mut events) = (self.now(), Vec::new());
        add(&mut state, &mut events, Input::Recovered, now).map_err(history)?;
        if events.is_empty() {
            // What it announced still stands, or it was settled while something was announced.
            self.keep_in_mind(&state);
            return Ok(None);
        }
        self.add_next_move(&mut state, &mut events, now).map_err(history)?;
        Ok(Some((state, events, now)))
    }
}
