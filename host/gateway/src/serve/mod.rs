//! The host's side for agents: a Unix socket, and HTTP where an address is configured for it. Both speak the
//! same HTTP/1.1 and lead to the same routes.
//!
//! Who asks is known by the connection or by a token, never by what a request says. What is not known is
//! answered in the same closed shapes as everything else. A caller that goes away cancels nothing, and an
//! answer counts as delivered once its last byte was taken by the operating system.

mod accept;
mod answer;
mod body;
mod content;
mod entrance;
mod error;
mod guard;
mod handover;
mod health;
mod listen;
mod mounted;
mod openapi;
mod operations;
mod pages;
mod routes;
mod status;

pub use entrance::Entrance;
pub use error::ServeError;
pub use handover::Outbox;
pub use openapi::document;
pub use status::status;
// The program depends on this crate alone.
pub use tokio_util::sync::CancellationToken;

use crate::config::ServeConfig;
use crate::host::Host;
use crate::session::Sessions;
use accept::Reception;
use answer::Refused;
use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use listen::SocketFile;
use proofport_journal::JournalError;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

/// How long connections may go on that have an answer to take when nothing is under way any more.
const LINGER: Duration = Duration::from_secs(10);

/// What all requests are answered from.
struct Doors {
    host: Arc<Host>,
    sessions: Arc<Sessions>,
    settings: ServeConfig,
    stopping: CancellationToken,
    /// Places for those whose process is being looked at.
    looking: Arc<Semaphore>,
}

/// How many processes are looked at at once.
const LOOKED_AT: usize = 16;

/// What is served beside the routes of this module.
#[derive(Default)]
pub struct Mounted {
    /// For agents: each request carries an [`Entrance`] and an [`Outbox`] as extensions.
    pub agents: Router,
    /// For everybody who can reach the host.
    pub open: Router,
}

/// What a host serves with.
pub struct Parts {
    /// The host.
    pub host: Arc<Host>,
    /// Who may call.
    pub sessions: Arc<Sessions>,
    /// How it serves.
    pub settings: ServeConfig,
    /// What is served besides.
    pub mounted: Mounted,
    /// Cancelled when the host begins to stop, here or by whoever made it. What answers for long ends then.
    pub stopping: CancellationToken,
}

/// A host that serves. Dropping it stops nothing; see [`Serving::stop`].
pub struct Serving {
    doors: Arc<Doors>,
    tracker: TaskTracker,
    cut: CancellationToken,
    socket: SocketFile,
    http: Option<SocketAddr>,
}

impl Serving {
    /// Listens, serves, and looks after what the host does by itself.
    ///
    /// # Errors
    /// When it can't listen; see [`ServeError`]. Nothing is served then.
    pub async fn start(parts: Parts) -> Result<Self, ServeError> {
        let Parts { host, sessions, settings, mounted, stopping } = parts;
        let path = settings.agent_socket.clone().unwrap_or_else(|| host.home().agent_socket());
        let (unix, socket) = listen::unix(&path, settings.agent_socket_mode)?;
        let http = match settings.http {
            Some(address) => Some(listen::http(address).await?),
            None => None,
        };
        let permits = Arc::new(Semaphore::new(settings.connections));
        let looking = Arc::new(Semaphore::new(LOOKED_AT));
        let doors = Arc::new(Doors { host, sessions, settings, stopping, looking });
        let (tracker, cut) = (TaskTracker::new(), CancellationToken::new());
        let router = router(&doors, mounted);
        let reception = Reception {
            doors: Arc::clone(&doors),
            router,
            permits,
            tracker: tracker.clone(),
            cut: cut.clone(),
        };
        tracker.spawn(reception.clone().unix(unix));
        let (listener, http) = http.unzip();
        if let Some(listener) = listener {
            tracker.spawn(reception.http(listener));
        }
        let broker = doors.host.broker().clone();
        tracker.spawn(async move { broker.look_after().await });
        Ok(Self { doors, tracker, cut, socket, http })
    }

    /// The Unix socket for agents.
    #[must_use]
    pub fn socket(&self) -> &Path {
        self.socket.path()
    }

    /// Where it listens for HTTP; none where it doesn't.
    #[must_use]
    pub const fn http(&self) -> Option<SocketAddr> {
        self.http
    }

    /// Takes on nothing new, waits for what is under way, at the latest until its deadline, lets its answers
    /// go out, and closes the record. Nothing is cancelled, and nothing is lost if the process is killed
    /// meanwhile: what is announced or unknown is on record.
    ///
    /// # Errors
    /// When the record can't be written to its end.
    pub async fn stop(self) -> Result<(), JournalError> {
        let Self { doors, tracker, cut, socket, http: _ } = self;
        doors.stopping.cancel();
        drop(socket);
        doors.host.broker().stop().await;
        tracker.close();
        if tokio::time::timeout(LINGER, tracker.wait()).await.is_err() {
            cut.cancel();
            tracker.wait().await;
        }
        let journal = doors.host.broker().journal().clone();
        // It blocks for the time of a commit. A task of the runtime's that fails has nothing to tell.
        tokio::task::spawn_blocking(move || journal.close()).await.unwrap_or(Ok(()))
    }
}

fn router(doors: &Arc<Doors>, mounted: Mounted) -> Router {
    let Mounted { agents, open } = mounted;
    let agents = agents.layer(from_fn_with_state(Arc::clone(doors), entrance::admit));
    Router::new()
        .merge(routes::v1(doors))
        .route("/healthz", get(health::healthz))
        .route("/openapi.json", get(openapi::openapi))
        .route("/codes/{code}", get(pages::page))
        .with_state(Arc::clone(doors))
        .merge(agents)
        .merge(open)
        .fallback(async || Refused::NoSuchPath)
        .method_not_allowed_fallback(async || Refused::Method)
}
