//! The operator socket: HTTP over a Unix socket in the home.

use super::ask::{Ask, Desk};
use super::asks::approvals::{Approvals, Approve, Deny};
use super::asks::audit::{AuditHead, ExportAudit, RemoveAudit, RotateAuditKey, VerifyAudit};
use super::asks::calls::{Call, Cancel, Delivered, Fetch, Follow, Reconcile, Retry, Wait};
use super::asks::connections::CheckConnections;
use super::asks::connectors::{Connectors, InstallConnector, RevokeConnector};
use super::asks::content::ContentChunk;
use super::asks::records::{Attest, Inspect, Timeline, Unknowns};
use super::asks::secrets::{RemoveSecret, RotateSecret, Secrets, SetSecret};
use super::asks::sessions::{AllowSession, EndSession, ListSessions, MintToken};
use super::asks::vault::{LockVault, UnlockVault};
use super::credential::Credentials;
use super::failure::Failure;
use super::wire::Sent;
use crate::host::Host;
use crate::session::{Peer, Sessions};
use axum::Router;
use axum::body::Body;
use axum::extract::connect_info::{ConnectInfo, Connected};
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::post;
use axum::serve::IncomingStream;
use http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt as _;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UnixListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use zeroize::Zeroizing;

/// Where a credential is asked for.
pub(super) const LOGIN: &str = "/login";

/// The most bytes of a login.
const MOST_OF_A_LOGIN: usize = 512 * 1024;

/// How long whoever still asks is waited for.
const LONGEST_GOODBYE: Duration = Duration::from_secs(40);

/// Asks for a credential.
#[derive(Serialize, Deserialize)]
pub(super) struct Login {
    pub(super) passphrase: Sent,
}

/// The operator side can't begin.
#[derive(Debug, thiserror::Error)]
#[error("the operator socket {} can't be opened: {source}", path.display())]
pub struct StartError {
    /// Where it was to be.
    pub path: PathBuf,
    /// Why not.
    #[source]
    pub source: io::Error,
}

/// A running operator side. It ends when this is dropped.
pub struct OperatorSide {
    path: PathBuf,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

/// What every request is served with.
struct Side {
    desk: Desk,
    credentials: Arc<Credentials>,
}

/// The process behind a connection; none where it can't be told.
#[derive(Clone)]
struct Behind(Option<Arc<Peer>>);

impl Connected<IncomingStream<'_, UnixListener>> for Behind {
    fn connect_info(stream: IncomingStream<'_, UnixListener>) -> Self {
        match Peer::of(stream.io()) {
            Ok(peer) => Self(Some(Arc::new(peer))),
            Err(error) => {
                tracing::warn!(%error, "whoever opened the operator socket can't be told");
                Self(None)
            }
        }
    }
}

/// Opens the operator socket of this host, and serves operators on it. Whoever calls this holds the home, so
/// that a socket that is there already is a dead host's.
///
/// # Errors
/// When the socket can't be made.
pub fn start(host: Arc<Host>, sessions: Arc<Sessions>) -> Result<OperatorSide, StartError> {
    let path = host.home().operator_socket();
    let listener = bind(&path).map_err(|source| StartError { path: path.clone(), source })?;
    let credentials = Credentials::new(Arc::clone(&host));
    let side = Arc::new(Side { desk: Desk::serving(host, sessions), credentials });
    let service = routes().with_state(side).into_make_service_with_connect_info::<Behind>();
    let (stop, stopped) = oneshot::channel::<()>();
    let task = tokio::spawn(async move {
        let serving = axum::serve(listener, service).with_graceful_shutdown(async {
            // A handle that is gone ends it, too.
            let _ = stopped.await;
        });
        if let Err(error) = serving.await {
            tracing::error!(%error, "the operator side ended");
        }
    });
    Ok(OperatorSide { path, stop: Some(stop), task })
}

impl OperatorSide {
    /// Where the socket is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes on nothing new, and returns once what was asked has been answered, or soon after the longest that
    /// an answer may take. What was begun is the broker's, and goes on.
    pub async fn stop(mut self) {
        // Nobody finds a host any more that is about to end.
        let _ = fs::remove_file(&self.path);
        drop(self.stop.take());
        let _ = tokio::time::timeout(LONGEST_GOODBYE, &mut self.task).await;
    }
}

impl Drop for OperatorSide {
    fn drop(&mut self) {
        if self.stop.is_some() {
            let _ = fs::remove_file(&self.path);
        }
        self.task.abort();
    }
}

fn bind(path: &Path) -> io::Result<UnixListener> {
    match fs::remove_file(path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    // The folder is the owner's alone, so that nobody gets in before the mode is set.
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Whatever can be asked, each once.
macro_rules! asks {
    ($($ask:ty,)+) => {
        /// Where an operator's asks are answered.
        pub const PATHS: &[&str] = &[$(<$ask>::PATH),+];

        fn routes() -> Router<Arc<Side>> {
            Router::new().route(LOGIN, post(login))$(.merge(of::<$ask>()))+.fallback(unknown)
        }
    };
}

asks! {
    Call,
    Fetch,
    Delivered,
    Wait,
    Reconcile,
    Retry,
    Cancel,
    Follow,
    ContentChunk,
    Inspect,
    Timeline,
    Unknowns,
    Attest,
    Approvals,
    Approve,
    Deny,
    ListSessions,
    AllowSession,
    EndSession,
    MintToken,
    LockVault,
    UnlockVault,
    SetSecret,
    RotateSecret,
    RemoveSecret,
    Secrets,
    InstallConnector,
    Connectors,
    RevokeConnector,
    CheckConnections,
    VerifyAudit,
    AuditHead,
    ExportAudit,
    RemoveAudit,
    RotateAuditKey,
}

fn of<A: Ask>() -> Router<Arc<Side>> {
    Router::new().route(A::PATH, post(asked::<A>))
}

async fn login(
    State(side): State<Arc<Side>>,
    ConnectInfo(behind): ConnectInfo<Behind>,
    request: Request,
) -> Response {
    let Some(peer) = behind.0.filter(|peer| is_ours(peer)) else {
        return told(side.credentials.refuse().await);
    };
    match read::<Login>(request, MOST_OF_A_LOGIN).await {
        Ok(Login { passphrase }) => answer(side.credentials.login(&peer, passphrase.0).await),
        Err(failure) => told(failure),
    }
}

async fn asked<A: Ask>(
    State(side): State<Arc<Side>>,
    ConnectInfo(behind): ConnectInfo<Behind>,
    request: Request,
) -> Response {
    // Before anything of the request is read.
    if !is_proved(&side, &behind, request.headers()) {
        return told(side.credentials.refuse().await);
    }
    let ask = match read::<A>(request, A::MOST_BYTES).await {
        Ok(ask) => ask,
        Err(failure) => return told(failure),
    };
    // A task of its own: whoever asked may go.
    let task = tokio::spawn(async move { ask.carry_out(&side.desk).await });
    answer(task.await.unwrap_or_else(|error| Err(Failure::internal(&error))))
}

async fn unknown(
    State(side): State<Arc<Side>>,
    ConnectInfo(behind): ConnectInfo<Behind>,
    request: Request,
) -> Response {
    // Without a credential not even this much is said.
    if !is_proved(&side, &behind, request.headers()) {
        return told(side.credentials.refuse().await);
    }
    told(Failure::NotUnderstood)
}

fn is_proved(side: &Side, behind: &Behind, headers: &HeaderMap) -> bool {
    let shown =
        headers.get(header::AUTHORIZATION).and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
    match (&behind.0, shown) {
        (Some(peer), Some(shown)) => is_ours(peer) && side.credentials.is_proved(peer, shown),
        (Some(_) | None, _) => false,
    }
}

/// Whether it is a process of the host's own user, or of root. The socket's mode says the same, and a folder
/// that was opened to others must not be enough.
fn is_ours(peer: &Peer) -> bool {
    peer.uid() == rustix::process::geteuid().as_raw() || peer.uid() == 0
}

/// Reads a body into memory that is wiped, since it may hold a secret.
async fn read<T: DeserializeOwned>(request: Request, most: usize) -> Result<T, Failure> {
    let announced = request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    let announced = announced.and_then(|length| length.parse::<usize>().ok()).unwrap_or(0);
    // With room from the start it never grows, so that no half of it stays behind in freed memory.
    let mut bytes = Zeroizing::new(Vec::with_capacity(announced.min(most)));
    let mut body = request.into_body();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Failure::NotUnderstood)?;
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len().saturating_add(data.len()) > most {
            return Err(Failure::Refused { said: "the request is too large".to_owned() });
        }
        bytes.extend_from_slice(&data);
    }
    serde_json::from_slice(&bytes).map_err(|_| Failure::NotUnderstood)
}

fn answer<T: Serialize>(outcome: Result<T, Failure>) -> Response {
    match outcome.map(|answer| serde_json::to_vec(&answer)) {
        Ok(Ok(bytes)) => response(StatusCode::OK, bytes),
        Ok(Err(error)) => told(Failure::internal(&error)),
        Err(failure) => told(failure),
    }
}

fn told(failure: Failure) -> Response {
    // A failure always has a JSON form; were it not to, its status still says the most of it.
    response(failure.status(), serde_json::to_vec(&failure).unwrap_or_default())
}

fn response(status: StatusCode, bytes: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    let json = header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}
