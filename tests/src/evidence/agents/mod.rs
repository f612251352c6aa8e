//! Many agents at one running host, over HTTP and MCP: people approve and deny, agents go away in the middle and come
//! back, and the host is killed and started again. The service's books are the truth.

mod agent;
mod service;
mod way;

use crate::evidence::Seeded;
use crate::rig::{PASSPHRASE, Wanted, make_home};
use crate::serving::Serving;
use agent::{Agent, Line, Told, is_true};
use proofport_core::origin::Origin;
use proofport_core::secret::Secret;
use proofport_gateway::Reach;
use proofport_gateway::home::Home;
use proofport_gateway::operator_side::{Approvals, Approve, Client, Deny, Door, MintToken};
use serde::Serialize;
use service::Service;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
pub use way::Over;

/// How much is done.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// How many agents call at once.
    pub agents: u32,
    /// For how long.
    pub duration: Duration,
    /// How often the host is killed, in the first half of that.
    pub kills: u32,
    /// Of everything that is left to chance.
    pub seed: u64,
}

/// What came of it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Counts {
    /// Agents.
    pub agents: u32,
    /// For how long, in seconds.
    pub seconds: u64,
    /// Hosts killed while agents called.
    pub kills: u32,
    /// Charges that agents asked for.
    pub calls: u64,
    /// Charges that were made.
    pub effects: u64,
    /// The same, by the way that their agents go.
    pub over: BTreeMap<Over, u64>,
    /// What agents were told in the end.
    pub told: BTreeMap<String, u64>,
    /// Answers that agents lost, by going away or by the host's end.
    pub lost_answers: u64,
    /// Charges that a person who is asked says yes to.
    pub approved: u64,
    /// Charges that a person who is asked says no to.
    pub denied: u64,
    /// Charges of which agents were told what the books contradict.
    pub false_claims: u64,
    /// Charges that were made twice.
    pub duplicates: u64,
    /// Charges that were made and that no agent asked for.
    pub unasked: u64,
    /// Charges that a person denied and that were made.
    pub denied_and_made: u64,
    /// The host's memory in the second half, while nobody killed it: at its beginning and at its end, in KiB.
    pub memory_kib: (u64, u64),
}

impl Counts {
    /// Whether nothing was lost, made twice or claimed falsely.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let unknown = self.told.get("Unknown").copied().unwrap_or(0);
        self.false_claims + self.duplicates + self.unasked + self.denied_and_made + unknown == 0
    }

    /// How much more memory the host used at the end than in the middle.
    #[must_use]
    pub fn growth(&self) -> f64 {
        #[allow(clippy::cast_precision_loss, reason = "a ratio for people")]
        let ratio = self.memory_kib.1 as f64 / self.memory_kib.0.max(1) as f64;
        ratio
    }
}

/// A no, by the amount alone.
const fn is_denied(amount: u64) -> bool {
    amount % 10 == 5
}

/// Runs it.
///
/// # Panics
/// When the host can't be run.
pub async fn run(plan: Plan) -> Counts {
    let service = Service::start().expect("a port is free");
    let dir = tempfile::tempdir().expect("there is room for a home");
    let home = dir.path().join("home");
    let origin = Origin::parse(&service.origin()).expect("it is an origin");
    let mut wanted = Wanted::new("proofport-example-charges", origin, "api_key");
    (wanted.asks, wanted.more) = (true, "[connections.c.reconciliations]\nattempts = 0\n".to_owned());
    make_home(&home, &wanted.limits("connections_per_origin = 64")).await;
    let host = start(home.clone()).await;
    let (address, place) = watch::channel(host.http());
    let operator = login(&home).await.expect("the host serves operators");
    let mut agents = Vec::new();
    let until = Instant::now() + plan.duration;
    for number in 0..plan.agents {
        let agent = crate::rig::name(&format!("agent-{number}"));
        let minted = operator.ask(&MintToken { agent }).await.expect("a token is minted");
        let token = String::from_utf8(minted.token.0.expose().to_vec()).expect("it is text");
        let dice = Seeded::new(plan.seed + u64::from(number));
        let over = Over::of(number);
        let agent = Agent { number: number + 1, over, token, host: place.clone(), dice };
        agents.push(tokio::spawn(agent.work(until)));
    }
    let people = tokio::spawn(answer(home.clone(), Arc::new(operator)));
    let (host, kills, memory_before) = disturb(host, &home, &address, plan).await;
    let mut counts =
        Counts { agents: plan.agents, seconds: plan.duration.as_secs(), kills, ..Counts::default() };
    let mut lines: Vec<Line> = Vec::new();
    for agent in agents {
        lines.extend(agent.await.expect("an agent panicked"));
    }
    counts.memory_kib = (memory_before, memory(&host));
    people.abort();
    count(&mut counts, &lines, &service);
    let stopped = tokio::task::spawn_blocking(move || host.stop()).await;
    assert_eq!(stopped.ok().flatten(), Some(0), "the host ends well");
    counts
}

fn count(counts: &mut Counts, lines: &[Line], service: &Service) {
    counts.calls = lines.len() as u64;
    for line in lines {
        *counts.told.entry(format!("{:?}", line.told)).or_default() += 1;
        *counts.over.entry(line.over).or_default() += 1;
        counts.lost_answers += u64::from(line.lost);
        counts.false_claims += u64::from(!is_true(line, service));
        match is_denied(line.amount) {
            true => counts.denied += 1,
            false => counts.approved += 1,
        }
        let made = service.made(line.amount) > 0;
        counts.denied_and_made += u64::from(is_denied(line.amount) && made);
    }
    let asked: std::collections::HashSet<u64> = lines.iter().map(|line| line.amount).collect();
    for (amount, times) in service.all() {
        counts.effects += u64::from(times);
        counts.duplicates += u64::from(times > 1);
        counts.unasked += u64::from(!asked.contains(&amount));
    }
    counts.told.entry(format!("{:?}", Told::Unknown)).or_default();
}

/// Kills the host now and then in the first half, and lets it be in the second.
async fn disturb(
    mut host: Serving,
    home: &std::path::Path,
    address: &watch::Sender<std::net::SocketAddr>,
    plan: Plan,
) -> (Serving, u32, u64) {
    let half = plan.duration / 2;
    for _ in 0..plan.kills {
        tokio::time::sleep(half / (plan.kills + 1)).await;
        let home = home.to_owned();
        let again = tokio::task::spawn_blocking(move || {
            host.kill();
            Serving::start(&home)
        });
        host = again.await.expect("the host starts again");
        address.send_replace(host.http());
    }
    // Until it has made what it makes once.
    tokio::time::sleep(half / (plan.kills + 1) + plan.duration / 10).await;
    let before = memory(&host);
    (host, plan.kills, before)
}

/// A person who answers whatever is asked.
async fn answer(home: PathBuf, mut operator: Arc<Client>) {
    loop {
        let Ok(waiting) = operator.ask(&Approvals { id: None }).await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            if let Some(again) = login(&home).await {
                operator = Arc::new(again);
            }
            continue;
        };
        if waiting.is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        for waiting in waiting {
            let (id, about) = (waiting.card.request_id, waiting.card.request);
            let input: serde_json::Value = serde_json::from_str(&waiting.card.input).unwrap_or_default();
            let amount = input["amount"].as_u64().unwrap_or_default();
            // Somebody may have been faster, or the host is gone: it is listed again, then.
            let _ = match is_denied(amount) {
                true => operator.ask(&Deny { id, about: Some(about) }).await,
                false => operator.ask(&Approve { id, about, reach: Reach::Once }).await,
            };
        }
    }
}

async fn login(home: &std::path::Path) -> Option<Client> {
    let home = Home::at(home).ok()?;
    let door = Door::of(&home).await.ok()??;
    door.login(&Secret::new(PASSPHRASE.as_bytes().to_vec())).await.ok()
}

async fn start(home: PathBuf) -> Serving {
    tokio::task::spawn_blocking(move || Serving::start(&home)).await.expect("the host starts")
}

/// What the host uses of memory, in KiB.
fn memory(host: &Serving) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", host.pid())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok()).unwrap_or(0)
}
