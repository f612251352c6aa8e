//! One request to the host: a connection to its agents' socket of its own, so that none is found dead after
//! something was written to it.

use axum::body::Bytes;
use http::{HeaderValue, Method, Request, Response, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use proofport_core::secret::Secret;
use std::path::{Path, PathBuf};
use tokio::net::UnixStream;
use zeroize::Zeroizing;

/// Where the endpoint is on the socket.
const ENDPOINT: &str = "/mcp";

/// How to reach the host.
#[derive(Clone)]
pub(super) struct Host {
    socket: PathBuf,
    /// Says who asks; none where the process does.
    authorization: Option<HeaderValue>,
}

/// The longest token that is shown to the host, in bytes.
const MOST_OF_A_TOKEN: usize = 1024;

/// What was given as an agent's token is none.
#[derive(Debug, thiserror::Error)]
#[error(
    "it is no token: one line of letters, digits, `-` and `_` is wanted, as `proofport session token` prints it"
)]
pub struct NoToken;

/// There is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoAnswer {
    /// No host was reached: it was given nothing.
    Unreached,
    /// The way broke: it may have been given everything.
    Lost,
}

/// An answer that has begun.
pub(super) struct Answer {
    response: Response<Incoming>,
    /// Carries the connection for as long as the answer is read.
    _connection: Connection,
}

struct Connection(tokio::task::JoinHandle<()>);

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Host {
    pub(super) fn at(socket: &Path, token: Option<&Secret>) -> Result<Self, NoToken> {
        let authorization = token.map(authorization).transpose()?;
        Ok(Self { socket: socket.to_owned(), authorization })
    }

    /// Hands a message to the host.
    pub(super) async fn post(
        &self,
        headers: &[(&'static str, String)],
        body: Vec<u8>,
    ) -> Result<Answer, NoAnswer> {
        let accept = "application/json, text/event-stream";
        self.send(Method::POST, accept, headers, body).await
    }

    /// Opens the older revision's stream of notifications.
    pub(super) async fn get(&self, headers: &[(&'static str, String)]) -> Result<Answer, NoAnswer> {
        self.send(Method::GET, "text/event-stream", headers, Vec::new()).await
    }

    async fn send(
        &self,
        method: Method,
        accept: &str,
        headers: &[(&'static str, String)],
        body: Vec<u8>,
    ) -> Result<Answer, NoAnswer> {
        let mut request = Request::builder()
            .method(method)
            .uri(ENDPOINT)
            .header(header::HOST, "localhost")
            .header(header::ACCEPT, accept)
            .header(header::CONTENT_TYPE, "application/json");
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        if let Some(authorization) = &self.authorization {
            request = request.header(header::AUTHORIZATION, authorization);
        }
        // What is no header's value was never handed over.
        let request = request.body(Full::new(Bytes::from(body))).map_err(|_| NoAnswer::Unreached)?;
        let stream = UnixStream::connect(&self.socket).await.map_err(|_| NoAnswer::Unreached)?;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|_| NoAnswer::Lost)?;
        let connection = Connection(tokio::spawn(async move { drop(connection.await) }));
        let response = sender.send_request(request).await.map_err(|_| NoAnswer::Lost)?;
        Ok(Answer { response, _connection: connection })
    }
}

fn authorization(token: &Secret) -> Result<HeaderValue, NoToken> {
    let token = token.expose();
    let is_of_one = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if token.is_empty() || token.len() > MOST_OF_A_TOKEN || !token.iter().all(is_of_one) {
        return Err(NoToken);
    }
    // The field's own copy, and what is sent of it, can't be wiped.
    let field = Zeroizing::new([b"Bearer ", token].concat());
    let mut value = HeaderValue::from_bytes(&field).map_err(|_| NoToken)?;
    value.set_sensitive(true);
    Ok(value)
}

impl Answer {
    /// The status of its head.
    pub(super) fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// Whether it is a stream of events rather than one message.
    pub(super) fn is_stream(&self) -> bool {
        let kind = self.response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        kind.is_some_and(|kind| kind.starts_with("text/event-stream"))
    }

    /// The next bytes of its body; none at its proper end.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, NoAnswer> {
        loop {
            match self.response.body_mut().frame().await {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
                Some(Err(_)) => return Err(NoAnswer::Lost),
                None => return Ok(None),
            }
        }
    }

    /// The rest of its body.
    pub(super) async fn whole(&mut self) -> Result<Vec<u8>, NoAnswer> {
        let mut whole = Vec::new();
        while let Some(bytes) = self.next().await? {
            whole.extend_from_slice(&bytes);
        }
        Ok(whole)
    }
}
