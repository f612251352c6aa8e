//! What the host's process does.

use crate::killpoint::{Kill, Killer};
use crate::rig::{self, caller, name};
use proofport_broker::{Broker, CallRequest, NoProbe, Point, Probe, SystemClock};
use proofport_core::contract::Outcome;
use proofport_core::id::OperationName;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::{BufRead as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// A call, as a line of the process's input.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Line {
    pub(super) n: usize,
    pub(super) connection: String,
    pub(super) operation: String,
    pub(super) input: Value,
}

/// How it was answered, as a line of its output.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Said {
    pub(super) n: usize,
    pub(super) ok: bool,
    pub(super) outcome: Option<Outcome>,
    /// It was met from a call before.
    pub(super) repeated: bool,
}

/// Kills the process when a point is passed for the last time that it may.
pub struct LastPassage {
    point: Kill,
    left: AtomicU32,
}

impl LastPassage {
    /// So many passages, the last of them included.
    #[must_use]
    pub const fn of(point: Kill, passages: u32) -> Self {
        Self { point, left: AtomicU32::new(passages) }
    }
}

impl Probe for LastPassage {
    fn at(&self, point: Point) {
        if self.point == Kill::At(point) && self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            Killer::now();
        }
    }
}

/// Opens the home, carries out every call on standard input at once and what earlier hosts left, and closes.
///
/// # Panics
/// When the home can't be opened or a line is no call.
pub async fn serve(home: &Path, last: Option<LastPassage>) {
    let probe: Arc<dyn Probe> = match last {
        Some(last) => Arc::new(last),
        None => Arc::new(NoProbe),
    };
    let open = rig::open(home, Arc::new(SystemClock), probe).await;
    let looking_after = tokio::spawn({
        let broker = open.broker.clone();
        async move { broker.look_after().await }
    });
    let (send, mut lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        let lines = std::io::stdin().lock().lines().map_while(Result::ok);
        lines.map(|line| serde_json::from_str::<Line>(&line).unwrap()).try_for_each(|line| send.send(line))
    });
    let mut calls = JoinSet::new();
    while let Some(line) = lines.recv().await {
        calls.spawn(answer(open.broker.clone(), line));
    }
    calls.join_all().await;
    looking_after.abort();
    open.close();
}

async fn answer(broker: Broker, line: Line) {
    let operation = OperationName { connection: name(&line.connection), operation: name(&line.operation) };
    let input = line.input.to_string().into_bytes();
    let call = CallRequest { operation, input, call_key: None, caller: caller() };
    let delivery = broker.call(call).await;
    let envelope = &delivery.envelope;
    let said =
        Said { n: line.n, ok: envelope.ok(), outcome: envelope.outcome(), repeated: envelope.repeated() };
    let text = serde_json::to_string(&said).unwrap() + "\n";
    let mut out = std::io::stdout().lock();
    if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_ok() {
        delivery.confirmed();
    }
}
