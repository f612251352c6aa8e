//! Traces of calls for an OpenTelemetry collector, where `proofport.toml` names one; otherwise nothing of this
//! runs. Spans are made of the record, after the fact and beside the calls: the broker tells what was put on
//! record without waiting for anybody, and what finds no room or no collector is dropped and counted.
//!
//! A trace is an invocation: its id is the invocation's own. No caller names a trace, so a `traceparent` that an
//! agent sends is not looked at.

mod otlp;
mod record;
mod send;
mod span;

use crate::config::{Collector, TelemetryConfig};
use proofport_broker::{Broker, Note};
use span::{Span, SpanId, TraceId};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};

/// How many notes may wait while a batch is under way.
const ROOM: usize = 8192;

/// The most notes that become one batch.
const LARGEST_BATCH: usize = 512;

/// How long a batch is gathered.
const PAUSE: Duration = Duration::from_secs(1);

/// How long the last batches may take when the host stops.
const LAST: Duration = Duration::from_secs(5);

/// What exports traces. Dropping it ends the export without a last batch; see [`Exporter::stop`].
#[derive(Debug)]
pub struct Exporter {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Exporter {
    /// Exports from now on what the broker's calls do; none where no collector is named, or where another
    /// exporter has this broker already.
    #[must_use]
    pub fn start(broker: &Broker, config: &TelemetryConfig) -> Option<Self> {
        let collector = config.otlp.clone()?;
        let mut seed = [0; 16];
        if getrandom::fill(&mut seed).is_err() {
            tracing::error!("the operating system gave no randomness; no traces are exported");
            return None;
        }
        let notes = broker.notes(ROOM)?;
        let (stop, stopped) = oneshot::channel();
        let made = Export { broker: broker.clone(), collector, notes, seed, made: 0, lost: false };
        Some(Self { stop, task: tokio::spawn(made.run(stopped)) })
    }

    /// Exports what has happened, which may take a few seconds, and ends. To be called when nothing happens
    /// any more.
    pub async fn stop(self) {
        let Self { stop, mut task } = self;
        drop(stop);
        if timeout(LAST, &mut task).await.is_err() {
            tracing::error!("the last traces could not be exported in time");
            task.abort();
            // It lets go of the record only then.
            let _ = task.await;
        }
    }
}

struct Export {
    broker: Broker,
    collector: Collector,
    notes: mpsc::Receiver<Note>,
    /// Makes ids of what the record has none for.
    seed: [u8; 16],
    made: u64,
    /// Whether the last batch was lost.
    lost: bool,
}

impl Export {
    async fn run(mut self, mut stopped: oneshot::Receiver<()>) {
        let mut goes_on = true;
        while goes_on {
            let mut notes = Vec::new();
            goes_on = tokio::select! {
                biased;
                _ = &mut stopped => false,
                count = self.notes.recv_many(&mut notes, LARGEST_BATCH) => count > 0,
            };
            let until = Instant::now() + PAUSE;
            while goes_on && notes.len() < LARGEST_BATCH {
                let room = LARGEST_BATCH - notes.len();
                goes_on = tokio::select! {
                    biased;
                    _ = &mut stopped => false,
                    more = timeout_at(until, self.notes.recv_many(&mut notes, room)) => match more {
                        Ok(count) => count > 0,
                        Err(_) => break,
                    },
                };
            }
            self.export(notes).await;
        }
        self.notes.close();
        let mut notes = Vec::new();
        while self.notes.recv_many(&mut notes, LARGEST_BATCH).await > 0 {
            self.export(std::mem::take(&mut notes)).await;
        }
    }

    async fn export(&mut self, notes: Vec<Note>) {
        let spans = self.spans(notes).await;
        if spans.is_empty() {
            return;
        }
        let count = spans.len() as u64;
        let figures = self.broker.figures();
        match send::send(&self.collector, otlp::request(&spans)).await {
            Ok(rejected) => {
                let rejected = rejected.min(count);
                figures.spans(count - rejected, rejected);
                if std::mem::take(&mut self.lost) {
                    tracing::warn!(collector = %self.collector, "the collector of traces takes them again");
                }
            }
            Err(error) => {
                figures.spans(0, count);
                // Once, and not for each batch.
                if !std::mem::replace(&mut self.lost, true) {
                    tracing::error!(collector = %self.collector, %error, "traces are lost until their collector takes them again");
                }
            }
        }
    }

    /// The spans of these notes. The record is read aside, since that may wait for the disk.
    async fn spans(&mut self, notes: Vec<Note>) -> Vec<Span> {
        let (broker, seed, first) = (self.broker.clone(), self.seed, self.made);
        self.made += notes.len() as u64;
        let make = move || {
            let mut spans = Vec::new();
            for (n, note) in (first..).zip(notes) {
                let fresh = fresh(&seed, n);
                match note {
                    Note::Answered(answered) => spans.push(Span::of_answer(&answered, fresh)),
                    Note::Stepped { invocation, ended, micros } => {
                        spans.push(Span::of_step(invocation, ended, micros, fresh.1));
                    }
                    Note::Recorded { invocation, first_seq, last_seq } => {
                        match broker.timeline(&invocation) {
                            Ok(history) => {
                                spans.extend(record::spans(invocation, &history, &(first_seq..=last_seq)));
                            }
                            Err(error) => {
                                broker.figures().lost_note();
                                tracing::warn!(id = %invocation, %error, "no trace is made of a record that can't be read");
                            }
                        }
                    }
                }
            }
            spans
        };
        // A task of the runtime's that fails has nothing to tell.
        tokio::task::spawn_blocking(make).await.unwrap_or_default()
    }
}

/// Ids that nothing else has.
fn fresh(seed: &[u8; 16], n: u64) -> (TraceId, SpanId) {
    let digest = proofport_core::digest::Digest::of_parts("proofport.trace/1", &[seed, &n.to_be_bytes()]);
    let mut trace = [0; 16];
    trace.iter_mut().zip(digest.as_bytes()).for_each(|(to, from)| *to = *from);
    (trace, SpanId::of(&[&trace, b"own"]))
}
