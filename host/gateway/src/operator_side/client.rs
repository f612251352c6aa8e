//! Asking a host that runs.

use super::ask::Ask;
use super::failure::Failure;
use super::server::{LOGIN, Login};
use super::wire::Sent;
use crate::home::Home;
use crate::session::Peer;
use axum::body::Body;
use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use hyper_util::rt::TokioIo;
use proofport_core::secret::Secret;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io;
use std::path::{Path, PathBuf};
use tokio::net::UnixStream;
use zeroize::Zeroizing;

/// The most bytes of an answer.
const MOST: usize = 256 * 1024 * 1024;

/// An ask got no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The host answered that it didn't carry it out.
    #[error(transparent)]
    Failure(#[from] Failure),
    /// Whoever listens there is another user's process.
    #[error("the operator socket {} is another user's: nothing was sent to it", .0.display())]
    NotOurs(PathBuf),
    /// The answer did not come whole. What was asked for may have been done.
    #[error("the running host went away before it answered, and what it was asked may have been done: {0}")]
    Lost(#[source] io::Error),
}

/// A host that runs on a home and was not asked anything yet.
pub struct Door {
    socket: PathBuf,
}

impl Door {
    /// The host that runs on this home; none where no host does.
    ///
    /// # Errors
    /// When another user's process listens there, or the socket can't be opened.
    pub async fn of(home: &Home) -> Result<Option<Self>, ClientError> {
        let socket = home.operator_socket();
        match connect(&socket).await {
            Ok(_) => Ok(Some(Self { socket })),
            // There is none, or it was left behind by a host that is dead.
            Err(ClientError::Lost(error))
                if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Proves to be an operator.
    ///
    /// # Errors
    /// When the passphrase is wrong, or the host is gone.
    pub async fn login(self, passphrase: &Secret) -> Result<Client, ClientError> {
        let login = Login { passphrase: Sent(passphrase.duplicate()) };
        let Sent(credential) = exchange(&self.socket, LOGIN, None, &login).await?;
        Ok(Client { socket: self.socket, credential })
    }
}

/// An operator at a running host.
pub struct Client {
    socket: PathBuf,
    credential: Secret,
}

impl Client {
    /// Asks for something.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn ask<A: Ask>(&self, ask: &A) -> Result<A::Answer, ClientError> {
        exchange(&self.socket, A::PATH, Some(&self.credential), ask).await
    }
}

/// A connection for one exchange. No byte is sent to another user's process: it would be given secrets.
async fn connect(socket: &Path) -> Result<UnixStream, ClientError> {
    let stream = UnixStream::connect(socket).await.map_err(ClientError::Lost)?;
    let uid = Peer::uid_of(&stream).map_err(ClientError::Lost)?;
    let ours = uid == rustix::process::geteuid().as_raw() || uid == 0;
    if ours { Ok(stream) } else { Err(ClientError::NotOurs(socket.to_owned())) }
}

async fn exchange<T: DeserializeOwned>(
    socket: &Path,
    path: &'static str,
    credential: Option<&Secret>,
    ask: &impl Serialize,
) -> Result<T, ClientError> {
    let lost = |error: hyper::Error| ClientError::Lost(io::Error::other(error));
    let request = request(path, credential, ask).map_err(ClientError::Lost)?;
    let io = TokioIo::new(connect(socket).await?);
    let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.map_err(lost)?;
    let connection = tokio::spawn(connection);
    let response = sender.send_request(request).await.map_err(lost)?;
    let status = response.status();
    let bytes = axum::body::to_bytes(Body::new(response.into_body()), MOST).await;
    connection.abort();
    let bytes = bytes.map_err(|error| ClientError::Lost(io::Error::other(error)))?;
    if status == StatusCode::OK {
        return serde_json::from_slice(&bytes).map_err(|_| Failure::NotUnderstood.into());
    }
    let failure = serde_json::from_slice::<Failure>(&bytes);
    Err(failure.unwrap_or(Failure::NotUnderstood).into())
}

/// The request, in memory that is wiped afterwards.
fn request(
    path: &'static str,
    credential: Option<&Secret>,
    ask: &impl Serialize,
) -> io::Result<Request<Body>> {
    let mut length = Counted(0);
    serde_json::to_writer(&mut length, ask).map_err(io::Error::other)?;
    // With room from the start it never grows, so that no half of it stays behind in freed memory.
    let mut bytes = Zeroizing::new(Vec::with_capacity(length.0));
    serde_json::to_writer(&mut *bytes, ask).map_err(io::Error::other)?;
    let request = Request::builder()
        .method(Method::POST)
        .uri(path)
        .header(header::HOST, "operator")
        .header(header::CONTENT_TYPE, "application/json");
    let request = match credential {
        Some(credential) => {
            let mut value = header::HeaderValue::from_bytes(&[b"Bearer ", credential.expose()].concat())
                .map_err(io::Error::other)?;
            value.set_sensitive(true);
            request.header(header::AUTHORIZATION, value)
        }
        None => request,
    };
    request.body(Body::from(Bytes::from_owner(Wiped(bytes)))).map_err(io::Error::other)
}

/// Bytes that are wiped when the last reader is done.
struct Wiped(Zeroizing<Vec<u8>>);

impl AsRef<[u8]> for Wiped {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

struct Counted(usize);

impl io::Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.saturating_add(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
