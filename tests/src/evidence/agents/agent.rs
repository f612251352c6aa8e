//! One agent: it calls, goes away in the middle, comes back, waits, asks, and says in the end what it was told.

use super::service::Service;
use super::way::{Answer, Ask, Over, Way};
use crate::evidence::Seeded;
use proofport_client::{Code, Envelope, Outcome};
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// What an agent was told of one charge in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Told {
    /// It was made.
    Made,
    /// The service declined it.
    Declined,
    /// A person did.
    Denied,
    /// Nothing was sent, for another reason.
    NotSent,
    /// Nobody knows.
    Unknown,
}

/// One charge, as its agent saw it.
pub(super) struct Line {
    pub(super) amount: u64,
    pub(super) told: Told,
    /// Which way it went.
    pub(super) over: Over,
    /// How often the agent went away in the middle or lost its host.
    pub(super) lost: u32,
}

/// Where the host is, and that it may be another one at any time.
pub(super) type Where = watch::Receiver<SocketAddr>;

pub(super) struct Agent {
    pub(super) number: u32,
    pub(super) over: Over,
    pub(super) token: String,
    pub(super) host: Where,
    pub(super) dice: Seeded,
}

/// How long an agent goes on about one charge before it gives up; longer than any restart takes.
const PATIENCE: Duration = Duration::from_secs(60);

impl Agent {
    /// Makes charges until that time, each with an amount of its own.
    pub(super) async fn work(mut self, until: Instant) -> Vec<Line> {
        let mut lines = Vec::new();
        for n in 0.. {
            if Instant::now() >= until {
                break;
            }
            let amount = u64::from(self.number) * 100_000 + n + 1;
            lines.push(self.charge(amount).await);
        }
        lines
    }

    async fn charge(&mut self, amount: u64) -> Line {
        let since = Instant::now();
        let mut lost = 0;
        loop {
            // Some go away at once, some in the middle, most stay.
            let patience = match self.dice.below(10) {
                0 => Duration::from_millis(1),
                1 => Duration::from_millis(5),
                _ => Duration::from_secs(30),
            };
            let way = Way::new(self.over, *self.host.borrow(), &self.token);
            let told = match tokio::time::timeout(patience, way.ask(Ask::Charge(amount))).await {
                Ok(Some(answer)) => told(&way, answer).await,
                Ok(None) | Err(_) => None,
            };
            if let Some(told) = told {
                return Line { amount, told, lost, over: self.over };
            }
            lost += 1;
            if since.elapsed() > PATIENCE {
                return Line { amount, told: Told::Unknown, lost, over: self.over };
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// What it was told in the end; none: it has to come back.
async fn told(way: &Way, mut answer: Answer) -> Option<Told> {
    for _ in 0..20 {
        let Err(envelope) = answer else { return Some(Told::Made) };
        let ask = match (step(&envelope), envelope.request_id()) {
            (Next::Told(told), _) => return Some(told),
            (Next::Wait, Some(id)) => Ask::Wait(id),
            (Next::Settle, Some(id)) => Ask::Settle(id),
            (Next::Wait | Next::Settle, None) | (Next::Again, _) => return None,
        };
        answer = way.ask(ask).await?;
    }
    None
}

enum Next {
    Told(Told),
    Wait,
    Settle,
    Again,
}

fn step(envelope: &Envelope) -> Next {
    match (envelope.code(), envelope.outcome()) {
        (Some(Code::ApprovalPending | Code::InProgress), _) => Next::Wait,
        (Some(Code::UserDenied), _) => Next::Told(Told::Denied),
        (_, Some(Outcome::Rejected)) => Next::Told(Told::Declined),
        (_, Some(Outcome::Unknown)) => Next::Settle,
        // It was done, and what it brought can't be had: the books have to agree.
        (_, Some(Outcome::Committed)) => Next::Told(Told::Made),
        // The host stopped before anything was sent.
        (Some(Code::Internal), Some(Outcome::NotAttempted)) | (_, None) => Next::Again,
        (_, Some(Outcome::NotAttempted)) => Next::Told(Told::NotSent),
    }
}

/// Whether what was told agrees with the books.
pub(super) fn is_true(line: &Line, service: &Service) -> bool {
    let made = service.made(line.amount);
    match line.told {
        Told::Made => made == 1,
        Told::Declined | Told::Denied | Told::NotSent => made == 0,
        Told::Unknown => made <= 1,
    }
}
