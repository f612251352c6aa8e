//! Many writes against a peer that fails at random in every way it can. Each call is compared with
//! what the peer saw, did and said.

use super::Seeded;
use crate::peer::{Act, Peer, Script, Scripts};
use crate::rig::{Rig, Wanted};
use proofport_core::contract::Outcome;
use proofport_core::envelope::Envelope;
use proofport_core::origin::Origin;
use serde::Serialize;
use std::collections::BTreeMap;

/// How a peer fails, or doesn't.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Failure {
    None,
    Refused,
    ResetAtOnce,
    ClosedDuringRequest,
    ResetAfterEffect,
    ClosedAfterEffect,
    CutHead,
    CutBody,
    BadFraming,
    Status401,
    Status422,
    Status429,
    Status500,
    Status502,
    Status503,
    Silent,
}

const FAILURES: [Failure; 16] = [
    Failure::None,
    Failure::Refused,
    Failure::ResetAtOnce,
    Failure::ClosedDuringRequest,
    Failure::ResetAfterEffect,
    Failure::ClosedAfterEffect,
    Failure::CutHead,
    Failure::CutBody,
    Failure::BadFraming,
    Failure::Status401,
    Failure::Status422,
    Failure::Status429,
    Failure::Status500,
    Failure::Status502,
    Failure::Status503,
    Failure::Silent,
];

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
const BOTH: &str =
    "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n";

impl Failure {
    fn script(self, random: &mut Seeded) -> Script {
        use Act::{Close, Effect, Hold, Read, ReadRequest, Reset, Send};
        let status = |status: u16, effect: bool| {
            let answer = format!("HTTP/1.1 {status} X\r\ncontent-length: 2\r\n\r\n{{}}");
            let mut acts = vec![ReadRequest];
            acts.extend(effect.then_some(Effect));
            acts.extend([Send(answer.into_bytes()), Close]);
            Script(acts)
        };
        match self {
            Self::None => Script::answer(OK),
            Self::Refused => Script(vec![Reset]),
            Self::ResetAtOnce => Script(vec![Read(1), Reset]),
            Self::ClosedDuringRequest => Script(vec![Read(1 + random.below(60)), Close]),
            Self::ResetAfterEffect => Script(vec![ReadRequest, Effect, Reset]),
            Self::ClosedAfterEffect => Script(vec![ReadRequest, Effect, Close]),
            Self::CutHead => {
                Script(vec![ReadRequest, Effect, Send(OK[..1 + random.below(36)].into()), Close])
            }
            Self::CutBody => Script(vec![ReadRequest, Effect, Send(OK[..OK.len() - 1].into()), Reset]),
            Self::BadFraming => Script(vec![ReadRequest, Effect, Send(BOTH.into()), Close]),
            Self::Status401 => status(401, false),
            Self::Status422 => status(422, false),
            Self::Status429 => status(429, false),
            Self::Status500 => status(500, true),
            Self::Status502 => status(502, random.below(2) == 0),
            Self::Status503 => status(503, random.below(2) == 0),
            Self::Silent => Script(vec![ReadRequest, Effect, Hold]),
        }
    }

    fn word(self) -> String {
        format!("{self:?}")
    }
}

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
    /// Claimed committed, and the peer gave no complete result.
    pub false_committed: u64,
    /// Effects beyond one a call.
    pub second_effects: u64,
    /// Calls by failure and claimed outcome.
    pub claims: BTreeMap<String, BTreeMap<String, u64>>,
}

impl Counts {
    /// Whether no claim was false and nothing was done twice.
    #[must_use]
    pub const fn is_sound(&self) -> bool {
        self.false_not_attempted + self.false_rejected + self.false_committed + self.second_effects == 0
    }

    fn judge(&mut self, failure: Failure, envelope: &Envelope, seen: usize, effects: usize) {
        self.calls += 1;
        self.effects += effects as u64;
        self.second_effects += effects.saturating_sub(1) as u64;
        let complete = matches!(failure, Failure::None | Failure::Status500);
        let outcome = envelope.outcome();
        match outcome {
            Some(Outcome::NotAttempted) => self.false_not_attempted += u64::from(seen > 0 || effects > 0),
            Some(Outcome::Rejected) => self.false_rejected += u64::from(effects > 0),
            Some(Outcome::Committed) => self.false_committed += u64::from(!complete || effects != 1),
            Some(Outcome::Unknown) | None => {}
        }
        let word = outcome.map_or("none", Outcome::as_str).to_owned();
        *self.claims.entry(failure.word()).or_default().entry(word).or_default() += 1;
    }

    fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.effects += other.effects;
        self.false_not_attempted += other.false_not_attempted;
        self.false_rejected += other.false_rejected;
        self.false_committed += other.false_committed;
        self.second_effects += other.second_effects;
        for (failure, outcomes) in other.claims {
            let mine = self.claims.entry(failure).or_default();
            for (outcome, count) in outcomes {
                *mine.entry(outcome).or_default() += count;
            }
        }
    }
}

/// Makes `calls` calls, spread over a few hosts at once.
///
/// # Panics
/// When a host can't be set up.
pub async fn run(calls: usize, seed: u64) -> Counts {
    const HOSTS: usize = 4;
    let lanes = (0..HOSTS as u64).map(|lane| tokio::spawn(one_host(calls.div_ceil(HOSTS), seed ^ lane)));
    let mut total = Counts { seed, ..Counts::default() };
    for lane in lanes.collect::<Vec<_>>() {
        total.add(lane.await.unwrap());
    }
    total
}

/// One host, one call at a time, so that the peer's log tells which call did what.
async fn one_host(calls: usize, seed: u64) -> Counts {
    let mut random = Seeded::new(seed);
    let failures: Vec<Failure> = (0..calls).map(|_| FAILURES[random.below(FAILURES.len())]).collect();
    let scripts =
        failures.iter().filter(|f| **f != Failure::Refused).map(|f| f.script(&mut random)).collect();
    let peer = Peer::http(Scripts { each: scripts, default: None });
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let nobody = Origin::parse(&format!("http://{nobody}")).unwrap();
    let limits = "deadline_seconds = 1\nsetup_attempts = 1\nidle_seconds = 0";
    let reachable = Rig::new(&Wanted::new("good", peer.origin(), "key").limits(limits)).await;
    let unreachable = Rig::new(&Wanted::new("good", nobody, "key").limits(limits)).await;
    let (reachable, unreachable) = (reachable.open().await, unreachable.open().await);
    let mut counts = Counts::default();
    let (mut connections, mut ended) = (0, 0);
    for (i, failure) in failures.into_iter().enumerate() {
        let before = peer.effects();
        let input = format!("{{\"n\":{i}}}");
        if failure == Failure::Refused {
            let envelope = unreachable.call("act", &input).await;
            counts.judge(failure, &envelope, 0, peer.effects() - before);
            continue;
        }
        let envelope = reachable.call("act", &input).await;
        connections += 1;
        if failure != Failure::Silent {
            // A silent connection stays held until the peer is dropped.
            ended += 1;
            tokio::task::block_in_place(|| peer.wait_ended(ended));
        }
        let seen = peer.received().get(connections - 1).map_or(0, Vec::len);
        counts.judge(failure, &envelope, seen, peer.effects() - before);
    }
    counts
}
