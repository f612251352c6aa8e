//! MCP: the door for agents that speak the Model Context Protocol, in its revisions 2026-07-28 and 2025-11-25
//! (and 2025-06-18), from one endpoint.
//!
//! It stands on [`Agent`] alone. Every operation that the agent may call is a tool, beside the host's own
//! tools that do something about an earlier call; every answer is the envelope as structured content.
//! A request's end is not a call's: a client that goes away cancels nothing, and one that comes back with the
//! same call meets the first. What cancels is a word: the tool `cancel`, `tasks/cancel`, or
//! `notifications/cancelled`. The newer revision lets a server take a closed stream for that word; this one
//! ends the request by it, and lets the broker finish what it began.

mod answer;
mod attend;
mod changes;
mod delivered;
mod door;
mod host_tools;
mod in_flight;
mod input;
mod name;
mod schema;
mod server;
pub mod shim;
mod tasks;
mod tools;
mod words;

pub use attend::Patience;
pub use delivered::Handover;

use crate::agent::Agent;
use axum::Router;
use proofport_core::code::Code;
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Who sent a request; to be put among its extensions by whoever knows.
#[derive(Clone)]
pub enum Asker {
    /// An agent whose session is admitted.
    Agent(Agent),
    /// Somebody whose calls are answered with this code and nothing else: `APPROVAL_PENDING` while a person
    /// has to admit it, `USER_DENIED` once its session was ended.
    Refused(Code),
}

/// How the endpoint behaves.
#[derive(Clone, Debug)]
pub struct Options {
    /// The host names, without ports, under which it may be spoken to; the loopback's.
    pub hosts: Vec<String>,
    /// The origins of web pages that may speak to it; none.
    pub origins: Vec<String>,
    /// The longest request, in bytes.
    pub most_bytes: usize,
    /// How long a request may take to arrive.
    pub request_time: Duration,
    /// How long clients are kept waiting.
    pub patience: Patience,
    /// Cancelled when the host stops: streams that only listen end then, and calls go on to their answer.
    pub stopping: CancellationToken,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            hosts: ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec(),
            origins: Vec::new(),
            most_bytes: 4 * 1024 * 1024,
            request_time: Duration::from_secs(30),
            patience: Patience::default(),
            stopping: CancellationToken::new(),
        }
    }
}

/// The endpoint, to be merged into the agents' server. `changes`: a value that differs whenever the list of
/// tools may: the vault, the policy or an approval has changed. Every request has to come with an [`Asker`]
/// among its extensions; one without is refused. It may have a [`Handover`].
pub fn router(path: &str, changes: watch::Receiver<u64>, options: Options) -> Router {
    let server = server::Server {
        in_flight: in_flight::InFlight::default(),
        changes,
        patience: options.patience,
        stopping: options.stopping.clone(),
    };
    door::router(path, server, options)
}
