//! What the writer counts of its commits: how many batches shared one, and how long it took. The writer alone
//! adds, by plain stores into fixed arrays; whoever reads waits for nothing.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The upper bounds of the sizes that groups are counted in, in batches.
pub const GROUP_SIZES: [u64; 11] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/// The upper bounds of what commits are counted in, in microseconds.
pub const COMMIT_MICROS: [u64; 12] =
    [250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 10_000_000];

/// What was counted since the journal was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitFigures {
    /// Commits by the batches in them, each at most so many; none: more than all bounds.
    pub groups: Vec<(Option<u64>, u64)>,
    /// Batches in all of them.
    pub batches: u64,
    /// Commits by how long they took, each at most so many microseconds; none: longer than all bounds.
    pub durations: Vec<(Option<u64>, u64)>,
    /// How long all of them took together, in microseconds.
    pub micros: u64,
}

/// The counters.
#[derive(Default)]
pub(crate) struct Commits {
    groups: [AtomicU64; GROUP_SIZES.len() + 1],
    batches: AtomicU64,
    durations: [AtomicU64; COMMIT_MICROS.len() + 1],
    micros: AtomicU64,
}

fn one(bounds: &[u64], counters: &[AtomicU64], value: u64) {
    let bucket = bounds.iter().position(|most| value <= *most).unwrap_or(bounds.len());
    if let Some(counter) = counters.get(bucket) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

fn read(bounds: &[u64], counters: &[AtomicU64]) -> Vec<(Option<u64>, u64)> {
    let bounds = bounds.iter().copied().map(Some).chain([None]);
    bounds.zip(counters.iter().map(|counter| counter.load(Ordering::Relaxed))).collect()
}

impl Commits {
    /// So many batches were committed together, in this time.
    pub(crate) fn committed(&self, batches: u64, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        one(&GROUP_SIZES, &self.groups, batches);
        one(&COMMIT_MICROS, &self.durations, micros);
        self.batches.fetch_add(batches, Ordering::Relaxed);
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }

    pub(crate) fn figures(&self) -> CommitFigures {
        CommitFigures {
            groups: read(&GROUP_SIZES, &self.groups),
            batches: self.batches.load(Ordering::Relaxed),
            durations: read(&COMMIT_MICROS, &self.durations),
            micros: self.micros.load(Ordering::Relaxed),
        }
    }
}
