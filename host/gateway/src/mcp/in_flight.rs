//! Calls that are being carried out, by what their client calls them, so that an explicit
//! `notifications/cancelled` finds the one it means. A stream that is lost is no word: nothing is cancelled
//! by that, whatever the revision of the protocol says of the request.

use crate::agent::Agent;
use proofport_core::id::RequestId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;

/// What a client calls a request of its own: its agent's session, and the JSON-RPC id as JSON text.
pub(super) type Called = (String, String);

/// What this agent's client calls this request.
pub(super) fn called(agent: &Agent, id: &rmcp::model::RequestId) -> Called {
    // A number is another id than the text of its digits.
    (agent.caller().session.clone(), serde_json::to_string(id).unwrap_or_default())
}

/// The calls that are being carried out.
#[derive(Clone, Default)]
pub(super) struct InFlight {
    calls: Arc<Mutex<HashMap<Called, Vec<Call>>>>,
}

struct Call {
    /// Tells this call from others that are called the same.
    mark: Arc<()>,
    /// The word that loses interest in it.
    cancel: Option<oneshot::Sender<()>>,
    /// Its id, once that may be shown.
    id: Option<RequestId>,
}

/// A call's place, until it is answered.
pub(super) struct Place {
    all: InFlight,
    called: Called,
    mark: Arc<()>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut calls = self.all.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(same) = calls.get_mut(&self.called) {
            same.retain(|call| !Arc::ptr_eq(&call.mark, &self.mark));
            if same.is_empty() {
                calls.remove(&self.called);
            }
        }
    }
}

impl InFlight {
    /// Enters a call.
    pub(super) fn enter(&self, called: Called, cancel: oneshot::Sender<()>) -> Place {
        let mark = Arc::new(());
        let call = Call { mark: Arc::clone(&mark), cancel: Some(cancel), id: None };
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.entry(called.clone()).or_default().push(call);
        drop(calls);
        Place { all: self.clone(), called, mark }
    }

    /// The id of a call that has got one.
    pub(super) fn name(&self, called: &Called, id: RequestId) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some([call]) = calls.get_mut(called).map(Vec::as_mut_slice) {
            call.id = Some(id);
        }
    }

    /// Its client loses interest in a call. Returns its id where it is known, for the record. Where two
    /// clients of one session call different requests the same, nobody knows which is meant, and nothing
    /// is done: an agent has a tool that names the call.
    pub(super) fn cancel(&self, called: &Called) -> Option<RequestId> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        match calls.get_mut(called).map(Vec::as_mut_slice) {
            Some([call]) => {
                // Whoever is not there any more has ended.
                let _ = call.cancel.take().map(|cancel| cancel.send(()));
                call.id
            }
            Some([]) | None => None,
            Some([_, _, ..]) => {
                tracing::info!("a cancellation that could mean several calls is left alone");
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(id: &str) -> Called {
        ("session".to_owned(), id.to_owned())
    }

    #[test]
    fn a_cancellation_finds_the_one_it_means_or_nothing() {
        let all = InFlight::default();
        let (tell, mut first) = oneshot::channel();
        let place = all.enter(by("1"), tell);
        let id = RequestId::from_random([1; 16]);
        all.name(&by("1"), id);
        assert_eq!(all.cancel(&by("2")), None);
        assert!(first.try_recv().is_err_and(|error| error == oneshot::error::TryRecvError::Empty));
        assert_eq!(all.cancel(&by("1")), Some(id));
        assert_eq!(first.try_recv(), Ok(()));
        drop(place);
        assert!(all.calls.lock().unwrap().is_empty());

        let (tell, mut one) = oneshot::channel();
        let (tell_other, mut other) = oneshot::channel();
        let places = [all.enter(by("1"), tell), all.enter(by("1"), tell_other)];
        assert_eq!(all.cancel(&by("1")), None);
        for receiver in [&mut one, &mut other] {
            assert_eq!(receiver.try_recv(), Err(oneshot::error::TryRecvError::Empty));
        }
        drop(places);
        assert!(all.calls.lock().unwrap().is_empty());
    }
}
