//! What happened to a peer, and what it waits for.

use super::h2::{Frame, Request};
use proofport_core::digest::Digest;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long anything is waited for before the test is given up.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a TLS handshake settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// The protocol that ALPN chose (RFC 7301). None: the client named none, or the server none.
    pub protocol: Option<String>,
    /// Whether the client came back with a session of before.
    pub resumed: bool,
    /// The SHA-256 of the certificate that the client proved to hold, over its DER form; in a resumed
    /// session, of the one that it showed in the first.
    pub client: Option<Digest>,
}

/// One connection, in the order of acceptance.
#[derive(Default)]
pub(super) struct Connection {
    pub(super) received: Vec<u8>,
    pub(super) session: Option<Session>,
    pub(super) frames: Vec<Frame>,
    pub(super) requests: Vec<Request>,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) connections: Vec<Connection>,
    pub(super) requests: usize,
    pub(super) effects: usize,
    pub(super) signals: usize,
    pub(super) ended: usize,
    pub(super) resumed: usize,
    /// Steps that the test made and no script has taken.
    steps: usize,
    released: bool,
    stopped: bool,
}

#[derive(Default)]
pub(super) struct Log {
    state: Mutex<State>,
    changed: Condvar,
}

impl Log {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let done = change(&mut self.lock());
        self.changed.notify_all();
        done
    }

    /// A copy of something, for each connection.
    pub(super) fn each<T>(&self, copy: impl Fn(&Connection) -> T) -> Vec<T> {
        self.lock().connections.iter().map(copy).collect()
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.lock().stopped
    }

    pub(super) fn release(&self) {
        self.change(|state| state.released = true);
    }

    pub(super) fn stop(&self) {
        self.change(|state| (state.released, state.stopped) = (true, true));
    }

    pub(super) fn make_step(&self) {
        self.change(|state| state.steps += 1);
    }

    /// Makes room for a connection; its place.
    pub(super) fn accepted_one(&self) -> usize {
        self.change(|state| {
            state.connections.push(Connection::default());
            state.connections.len() - 1
        })
    }

    pub(super) fn wait(&self, what: &str, done: impl Fn(&State) -> bool) {
        let (_state, waited) = self
            .changed
            .wait_timeout_while(self.lock(), PATIENCE, |state| !done(state))
            .unwrap_or_else(PoisonError::into_inner);
        assert!(!waited.timed_out(), "the peer waited in vain for {what}");
    }

    /// Waits until the test releases.
    pub(super) fn hold(&self) {
        let held = self.changed.wait_while(self.lock(), |state| !state.released);
        drop(held.unwrap_or_else(PoisonError::into_inner));
    }

    /// Takes one of the test's steps, and waits until there is one.
    pub(super) fn take_step(&self) {
        let waited = self.changed.wait_while(self.lock(), |state| state.steps == 0 && !state.stopped);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        state.steps = state.steps.saturating_sub(1);
    }
}
