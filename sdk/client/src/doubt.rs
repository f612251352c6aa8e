//! Which calls of this client may have happened, so that none of them is made again as if it were another.
//!
//! The host holds calls with the same key, or without one, together. Under another key the same input is
//! another intent to it, as it must be. Whoever calls a second time under a new key because the first got no
//! answer makes the second effect that the host would have kept from him; that is what is refused here.

use crate::call::{Call, CallKey};
use crate::envelope::Envelope;
use crate::error::Reach;
use crate::id::RequestId;
use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Nothing was sent: a call with the same input was made before under another key, or without one, and may
/// have happened.
///
/// What is left to do: make the first call again, key and all, which the host meets with the first; settle it
/// ([`Client::wait`](crate::Client::wait), [`Client::reconcile`](crate::Client::reconcile), or an operator's
/// word); or accept that it happens twice
/// ([`Client::repeat_unknown`](crate::Client::repeat_unknown)).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nothing was sent: the same was called before under another call key and may have happened ({})", .first.as_ref().map_or("its id is not known", RequestId::as_str))]
pub struct InDoubt {
    /// The first; none where its answer was lost.
    pub first: Option<RequestId>,
}

/// A call that may have happened.
struct Doubt {
    key: Option<CallKey>,
    id: Option<RequestId>,
}

/// The calls that may have happened, by a digest of what they do. Each is small, and there is none for a call
/// whose fate is known.
#[derive(Default)]
pub(crate) struct Doubts {
    hasher: RandomState,
    open: Mutex<HashMap<u64, Vec<Doubt>>>,
}

impl Doubts {
    /// Takes on a call that is about to be made.
    pub(crate) fn enter<'a>(&'a self, call: &Call) -> Result<Entered<'a>, InDoubt> {
        let what = self.what(call);
        let open = self.open();
        // Without a key the host finds every earlier one of the same input by itself.
        let other = call
            .key
            .as_ref()
            .and_then(|key| open.get(&what)?.iter().find(|doubt| doubt.key.as_ref() != Some(key)));
        match other {
            Some(doubt) => Err(InDoubt { first: doubt.id.clone() }),
            None => Ok(self.entered(what, call)),
        }
    }

    /// Takes on a call that is made although another of the same input may have happened.
    pub(crate) fn enter_all_the_same<'a>(&'a self, call: &Call) -> Entered<'a> {
        self.entered(self.what(call), call)
    }

    fn entered<'a>(&'a self, what: u64, call: &Call) -> Entered<'a> {
        Entered { doubts: self, what, key: call.key.clone(), about: None, is_out: false, is_lost: false }
    }

    /// Learns what became of an invocation.
    pub(crate) fn learn(&self, envelope: &Envelope) {
        let Some(id) = &envelope.request_id else { return };
        if !envelope.may_have_happened() {
            self.open().retain(|_, doubts| {
                doubts.retain(|doubt| doubt.id.as_ref() != Some(id));
                !doubts.is_empty()
            });
        }
    }

    fn what(&self, call: &Call) -> u64 {
        self.hasher.hash_one((call.operation.as_str(), call.value()))
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u64, Vec<Doubt>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Doubts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Doubts({})", self.open().len())
    }
}

/// A call that is being made. What was not answered when this is dropped may have happened.
pub(crate) struct Entered<'a> {
    doubts: &'a Doubts,
    what: u64,
    key: Option<CallKey>,
    /// The invocation that the newest request asks about, where it is none that may begin a new one.
    about: Option<RequestId>,
    /// A request is on its way.
    is_out: bool,
    /// The answer to a request was lost, and none since was about the same.
    is_lost: bool,
}

impl Entered<'_> {
    /// A request sets out: the call itself, or one about this invocation of it.
    pub(crate) fn sets_out(&mut self, about: Option<&RequestId>) {
        self.is_out = true;
        self.about = about.cloned();
    }

    /// There is no answer to that request, or none that can be read.
    pub(crate) const fn lost(&mut self, reach: Reach) {
        self.is_out = false;
        match reach {
            Reach::MayHaveReached => self.is_lost = true,
            Reach::NotReached => {}
        }
    }

    /// The host answered. What it says of an invocation holds for every request of this call; a refusal without
    /// one is about the newest request alone, and settles no earlier one.
    pub(crate) fn answered(&mut self, envelope: &Envelope) {
        self.is_out = false;
        let id = envelope.request_id.as_ref();
        let is_other = self.about.is_some() && self.about.as_ref() != id;
        if envelope.may_have_happened() {
            self.remember(id.cloned());
        } else if id.is_some() && !is_other {
            self.forget();
        }
        if id.is_some() {
            self.is_lost = false;
        }
    }

    fn forget(&self) {
        let mut open = self.doubts.open();
        if let Some(doubts) = open.get_mut(&self.what) {
            doubts.retain(|doubt| doubt.key != self.key);
            if doubts.is_empty() {
                open.remove(&self.what);
            }
        }
    }

    fn remember(&self, id: Option<RequestId>) {
        let mut open = self.doubts.open();
        let doubts = open.entry(self.what).or_default();
        match doubts.iter_mut().find(|doubt| doubt.key == self.key) {
            Some(doubt) => doubt.id = id.or(doubt.id.take()),
            None => doubts.push(Doubt { key: self.key.clone(), id }),
        }
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        if self.is_out || self.is_lost {
            self.remember(self.about.clone());
        }
    }
}
