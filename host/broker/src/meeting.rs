//! Calling again (design section 4): whether a call is met by one that is under way or in the journal.

use crate::broker::{Inner, ReadError};
use crate::delivery::Delivery;
use crate::intent::{IntentKeys, dividing};
use crate::links::counts;
use proofport_core::code::Code;
use proofport_core::digest::Digest;
use proofport_core::state::State;
use std::sync::{Arc, PoisonError};
use tokio::sync::watch;

/// A call that is under way.
#[derive(Clone)]
pub(crate) struct Going {
    /// Its intent, key included.
    pub(crate) intent: Digest,
    /// Its newest durable state.
    pub(crate) state: watch::Receiver<Option<State>>,
}

/// An intent that is under way, until it is not, however it ends.
pub(crate) struct UnderWay<'a> {
    pub(crate) inner: &'a Arc<Inner>,
    pub(crate) keys: Option<&'a IntentKeys>,
    pub(crate) own: watch::Receiver<Option<State>>,
}

impl UnderWay<'_> {
    /// Nobody meets this call any more.
    pub(crate) fn leave(&self) {
        let Some(keys) = self.keys else { return };
        let mut under_way = self.inner.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        for key in keys.all() {
            if let Some(going) = under_way.get_mut(&key) {
                going.retain(|other| !other.state.same_channel(&self.own));
                if going.is_empty() {
                    under_way.remove(&key);
                }
            }
        }
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.leave();
    }
}

/// What a call meets.
pub(crate) enum Meeting {
    /// Nothing: it is carried out.
    First,
    /// Its caller's key, in use for another input.
    KeyReused,
    /// The first call of its intent, whose answer this is.
    Other(Box<Delivery>),
}

enum Remembered {
    Same(Box<State>),
    OtherInput,
}

impl Inner {
    /// Whether this intent was met before: under way here, or in the journal. While children of this very batch
    /// are sent again, it waits.
    pub(crate) async fn meet(
        self: &Arc<Self>,
        keys: &IntentKeys,
        canonical: &str,
        own: &watch::Receiver<Option<State>>,
        may_be_divided: bool,
    ) -> Meeting {
        let dividing = may_be_divided.then(|| dividing(&keys.family()));
        loop {
            let (first, divided) = {
                let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
                let first =
                    keys.exact().find_map(|key| under_way.get(&key).and_then(|going| going.last()).cloned());
                let divided = dividing.and_then(|key| under_way.get(&key)?.last().cloned());
                if first.is_none() && divided.is_none() {
                    for key in keys.all() {
                        let going = Going { intent: keys.intent(), state: own.clone() };
                        under_way.entry(key).or_default().push(going);
                    }
                }
                (first, divided)
            };
            let mut first = match (first, divided) {
                (Some(first), _) => first,
                (None, Some(mut divided)) => {
                    // Afterwards the journal says which children were sent again.
                    while divided.state.changed().await.is_ok() {}
                    tokio::task::yield_now().await;
                    continue;
                }
                (None, None) => break,
            };
            // No id is shown before its acceptance is durable. A first that ends without ever being on
            // record was no first.
            let state = first.state.wait_for(Option::is_some).await.ok().and_then(|state| state.clone());
            if let Some(state) = state {
                return Meeting::Other(Box::new(self.answer(&state, true)));
            }
            // Its entry goes with it, on a thread that may not have come to that yet.
            tokio::task::yield_now().await;
        }
        match self.remembered(keys, canonical) {
            Ok(None) if self.is_key_taken(keys) => Meeting::KeyReused,
            Ok(None) => Meeting::First,
            Ok(Some(Remembered::Same(state))) => Meeting::Other(Box::new(self.answer(&state, true))),
            Ok(Some(Remembered::OtherInput)) => Meeting::KeyReused,
            Err(error) => {
                tracing::error!(%error, "an intent could not be looked up");
                Meeting::Other(Box::new(self.refusal(Code::Internal, None)))
            }
        }
    }

    /// Whether the caller's key is in use for another input right now.
    fn is_key_taken(&self, keys: &IntentKeys) -> bool {
        let under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        let mut going = keys.call_keys().filter_map(|key| under_way.get(&key)).flatten();
        going.any(|other| other.intent != keys.intent())
    }

    /// The journal's memory of this intent. After not attempted or rejected it is tried anew; one that
    /// was refused hides none that was not.
    fn remembered(&self, keys: &IntentKeys, canonical: &str) -> Result<Option<Remembered>, ReadError> {
        let mut newest: Option<Box<State>> = None;
        for key in keys.exact() {
            for id in self.journal.intents(&key)? {
                let Some(state) = self.state(&id)? else { continue };
                // Children of what was refused whole may have been sent again since.
                let standing = if counts(&state) { Some(state) } else { self.carried_on_elsewhere(&state)? };
                let newer = |state: &State| {
                    newest.as_ref().is_none_or(|other| other.accepted.at <= state.accepted.at)
                };
                if let Some(state) = standing.filter(newer) {
                    newest = Some(Box::new(state));
                }
            }
        }
        if let Some(state) = newest {
            return Ok(Some(Remembered::Same(state)));
        }
        let input = Digest::of_bytes(canonical.as_bytes());
        for key in keys.call_keys() {
            for id in self.journal.intents(&key)? {
                if self.state(&id)?.is_some_and(|state| state.accepted.input != input) {
                    return Ok(Some(Remembered::OtherInput));
                }
            }
        }
        Ok(None)
    }
}
