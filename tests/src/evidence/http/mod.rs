//! Many effects over HTTP/1.1, TLS and HTTP/2 against peers that fail in every way they can. Each call is
//! compared with what the peer saw, did and said.

mod episode;
mod http1;
mod http2;
mod lane;

use crate::evidence::Seeded;
use crate::peer::Ca;
use episode::Planned;
use lane::{Lane, Speaks};
use proofport_core::contract::Outcome;
use proofport_core::envelope::Envelope;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

/// Outcomes as the table shows them; `none` is an answer without one.
const OUTCOMES: [&str; 5] = ["not_attempted", "rejected", "committed", "unknown", "none"];

/// What was counted.
#[derive(Debug, Default, Serialize)]
pub struct Counts {
    /// Where the randomness began.
    pub seed: u64,
    /// Calls made.
    pub calls: u64,
    /// Effects that the peers applied.
    pub effects: u64,
    /// Claimed not attempted, and the peer saw bytes of the request.
    pub false_not_attempted: u64,
    /// Claimed rejected, and the peer applied the effect.
    pub false_rejected: u64,
    /// Claimed committed, and the peer did not send that complete result.
    pub false_committed: u64,
    /// Effects beyond one a call.
    pub second_effects: u64,
    /// Calls by what the contract promises about a second arrival.
    pub operations: BTreeMap<String, u64>,
    /// Calls by failure and claimed outcome.
    pub claims: BTreeMap<String, BTreeMap<String, u64>>,
    /// How many of a failure's calls ended unknown, from 0 to 1.
    pub unknown_rate: BTreeMap<String, f64>,
}

/// What the peer's log says of one call.
#[derive(Clone, Copy, Debug)]
struct Truth {
    /// Bytes of the request that the peer read; over HTTP/2, frames of it.
    seen: usize,
    effects: usize,
}

impl Counts {
    /// Whether no claim was false and nothing was done twice.
    #[must_use]
    pub const fn is_sound(&self) -> bool {
        self.false_not_attempted + self.false_rejected + self.false_committed + self.second_effects == 0
    }

    /// The claims as a table.
    #[must_use]
    pub fn table(&self) -> String {
        let mut out = format!("{:<34}", "");
        // Writing to a `String` can't fail.
        let _ = OUTCOMES.iter().try_for_each(|word| write!(out, " {word:>13}"));
        let _ = writeln!(out, " {:>9}", "unknown");
        for (failure, outcomes) in &self.claims {
            let _ = write!(out, "{failure:<34}");
            let count = |word: &&str| outcomes.get(*word).copied().unwrap_or(0);
            let _ = OUTCOMES.iter().try_for_each(|word| write!(out, " {:>13}", count(word)));
            let rate = self.unknown_rate.get(failure).copied().unwrap_or(0.0);
            let _ = writeln!(out, " {:>8.1}%", rate * 100.0);
        }
        out
    }

    fn judge(&mut self, lane: Lane, operation: &str, planned: &Planned, envelope: &Envelope, truth: Truth) {
        let Truth { seen, effects } = truth;
        self.calls += 1;
        self.effects += effects as u64;
        self.second_effects += effects.saturating_sub(1) as u64;
        let outcome = envelope.outcome();
        match outcome {
            Some(Outcome::NotAttempted) => self.false_not_attempted += u64::from(seen > 0 || effects > 0),
            Some(Outcome::Rejected) => self.false_rejected += u64::from(effects > 0),
            Some(Outcome::Committed) => {
                // A success needs its effect as well; a complete 500 is the peer's own word.
                let sent = planned.complete && (effects == 1 || envelope.code().is_some());
                self.false_committed += u64::from(!sent);
            }
            Some(Outcome::Unknown) | None => {}
        }
        let word = outcome.map_or("none", Outcome::as_str).to_owned();
        let failure = format!("{} {}", lane.speaks.word(), planned.failure);
        *self.claims.entry(failure).or_default().entry(word).or_default() += 1;
        *self.operations.entry(operation.to_owned()).or_default() += 1;
    }

    fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.effects += other.effects;
        self.false_not_attempted += other.false_not_attempted;
        self.false_rejected += other.false_rejected;
        self.false_committed += other.false_committed;
        self.second_effects += other.second_effects;
        for (operation, count) in other.operations {
            *self.operations.entry(operation).or_default() += count;
        }
        for (failure, outcomes) in other.claims {
            let mine = self.claims.entry(failure).or_default();
            for (outcome, count) in outcomes {
                *mine.entry(outcome).or_default() += count;
            }
        }
    }

    fn rate(&mut self) {
        for (failure, outcomes) in &self.claims {
            let unknown = outcomes.get(Outcome::Unknown.as_str()).copied().unwrap_or(0);
            let all: u64 = outcomes.values().sum();
            self.unknown_rate.insert(failure.clone(), unknown as f64 / all.max(1) as f64);
        }
    }
}

/// Makes at least `calls` calls, over lanes at once: each version of HTTP, with connections that are kept
/// and with fresh ones for effects that nothing may repeat.
///
/// # Panics
/// When a host can't be set up.
pub async fn run(calls: usize, seed: u64) -> Counts {
    let ca = Arc::new(Ca::new());
    let lanes: Vec<Lane> = [Speaks::Http, Speaks::Https, Speaks::Http2]
        .into_iter()
        .flat_map(|speaks| [true, false].map(|keeps| Lane { speaks, keeps }))
        .collect();
    let each = calls.div_ceil(lanes.len());
    let running: Vec<_> = lanes
        .into_iter()
        .zip(0_u64..)
        .map(|(lane, n)| {
            let random = Seeded::new(seed.wrapping_mul(31).wrapping_add(n));
            tokio::spawn(lane.run(each as u64, random, Arc::clone(&ca)))
        })
        .collect();
    let mut total = Counts { seed, ..Counts::default() };
    for lane in running {
        total.add(lane.await.unwrap());
    }
    total.rate();
    total
}
