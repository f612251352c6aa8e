//! What waits for somebody to find out what became of it.

use crate::broker::{Broker, ReadError};
use proofport_core::event::EventKind;
use proofport_core::state::State;
use proofport_core::unknown::UnknownEffect;
use std::cmp::Reverse;

impl Broker {
    /// Every effect that was dispatched and that nothing has settled, and every batch with children of that
    /// kind, the newest dispatch first, for operators. Takes time in proportion to their number, not to the journal's.
    ///
    /// # Errors
    /// When a record can't be read.
    pub fn unknowns(&self) -> Result<Vec<UnknownEffect>, ReadError> {
        let (journal, now) = (&self.inner().journal, self.inner().now());
        // What is under way first: if it ends between the two readings, it is in the second.
        let mut ids = journal.open_invocations()?;
        ids.extend(journal.unsettled_invocations()?);
        ids.sort();
        ids.dedup();
        let mut found = Vec::with_capacity(ids.len());
        for id in ids {
            let history = journal.history(&id)?;
            let ends = history.iter().filter(|recorded| recorded.event.kind() == EventKind::AttemptEnded);
            let ended_at = ends.map(|recorded| recorded.at).max();
            let state = State::replay(history.iter().map(|recorded| &recorded.event))?;
            found.extend(state.and_then(|state| UnknownEffect::of(&state, ended_at, now)));
        }
        found.sort_by_key(|effect| (Reverse(effect.dispatched_at), effect.request_id));
        Ok(found)
    }
}
