//! What is told to whoever makes traces of calls, beside the record: which events were committed, how a call was
//! answered, how long a connector's step took. It is told without waiting: what finds no room is dropped and
//! counted, so that no call is ever slower for it. Nobody listens unless somebody asked to.

use crate::broker::{Broker, Inner};
use crate::delivery::Delivery;
use proofport_core::code::Code;
use proofport_core::contract::{Outcome, Phase};
use proofport_core::id::RequestId;
use proofport_core::time::UnixMillis;
use proofport_journal::Committed;
use std::sync::OnceLock;
use std::time::Duration;
use tokio::sync::mpsc;

/// One thing that happened. Facts of closed sets; what was asked for and of whom is not among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// Events of an invocation are on record, all in one commit.
    Recorded {
        /// Whose.
        invocation: RequestId,
        /// The sequence number of the first one.
        first_seq: u64,
        /// That of the last one.
        last_seq: u64,
    },
    /// A call was answered.
    Answered(Answered),
    /// A connector took a step.
    Stepped {
        /// For which invocation.
        invocation: RequestId,
        /// When it ended.
        ended: UnixMillis,
        /// Microseconds inside of it; none: it ended in a fault.
        micros: Option<u64>,
    },
}

/// How a call was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The invocation; none where nothing was taken on.
    pub invocation: Option<RequestId>,
    /// When the call was taken on; where it was not, or met an earlier one, when it came.
    pub since: UnixMillis,
    /// How long its answer took, in microseconds.
    pub micros: u64,
    /// Whether it succeeded.
    pub ok: bool,
    /// Where the invocation stopped or stands.
    pub phase: Option<Phase>,
    /// What is proved of the remote.
    pub outcome: Option<Outcome>,
    /// The code; none: success.
    pub code: Option<Code>,
    /// How often the effect was handed to its transport.
    pub attempts: u64,
    /// Whether it repeats an earlier call's answer.
    pub repeated: bool,
}

/// Where notes go, once somebody listens.
#[derive(Default)]
pub(crate) struct Notes(OnceLock<mpsc::Sender<Note>>);

impl Inner {
    fn tell_listener(&self, note: impl FnOnce() -> Note) {
        if let Some(listener) = self.notes.0.get()
            && listener.try_send(note()).is_err()
        {
            self.figures.lost_note();
        }
    }

    pub(crate) fn note_record(&self, invocation: Option<RequestId>, committed: Committed) {
        let Some(invocation) = invocation else { return };
        let Committed { first_seq, last_seq } = committed;
        self.tell_listener(|| Note::Recorded { invocation, first_seq, last_seq });
    }

    pub(crate) fn note_answer(&self, delivery: &Delivery, took: Duration) {
        self.tell_listener(|| {
            let (envelope, state) = (&delivery.envelope, delivery.state.as_ref());
            let came = || {
                let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
                UnixMillis(self.now().0.saturating_sub(millis))
            };
            let accepted = state.filter(|_| !envelope.repeated()).map(|state| state.accepted.at);
            Note::Answered(Answered {
                invocation: envelope.request_id(),
                since: accepted.unwrap_or_else(came),
                micros: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
                ok: envelope.ok(),
                phase: envelope.phase(),
                outcome: envelope.outcome(),
                code: envelope.code(),
                attempts: state.map_or(0, |state| state.attempts.len() as u64),
                repeated: envelope.repeated(),
            })
        });
    }

    pub(crate) fn note_step(&self, invocation: RequestId, micros: Option<u64>) {
        self.tell_listener(|| Note::Stepped { invocation, ended: self.now(), micros });
    }
}

impl Broker {
    /// Everything that happens from now on, with room for so many notes that wait. None: somebody listens
    /// already.
    #[must_use]
    pub fn notes(&self, room: usize) -> Option<mpsc::Receiver<Note>> {
        let (sender, receiver) = mpsc::channel(room.max(1));
        self.inner().notes.0.set(sender).ok().map(|()| receiver)
    }
}
