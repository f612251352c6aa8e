//! Answers, as records give them, and what becomes of them.

use crate::broker::Inner;
use crate::probe::Point;
use crate::run::Finished;
use proofport_core::batch::ChildId;
use proofport_core::code::Code;
use proofport_core::content::ContentFacts;
use proofport_core::contract::Outcome;
use proofport_core::decide::{Input, decide};
use proofport_core::digest::Digest;
use proofport_core::envelope::{Envelope, RemoteData, Stored};
use proofport_core::event::{EventKind, ResultFacts};
use proofport_core::id::{OperationName, RequestId};
use proofport_core::state::State;
use proofport_journal::{Batch, BodyKind};
use std::collections::BTreeMap;
use std::sync::Arc;

/// An answer on its way to the caller.
pub struct Delivery {
    /// The answer.
    pub envelope: Envelope,
    /// The record that it was made of; none where nothing was taken on.
    pub(crate) state: Option<Box<State>>,
    pub(crate) inner: Arc<Inner>,
}

impl Delivery {
    /// What the newest evidence says that came after the outcome was settled, for operators. It changes
    /// nothing about the answer.
    #[must_use]
    pub fn attached(&self) -> Option<Outcome> {
        self.state.as_ref().and_then(|state| state.attached.last().copied())
    }

    /// The same of single children of a batch, the newest of each: its identity, what the record says, and
    /// what the evidence does.
    #[must_use]
    pub fn attached_children(&self) -> Vec<(ChildId, Outcome, Outcome)> {
        let Some(state) = &self.state else { return Vec::new() };
        let bound = state.binding.as_ref().map_or(&[][..], |binding| &binding.children);
        let newest: BTreeMap<u32, Outcome> = state.attached_children.iter().copied().collect();
        let of = |(index, said): (u32, Outcome)| {
            let id = bound.get(usize::try_from(index).ok()?)?.clone();
            Some((id, state.child(index).outcome, said))
        };
        newest.into_iter().filter_map(of).collect()
    }

    /// The caller's protocol confirmed a complete handoff. The mark rides along with a later commit;
    /// losing it loses nothing but the mark.
    pub fn confirmed(self) {
        let Some(state) = self.state else { return };
        let id = state.accepted.request_id;
        let now = self.inner.now();
        if let Ok(events) = decide(&state, Input::Delivered, now)
            && !events.is_empty()
        {
            self.inner.probe.at(Point::BeforeCommit(EventKind::ResultDelivered));
            self.inner.journal.ride_along(Batch {
                invocation: Some(id),
                at: now,
                events,
                bodies: Vec::new(),
                intents: Vec::new(),
                open: None,
                tally: None,
            });
        }
    }
}

impl Inner {
    pub(crate) fn refusal(self: &Arc<Self>, code: Code, operation: Option<OperationName>) -> Delivery {
        Delivery { envelope: Envelope::refusal(code, operation), state: None, inner: Arc::clone(self) }
    }

    /// The answer that a durable record gives.
    pub(crate) fn answer(self: &Arc<Self>, state: &State, repeated: bool) -> Delivery {
        let id = state.accepted.request_id;
        let result = match &state.result {
            // What belongs to the answer and is past its time makes all of it unavailable.
            Some(ResultFacts::Output { content: Some(facts), .. }) if !self.has_content(&id, facts) => None,
            Some(ResultFacts::Output { digest, .. }) => match self.journal.body(&id, BodyKind::Result) {
                // Exactly the bytes that were settled, or none.
                Ok(Some(bytes)) if Digest::of_bytes(&bytes) == *digest => serde_json::from_slice(&bytes).ok(),
                Ok(Some(_) | None) | Err(_) => None,
            },
            Some(ResultFacts::Nothing | ResultFacts::Withheld | ResultFacts::OverLimit) | None => None,
        };
        let envelope = Envelope::of(state, self.stored(state, result), repeated, self.now());
        Delivery { envelope, state: Some(Box::new(state.clone())), inner: Arc::clone(self) }
    }

    /// Whether the content that is on record is still stored.
    fn has_content(&self, id: &RequestId, facts: &ContentFacts) -> bool {
        match self.journal.content(id) {
            Ok(Some(content)) => {
                content.facts().digest == facts.digest && content.facts().bytes == facts.bytes
            }
            Ok(None) => false,
            Err(error) => {
                tracing::error!(%id, %error, "a stored content can't be read");
                false
            }
        }
    }

    /// The answer of a run that saw everything itself.
    pub(crate) fn delivery(self: &Arc<Self>, finished: Finished) -> Delivery {
        let Finished { state, result, children, adopted: _ } = finished;
        let stored = Stored { result: result.map(RemoteData::checked), children };
        Delivery {
            envelope: Envelope::of(&state, stored, false, self.now()),
            state: Some(Box::new(state)),
            inner: Arc::clone(self),
        }
    }
}
