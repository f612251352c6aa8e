//! Invocations that carry the same children: those that send some of a batch once more, and those that were
//! made of the same input. Whoever sends a child again has to know of all of them.

use crate::broker::{Broker, Inner, ReadError};
use crate::intent;
use proofport_core::contract::Outcome;
use proofport_core::digest::Digest;
use proofport_core::id::RequestId;
use proofport_core::inquiry::{Move, announced};
use proofport_core::state::State;
use proofport_journal::BodyKind;
use std::collections::BTreeSet;

/// Where the invocations are looked for that carry children of this batch.
pub(crate) fn link(parent: &RequestId) -> Digest {
    Digest::of_parts("proofport.continues/1", &[parent.as_bytes()])
}

/// Whether it may have changed something, or still may: then nobody makes it anew.
pub(crate) fn counts(state: &State) -> bool {
    match state.outcome() {
        Outcome::Committed | Outcome::Unknown => true,
        Outcome::NotAttempted | Outcome::Rejected => state.has_committed_child() || waits(state),
    }
}

/// Whether a person is asked about it, or said yes: it may still be carried out.
fn waits(state: &State) -> bool {
    matches!(announced(state), Some(Move::Lapse { .. } | Move::Begin))
}

impl Broker {
    /// The invocations that sent children of this batch once more, in the order in which they were made.
    ///
    /// # Errors
    /// When a record can't be read.
    pub fn continued_by(&self, id: &RequestId) -> Result<Vec<RequestId>, ReadError> {
        let linked = self.inner().linked(id)?;
        Ok(linked.iter().map(|linked| linked.accepted.request_id).collect())
    }
}

impl Inner {
    /// The invocations that carry children of this batch, in the order in which they were made.
    pub(crate) fn linked(&self, parent: &RequestId) -> Result<Vec<State>, ReadError> {
        let mut linked = Vec::new();
        for id in self.journal.intents(&link(parent))? {
            linked.extend(self.state(&id)?);
        }
        linked.sort_by_key(|linked| (linked.accepted.at, linked.accepted.request_id));
        Ok(linked)
    }

    /// The same, with those that carry children of these, and so on.
    pub(crate) fn descendants(&self, parent: &RequestId) -> Result<Vec<State>, ReadError> {
        let mut found = Vec::new();
        let mut known = BTreeSet::from([*parent]);
        let mut next = vec![*parent];
        while let Some(id) = next.pop() {
            for linked in self.linked(&id)? {
                if known.insert(linked.accepted.request_id) {
                    next.push(linked.accepted.request_id);
                    found.push(linked);
                }
            }
        }
        Ok(found)
    }

    /// This invocation and those whose children it sends again, the newest first.
    pub(crate) fn ancestry(&self, state: &State) -> Result<Vec<State>, ReadError> {
        let mut found = vec![state.clone()];
        let mut parent = state.accepted.continues.as_ref().map(|continues| continues.parent);
        while let Some(id) = parent.filter(|id| found.iter().all(|known| known.accepted.request_id != *id)) {
            let Some(state) = self.state(&id)? else { break };
            parent = state.accepted.continues.as_ref().map(|continues| continues.parent);
            found.push(state);
        }
        Ok(found)
    }

    /// Where calls with the same input as this invocation are looked for, whatever their session and key;
    /// none where its input is not stored.
    pub(crate) fn family(&self, state: &State) -> Result<Option<Digest>, ReadError> {
        let Some(input) = self.journal.body(&state.accepted.request_id, BodyKind::Input)? else {
            return Ok(None);
        };
        let canonical = String::from_utf8_lossy(&input);
        Ok(Some(intent::family(&state.accepted.principal, &state.accepted.operation, &canonical)))
    }

    /// An invocation that may have carried these children since, beside the ones that are linked to this: the
    /// same call was made anew, of this batch or of one whose children it sends again, or children of such a
    /// call were sent again.
    pub(crate) fn made_anew(&self, ancestry: &[State]) -> Result<Option<RequestId>, ReadError> {
        for state in ancestry {
            let Some(family) = self.family(state)? else { continue };
            for id in self.journal.intents(&family)? {
                if id == state.accepted.request_id {
                    continue;
                }
                let Some(other) = self.state(&id)? else { continue };
                // Another key is another intent: then it was done again on purpose.
                if other.accepted.call_key != state.accepted.call_key {
                    continue;
                }
                let since = |other: &State| counts(other) && other.accepted.at >= state.accepted.at;
                if since(&other) {
                    return Ok(Some(id));
                }
                if let Some(found) = self.descendants(&id)?.iter().find(|found| since(found)) {
                    return Ok(Some(found.accepted.request_id));
                }
            }
        }
        Ok(None)
    }

    /// What stands for this batch where it was refused and children of it were sent again: what carries all
    /// of them, or else the batch itself. None where nothing that was sent again counts.
    pub(crate) fn carried_on_elsewhere(&self, state: &State) -> Result<Option<State>, ReadError> {
        if !state.is_batch() {
            return Ok(None);
        }
        let counting = self.descendants(&state.accepted.request_id)?.into_iter().filter(counts);
        let Some(newest) = counting.max_by_key(|found| found.accepted.at) else { return Ok(None) };
        // An answer that leaves a child out could be taken for one that has all.
        let children = |state: &State| state.binding.as_ref().map(|binding| binding.children.clone());
        let whole = children(&newest) == children(state);
        Ok(Some(if whole { newest } else { state.clone() }))
    }
}
