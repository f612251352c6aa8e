//! What this process counted, for metrics. Every label is a value of a closed enum; nothing here names a
//! connection, a target or a caller.

use proofport_core::code::Code;
use proofport_core::contract::{Outcome, Phase};
use proofport_core::envelope::Envelope;
use proofport_core::event::EventKind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The upper bounds of what durations are counted in, in milliseconds; one more holds what takes longer.
pub const DURATION_MILLIS: [u64; 14] =
    [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 10_000, 30_000, 120_000];

/// Counters of this process, from zero at its start.
#[derive(Debug)]
pub struct Figures {
    events: Vec<AtomicU64>,
    phases: Vec<AtomicU64>,
    outcomes: Vec<AtomicU64>,
    codes: Vec<AtomicU64>,
    /// Answers without a code: successes.
    ok: AtomicU64,
    /// Answers that repeated an earlier call's.
    repeated: AtomicU64,
    durations: [AtomicU64; DURATION_MILLIS.len() + 1],
    duration_micros: AtomicU64,
    connector_steps: AtomicU64,
    connector_fuel: AtomicU64,
    connector_micros: AtomicU64,
    connector_faults: AtomicU64,
    spans_exported: AtomicU64,
    spans_dropped: AtomicU64,
    notes_dropped: AtomicU64,
}

/// What was counted at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Events put on record, by kind.
    pub events: Vec<(EventKind, u64)>,
    /// Answers by the phase where the invocation stopped or stands.
    pub phases: Vec<(Phase, u64)>,
    /// Answers by what is proved of the remote.
    pub outcomes: Vec<(Outcome, u64)>,
    /// Answers by code; none: successes.
    pub codes: Vec<(Option<Code>, u64)>,
    /// Answers that repeated an earlier call's, and sent nothing.
    pub repeated: u64,
    /// Calls by how long they took, each at most so many milliseconds; none: longer than all of them.
    pub durations: Vec<(Option<u64>, u64)>,
    /// How long all of them took together, in microseconds.
    pub duration_micros: u64,
    /// Steps that connectors took.
    pub connector_steps: u64,
    /// Fuel that they used.
    pub connector_fuel: u64,
    /// Microseconds inside of them.
    pub connector_micros: u64,
    /// Steps that ended in a fault.
    pub connector_faults: u64,
    /// Spans of traces that a collector took.
    pub spans_exported: u64,
    /// Spans that none took.
    pub spans_dropped: u64,
    /// Notes that no span was made of: there was no room for them, or their record could not be read.
    pub notes_dropped: u64,
}

fn zeros(count: usize) -> Vec<AtomicU64> {
    (0..count).map(|_| AtomicU64::new(0)).collect()
}

impl Default for Figures {
    fn default() -> Self {
        Self {
            events: zeros(EventKind::ALL.len()),
            phases: zeros(Phase::ALL.len()),
            outcomes: zeros(Outcome::ALL.len()),
            codes: zeros(Code::ALL.len()),
            ok: AtomicU64::new(0),
            repeated: AtomicU64::new(0),
            durations: std::array::from_fn(|_| AtomicU64::new(0)),
            duration_micros: AtomicU64::new(0),
            connector_steps: AtomicU64::new(0),
            connector_fuel: AtomicU64::new(0),
            connector_micros: AtomicU64::new(0),
            connector_faults: AtomicU64::new(0),
            spans_exported: AtomicU64::new(0),
            spans_dropped: AtomicU64::new(0),
            notes_dropped: AtomicU64::new(0),
        }
    }
}

fn one<T: PartialEq>(all: &[T], counters: &[AtomicU64], value: &T) {
    let position = all.iter().position(|known| known == value);
    if let Some(counter) = position.and_then(|position| counters.get(position)) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

fn read<T: Copy>(all: &[T], counters: &[AtomicU64]) -> Vec<(T, u64)> {
    all.iter().zip(counters).map(|(value, counter)| (*value, counter.load(Ordering::Relaxed))).collect()
}

impl Figures {
    /// An event was put on record.
    pub fn recorded(&self, kind: EventKind) {
        one(EventKind::ALL, &self.events, &kind);
    }

    /// How many events of this kind were put on record.
    #[must_use]
    pub fn times(&self, kind: EventKind) -> u64 {
        let all = EventKind::ALL.iter().zip(&self.events);
        all.filter(|(known, _)| **known == kind).map(|(_, counter)| counter.load(Ordering::Relaxed)).sum()
    }

    /// An answer was given to a call.
    pub(crate) fn answered(&self, envelope: &Envelope, took: Duration) {
        if let Some(phase) = envelope.phase() {
            one(Phase::ALL, &self.phases, &phase);
        }
        if let Some(outcome) = envelope.outcome() {
            one(Outcome::ALL, &self.outcomes, &outcome);
        }
        match envelope.code() {
            Some(code) => one(Code::ALL, &self.codes, &code),
            None => {
                self.ok.fetch_add(1, Ordering::Relaxed);
            }
        }
        self.repeated.fetch_add(u64::from(envelope.repeated()), Ordering::Relaxed);
        let millis = took.as_millis();
        let bucket = DURATION_MILLIS.iter().position(|most| millis <= u128::from(*most));
        if let Some(counter) = self.durations.get(bucket.unwrap_or(DURATION_MILLIS.len())) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.duration_micros.fetch_add(micros, Ordering::Relaxed);
    }

    /// A connector took a step.
    pub(crate) fn stepped(&self, spent: Option<(u64, u64)>) {
        self.connector_steps.fetch_add(1, Ordering::Relaxed);
        match spent {
            Some((fuel, micros)) => {
                self.connector_fuel.fetch_add(fuel, Ordering::Relaxed);
                self.connector_micros.fetch_add(micros, Ordering::Relaxed);
            }
            None => {
                self.connector_faults.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// A collector took so many spans, and so many were lost.
    pub fn spans(&self, exported: u64, dropped: u64) {
        self.spans_exported.fetch_add(exported, Ordering::Relaxed);
        self.spans_dropped.fetch_add(dropped, Ordering::Relaxed);
    }

    /// No span is made of something that happened.
    pub fn lost_note(&self) {
        self.notes_dropped.fetch_add(1, Ordering::Relaxed);
    }

    /// What was counted so far.
    #[must_use]
    pub fn counted(&self) -> Counted {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let codes = read(Code::ALL, &self.codes).into_iter().map(|(code, count)| (Some(code), count));
        let bounds = DURATION_MILLIS.iter().copied().map(Some).chain([None]);
        Counted {
            events: read(EventKind::ALL, &self.events),
            phases: read(Phase::ALL, &self.phases),
            outcomes: read(Outcome::ALL, &self.outcomes),
            codes: codes.chain([(None, load(&self.ok))]).collect(),
            repeated: load(&self.repeated),
            durations: bounds.zip(self.durations.iter().map(load)).collect(),
            duration_micros: load(&self.duration_micros),
            connector_steps: load(&self.connector_steps),
            connector_fuel: load(&self.connector_fuel),
            connector_micros: load(&self.connector_micros),
            connector_faults: load(&self.connector_faults),
            spans_exported: load(&self.spans_exported),
            spans_dropped: load(&self.spans_dropped),
            notes_dropped: load(&self.notes_dropped),
        }
    }
}
