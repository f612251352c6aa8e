//! One host and one peer, one call at a time, so that the peer's log tells which call did what.

use super::episode::{Before, Episode, Planned, one_of};
use super::{Counts, Truth, http1, http2};
use crate::evidence::Seeded;
use crate::peer::h2::Kind;
use crate::peer::{Alpn, Ca, Peer, ScriptList};
use crate::rig::{Open, Rig, Wanted};
use proofport_core::origin::Origin;
use rustix::net::{AddressFamily, SocketAddrV4, SocketType, bind, getsockname, socket};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// How many calls one home and one peer serve: their logs are looked through after each.
const A_HOME: usize = 120;

/// What kind of peer a lane has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaks {
    Http,
    Https,
    Http2,
}

impl Speaks {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
            Self::Http2 => "h2",
        }
    }
}

/// A lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lane {
    pub(super) speaks: Speaks,
    /// Whether connections are kept for effects of every contract.
    pub(super) keeps: bool,
}

/// Everything that a call needs.
struct Stage {
    lane: Lane,
    peer: Peer,
    reachable: Open,
    unreachable: Open,
    /// Connections that the scripts so far are for.
    planned: usize,
    signals: usize,
}

impl Lane {
    /// Makes at least this many calls.
    pub(super) async fn run(self, calls: u64, mut random: Seeded, ca: Arc<Ca>) -> Counts {
        let mut counts = Counts::default();
        let folder = tempfile::tempdir().unwrap();
        let pem = folder.path().join("ca.pem");
        std::fs::write(&pem, ca.pem()).unwrap();
        let more = format!(
            "trusted_hops = [\"edge\"]\nca_file = {:?}\n{}",
            pem.to_str().unwrap(),
            if self.keeps { "fresh_connections = \"never\"\n" } else { "" }
        );
        while counts.calls < calls {
            let left = usize::try_from(calls - counts.calls).unwrap();
            match self.speaks {
                Speaks::Http | Speaks::Https => {
                    let tls = self.speaks == Speaks::Https;
                    let episodes = choose(&mut random, left, |random| http1::deck(random, tls));
                    let scripts: ScriptList<_> = scripts_of(&episodes).into();
                    let peer = if tls { Peer::https(scripts, &ca) } else { Peer::http(scripts) };
                    self.play(peer, &more, episodes, &mut random, &mut counts).await;
                }
                Speaks::Http2 => {
                    let episodes = choose(&mut random, left, http2::deck);
                    let server = ca.server_offering(&["127.0.0.1"], Alpn::Http2);
                    let peer = Peer::https2_as(scripts_of(&episodes), server);
                    self.play(peer, &more, episodes, &mut random, &mut counts).await;
                }
            }
        }
        counts
    }

    async fn play<S>(
        self,
        peer: Peer,
        more: &str,
        episodes: Vec<Episode<S>>,
        random: &mut Seeded,
        counts: &mut Counts,
    ) {
        let (nobody, _held) = nobody();
        let rig = async |origin: Origin| {
            let mut wanted = Wanted::new("repeats", origin, "key");
            wanted.more = more.to_owned();
            let rig = Rig::new(&wanted.limits("deadline_seconds = 1\nsetup_attempts = 1")).await;
            let open = rig.open().await;
            (rig, open)
        };
        let (_home, reachable) = rig(peer.origin()).await;
        let (_other, unreachable) = rig(nobody).await;
        let mut stage = Stage { lane: self, peer, reachable, unreachable, planned: 0, signals: 0 };
        for (episode, n) in episodes.into_iter().zip(0_usize..) {
            let operations: &[&str] = match (self.speaks, self.keeps || !episode.reuses) {
                (Speaks::Http2, _) | (_, false) => &["same", "keyed"],
                (Speaks::Http | Speaks::Https, true) => &["once", "same", "keyed", "held"],
            };
            let operation = episode.of.unwrap_or_else(|| one_of(random, operations));
            stage.play(&episode, operation, n, counts).await;
        }
        stage.reachable.close();
        stage.unreachable.close();
    }
}

impl Stage {
    async fn play<S>(&mut self, episode: &Episode<S>, operation: &str, n: usize, counts: &mut Counts) {
        let before = self.planned;
        self.planned += episode.scripts.len();
        let last = episode.calls.len() - 1;
        for (i, planned) in episode.calls.iter().enumerate() {
            match planned.before {
                Before::Nothing => {}
                Before::Signal => {
                    self.signals += 1;
                    self.peer.step();
                    tokio::task::block_in_place(|| self.peer.wait_signals(self.signals));
                }
                Before::End => {
                    self.peer.step();
                    tokio::task::block_in_place(|| self.peer.wait_ended(before + 1));
                }
            }
            let was = self.truth();
            let envelope = self.call(planned, operation, n, i).await;
            if i == last {
                tokio::task::block_in_place(|| self.settle(&planned.failure));
            }
            let is = self.truth();
            let truth = Truth { seen: is.seen - was.seen, effects: is.effects - was.effects };
            counts.judge(self.lane, operation, planned, &envelope, truth);
        }
    }

    async fn call(
        &self,
        planned: &Planned,
        operation: &str,
        n: usize,
        i: usize,
    ) -> proofport_core::envelope::Envelope {
        let input = format!("{{\"bytes\":{},\"n\":{}}}", planned.bytes, 2 * n + i);
        let open = if planned.listened { &self.reachable } else { &self.unreachable };
        open.call(operation, &input).await
    }

    /// Uses up the scripts that the host had no use for, and waits until all of them are over.
    fn settle(&self, what: &str) {
        for _ in self.peer.accepted()..self.planned {
            // Refused or not, the test's own connection says nothing.
            let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.peer.port()));
        }
        self.peer.wait_ended(self.planned);
        assert_eq!(self.peer.accepted(), self.planned, "a connection that nobody planned: {}", what);
    }

    /// What the peer saw and did since it began.
    fn truth(&self) -> Truth {
        let seen = match self.lane.speaks {
            Speaks::Http | Speaks::Https => self.peer.received().iter().map(Vec::len).sum(),
            Speaks::Http2 => {
                let message = |kind| matches!(kind, Kind::Headers | Kind::Data | Kind::Continuation);
                self.peer.frames().iter().flatten().filter(|frame| message(frame.kind)).count()
            }
        };
        Truth { seen, effects: self.peer.effects() }
    }
}

/// Whole decks, shuffled, until there are enough calls for a home, or for the lane.
fn choose<S>(
    random: &mut Seeded,
    left: usize,
    deck: impl Fn(&mut Seeded) -> Vec<Episode<S>>,
) -> Vec<Episode<S>> {
    let mut chosen: Vec<Episode<S>> = Vec::new();
    let mut calls = 0;
    while calls < left.min(A_HOME) {
        let mut deck = deck(random);
        while calls < left && !deck.is_empty() {
            let episode = deck.swap_remove(random.below(deck.len()));
            calls += episode.calls.len();
            chosen.push(episode);
        }
    }
    chosen
}

fn scripts_of<S: Clone>(episodes: &[Episode<S>]) -> Vec<S> {
    episodes.iter().flat_map(|episode| episode.scripts.clone()).collect()
}

/// An origin on which nobody listens, and never will while the socket is held.
fn nobody() -> (Origin, OwnedFd) {
    let held = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&held, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = SocketAddr::try_from(getsockname(&held).unwrap()).unwrap();
    (Origin::parse(&format!("http://{address}")).unwrap(), held)
}
