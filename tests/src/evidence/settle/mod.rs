//! Thousands of calls of every contract to other people's servers, over ways on which requests and answers
//! meet with accidents, by a host that is killed again and again: whether every record is settled in the end
//! or waits for a person, and whether what it says is what the peers have.
//!
//! A caller that got no answer calls again with the same input, as agents do. `localstripe` ignores
//! idempotency keys, so it is there twice: behind a layer that honours them, and as it is, where the admin has
//! marked the connection.

mod books;
mod counts;
mod host;
mod kind;
mod record;
pub mod serve;
mod site;

pub use counts::{Counts, Tally};

use crate::evidence::Seeded;
use crate::killpoint::{Kill, Scenario};
use crate::rig::{self, Open, caller};
use crate::way::Accident;
use books::Books;
use host::Host;
use kind::Kind;
use proofport_broker::{Clock, NoProbe, SystemClock};
use proofport_core::id::RequestId;
use proofport_core::inquiry::{Move, announced};
use proofport_core::time::UnixMillis;
use record::Records;
use serve::{Line, Said};
use site::Site;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::task::JoinSet;

/// How many calls wait for their answers at a time.
const AT_ONCE: usize = 16;

/// How far the clock is put forward in the end, in seconds: by then absence is proof where it ever is.
const AHEAD: u64 = 120;

/// How long the host may take for its repeats, before that, and for its questions afterwards.
const PATIENCE: Duration = Duration::from_secs(300);

/// How long a run is, and how rough.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Calls with inputs of their own.
    pub invocations: usize,
    /// How often the host is killed.
    pub kills: usize,
    /// Where the randomness begins.
    pub seed: u64,
    /// How many of a hundred effects meet with an accident, and of four hundred queries.
    pub percent: usize,
    /// Whether the ways send effects on twice that no contract covers. No host can do anything about that:
    /// it shows that the counts see it.
    pub repeats_anything: bool,
}

impl Plan {
    /// As long as this, and as rough as a run is.
    #[must_use]
    pub const fn of(invocations: usize, kills: usize, seed: u64) -> Self {
        Self { invocations, kills, seed, percent: 24, repeats_anything: false }
    }
}

/// One invocation, as its caller knows it.
pub(crate) struct Wanted {
    kind: Kind,
    line: Line,
    /// How it was answered, each time.
    said: Vec<Said>,
}

/// The system's clock, and how far it is ahead.
#[derive(Default)]
struct Ahead(AtomicU64);

impl Clock for Ahead {
    fn now(&self) -> UnixMillis {
        SystemClock.now().plus_seconds(self.0.load(Ordering::Relaxed))
    }
}

/// Makes the run. `program` is `settle-host`.
///
/// # Panics
/// When a server or a host can't be set up, or a host ends otherwise than by being killed.
pub async fn run(plan: Plan, program: &Path) -> Counts {
    let mut random = Seeded::new(plan.seed);
    let site = Site::new(plan).await;
    let kinds = Kind::choose(plan.invocations, &mut random);
    let mut payments = BTreeMap::new();
    let mut wanted: Vec<Wanted> = Vec::new();
    for (n, kind) in kinds.into_iter().enumerate() {
        let payment = site.payment(kind);
        let line = Line {
            n,
            connection: kind.connection().to_owned(),
            operation: kind.operation().to_owned(),
            input: kind.input(n, payment.as_deref()),
        };
        if let (Kind::Confirmation, Some(payment)) = (kind, payment) {
            payments.insert(kind.effects(n).concat(), payment);
        }
        wanted.push(Wanted { kind, line, said: Vec::new() });
    }
    let mut counts = Counts { seed: plan.seed, invocations: plan.invocations as u64, ..Counts::default() };
    tokio::task::block_in_place(|| {
        live(program, &site, plan, &mut wanted, &mut random, &mut counts);
        // Whatever a dead host had sent arrives before anything is asked about.
        site.ways.values().for_each(|way| {
            way.mend();
            way.log().wait_quiet();
        });
    });
    let clock = Arc::new(Ahead::default());
    let open = rig::open(&site.home(), Arc::<Ahead>::clone(&clock), Arc::new(NoProbe)).await;
    settle(&open, &clock).await;
    for (connection, way) in &site.ways {
        let accidents = counts.accidents.entry((*connection).to_owned()).or_default();
        for accident in [Accident::None].into_iter().chain(Accident::ALL) {
            accidents.insert(accident.word().to_owned(), way.log().count(accident));
        }
    }
    let books = tokio::task::block_in_place(|| Books::read(&site, &payments));
    let records = Records::read(&open, &wanted);
    counts.judge(&wanted, &records, &books);
    open.close();
    counts
}

/// Waits until there is nothing left that the host does by itself. Nobody else does anything.
async fn settle(open: &Open, clock: &Ahead) {
    let looking_after = tokio::spawn({
        let broker = open.broker.clone();
        async move { broker.look_after().await }
    });
    let unknown: Vec<RequestId> =
        open.broker.unknowns().unwrap().into_iter().map(|unknown| unknown.request_id).collect();
    // A key does not live for as long as an absence takes to be proof: repeats first.
    let repeats = async {
        let repeated = |id| {
            let record = open.broker.diagnostic(id).unwrap().unwrap();
            matches!(announced(record.state()), Some(Move::Repeat { .. }))
        };
        while unknown.iter().any(repeated) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(PATIENCE, repeats).await.unwrap();
    clock.0.store(AHEAD, Ordering::Relaxed);
    let mut waits = JoinSet::new();
    for id in unknown {
        let broker = open.broker.clone();
        waits.spawn(async move { broker.wait(&id, &caller()).await.confirmed() });
    }
    tokio::time::timeout(PATIENCE, waits.join_all()).await.unwrap();
    looking_after.abort();
}

/// The host's lives, one after the other, until every call has its answer.
fn live(
    program: &Path,
    site: &Site,
    plan: Plan,
    wanted: &mut [Wanted],
    random: &mut Seeded,
    counts: &mut Counts,
) {
    let places: Vec<Kill> = Kill::all()
        .into_iter()
        .filter(|kill| kill.scenario() == Scenario::Write && matches!(kill, Kill::At(_)))
        .collect();
    let mut waiting: VecDeque<usize> = (0..wanted.len()).collect();
    // The last life is for what the others left.
    let life = (wanted.len() / (plan.kills + 1)).max(1);
    for _ in 0..plan.kills {
        let length = life / 2 + random.below(life.max(2));
        // Half of the hosts die at a point of their work, the others at a point of time.
        let last = (random.below(2) == 0).then(|| {
            let passages = 1 + u32::try_from(random.below(length.max(1))).unwrap();
            (places[random.below(places.len())].to_word(), passages)
        });
        let last = last.as_ref().map(|(word, passages)| (word.as_str(), *passages));
        let mut host = Host::start(program, &site.home(), last);
        let mut open = BTreeSet::new();
        let by_itself = !serve_some(&mut host, &mut waiting, &mut open, wanted, length);
        if !by_itself {
            std::thread::sleep(Duration::from_millis(random.below(60) as u64));
        }
        for said in host.kill() {
            hear(said, &mut open, wanted);
        }
        counts.kills += 1;
        counts.kills_at_a_point += u64::from(by_itself);
        counts.calls_cut += open.len() as u64;
        // Their callers know nothing and call again.
        open.into_iter().rev().for_each(|n| waiting.push_front(n));
    }
    let mut host = Host::start(program, &site.home(), None);
    let mut open = BTreeSet::new();
    let there = serve_some(&mut host, &mut waiting, &mut open, wanted, usize::MAX);
    assert!(there && open.is_empty() && host.end().success(), "the last host ends by itself");
}

/// Has calls answered until there are this many answers, or no calls any more; false: the host is gone.
fn serve_some(
    host: &mut Host,
    waiting: &mut VecDeque<usize>,
    open: &mut BTreeSet<usize>,
    wanted: &mut [Wanted],
    answers: usize,
) -> bool {
    for _ in 0..answers {
        while open.len() < AT_ONCE
            && let Some(n) = waiting.pop_front()
        {
            open.insert(n);
            if !host.call(&wanted[n].line) {
                return false;
            }
        }
        if open.is_empty() {
            return true;
        }
        let Some(said) = host.answer() else { return false };
        hear(said, open, wanted);
    }
    true
}

fn hear(said: Said, open: &mut BTreeSet<usize>, wanted: &mut [Wanted]) {
    open.remove(&said.n);
    wanted[said.n].said.push(said);
}
