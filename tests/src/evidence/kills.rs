//! Hosts killed at random points, and what their successors claim, counted from the peer's log.

use super::Seeded;
use crate::killpoint::{Kill, Scenario};
use crate::peer::{Peer, Script, Scripts};
use crate::rig::{Rig, Wanted};
use proofport_core::contract::Outcome;
use proofport_core::event::EventKind;
use proofport_core::state::State;
use serde::Serialize;
use std::path::Path;
use std::process::Command;

/// What was counted.
#[derive(Debug, Default, Serialize)]
pub struct Counts {
    /// Where the randomness began.
    pub seed: u64,
    /// Hosts killed.
    pub kills: u64,
    /// Effects that the peer applied.
    pub effects: u64,
    /// Calls made again by callers that got no answer.
    pub called_again: u64,
    /// Dispatched, and claimed not attempted.
    pub false_not_attempted: u64,
    /// Effects without a dispatch on record.
    pub unrecorded_effects: u64,
    /// Effects that a caller's second call made although the first was dispatched.
    pub second_effects: u64,
    /// Invocations on record as unknown at the end.
    pub unknown: u64,
}

impl Counts {
    /// Whether no claim was false and nothing was done twice.
    #[must_use]
    pub const fn is_sound(&self) -> bool {
        self.false_not_attempted + self.unrecorded_effects + self.second_effects == 0
    }
}

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";

/// Kills `kills` hosts on one home, one after the other. `crash_host` is the program of that name.
///
/// # Panics
/// When a host can't be set up or outlives its kill point.
pub async fn run(kills: usize, seed: u64, crash_host: &Path) -> Counts {
    let mut random = Seeded::new(seed);
    let places: Vec<Kill> =
        Kill::all().into_iter().filter(|kill| kill.scenario() == Scenario::Write).collect();
    let peer = Peer::http(Scripts { each: Default::default(), default: Some(Script::answer(OK)) });
    let mut counts = Counts { seed, ..Counts::default() };
    let mut connections = 0;
    for _ in 0..kills {
        // A home of its own each time: the caller's intent must not be met from an earlier round.
        let rig = Rig::new(&Wanted::new("good", peer.origin(), "key").limits("idle_seconds = 0")).await;
        let kill = places[random.below(places.len())];
        let before = peer.effects();
        let output = Command::new(crash_host)
            .args([rig.home().as_os_str(), kill.to_word().as_ref(), "act".as_ref()])
            .output()
            .unwrap();
        assert!(output.status.code().is_none(), "{}: not killed: {output:?}", kill.to_word());
        counts.kills += 1;
        let open = rig.open().await;
        let journal = open.broker.journal();
        let known = journal.invocations(1).unwrap();
        connections += 1;
        tokio::task::block_in_place(|| peer.wait_ended(connections));
        let effects = peer.effects() - before;
        let mut dispatched = false;
        for id in known {
            let history = journal.history(&id).unwrap();
            let state = State::replay(history.iter().map(|r| &r.event)).unwrap().unwrap();
            dispatched |= history.iter().any(|r| r.event.kind() == EventKind::DispatchStarted);
            counts.false_not_attempted += u64::from(dispatched && state.outcome() == Outcome::NotAttempted);
            counts.unknown += u64::from(state.outcome() == Outcome::Unknown);
        }
        counts.unrecorded_effects += u64::from(effects > 0 && !dispatched);
        let again = open.call("act", "{}").await;
        counts.called_again += 1;
        connections += usize::from(!again.repeated());
        let after = peer.effects() - before;
        counts.second_effects += u64::from(dispatched && after > effects) + after.saturating_sub(1) as u64;
        counts.effects += after as u64;
        open.close();
    }
    counts
}
