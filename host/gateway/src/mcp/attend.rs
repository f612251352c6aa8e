//! Staying with a call until there is an answer, or until its client should hear something else. The call
//! goes on whoever stays.

use super::words;
use crate::agent::Agent;
use proofport_broker::Delivery;
use proofport_core::id::RequestId;
use rmcp::model::{MetaObject, NotificationMetaObject, ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RoleServer};
use serde_json::Value;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The entry of a progress notification's `_meta` that names the call.
pub(super) const META_REQUEST_ID: &str = "proofport/request_id";

/// How long clients are kept waiting.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// A call that runs longer becomes a task, where the client takes tasks.
    pub task_after: Duration,
    /// A call that runs longer is answered as it stands, where the client does not, and before clients give
    /// up: most do after a minute. No longer does the tool `wait` wait.
    pub answer_after: Duration,
    /// How often a client that wants to hear of progress does.
    pub progress_every: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            task_after: Duration::from_secs(5),
            answer_after: Duration::from_secs(50),
            progress_every: Duration::from_secs(10),
        }
    }
}

/// The client of a request.
pub(super) struct Client {
    /// Where notifications go.
    pub(super) peer: Peer<RoleServer>,
    /// Under what it wants to hear of progress.
    pub(super) progress: Option<ProgressToken>,
    /// Cancelled when its stream is lost.
    pub(super) gone: CancellationToken,
}

/// What came of it.
pub(super) enum Came {
    /// The answer.
    Answer(Box<Delivery>),
    /// It has an id and goes on.
    GoesOn(RequestId),
    /// The host failed before it had an id.
    Failed,
    /// Nobody waits any more.
    Gone,
}

/// Stays with a call for `patience` at most. `named`: whence its id comes. `heard`: who else wants to know it.
pub(super) async fn attend(
    client: &Client,
    agent: &Agent,
    mut work: JoinHandle<Delivery>,
    mut named: Option<oneshot::Receiver<RequestId>>,
    heard: impl Fn(RequestId),
    (patience, every): (Duration, Duration),
) -> Came {
    let over = tokio::time::sleep(patience);
    tokio::pin!(over);
    let mut beat = tokio::time::interval_at(tokio::time::Instant::now() + every, every);
    let (mut id, mut step) = (None, 0.0);
    // From here on the call can be cancelled by a notification; whoever carries one wants to know.
    client.progress(&mut step, words::RECEIVED, id).await;
    loop {
        tokio::select! {
            biased;
            done = &mut work => return match (done, id) {
                (Ok(delivery), _) => Came::Answer(Box::new(delivery)),
                // It panicked; what is on record stands.
                (Err(_), Some(id)) => Came::Answer(Box::new(agent.result(&id))),
                (Err(_), None) => Came::Failed,
            },
            () = client.gone.cancelled() => return Came::Gone,
            told = heard_of(&mut named), if named.is_some() => {
                named = None;
                if let Some(told) = told {
                    id = Some(told);
                    heard(told);
                    client.progress(&mut step, words::ON_RECORD, id).await;
                }
            }
            _ = beat.tick() => client.progress(&mut step, words::STILL, id).await,
            () = &mut over, if id.is_some() => if let Some(id) = id {
                return Came::GoesOn(id);
            },
        }
    }
}

async fn heard_of(named: &mut Option<oneshot::Receiver<RequestId>>) -> Option<RequestId> {
    match named {
        Some(named) => named.await.ok(),
        None => std::future::pending().await,
    }
}

impl Client {
    /// Tells a client that wants to hear of it that something goes on.
    async fn progress(&self, step: &mut f64, said: &'static str, id: Option<RequestId>) {
        let Some(token) = self.progress.clone() else { return };
        *step += 1.0;
        let mut progress = ProgressNotificationParam::new(token, *step).with_message(said);
        if let Some(id) = id {
            let mut meta = MetaObject::default();
            meta.0.insert(META_REQUEST_ID.to_owned(), Value::from(id.to_string()));
            progress.meta = Some(NotificationMetaObject(meta));
        }
        // Whoever does not hear of it loses nothing.
        let _ = self.peer.notify_progress(progress).await;
    }
}
