//! One request and its answer, over a connection of their own. Nothing is sent twice, nothing is followed, and
//! no proxy is asked of the environment. Whether a byte was offered to the system is counted where it would be.

use crate::error::{Cause, Malformed, NoAnswer, Reach};
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST, RANGE};
use http::{HeaderValue, Method, Request, Response};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use std::fmt;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// As good as never.
const FAR: Duration = Duration::from_secs(60 * 60 * 24 * 365);

/// Where a host is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Socket(PathBuf),
    Http(SocketAddr),
}

/// What an operator gave this agent to show who it is. Nothing prints it.
#[derive(Clone)]
pub struct Token(HeaderValue);

/// A token is of visible ASCII characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a token is of visible ASCII characters, and not empty")]
pub struct InvalidToken;

impl Token {
    /// Reads a token; white space around it is not part of it.
    ///
    /// # Errors
    /// When it is empty or has characters that no token has.
    pub fn new(text: &str) -> Result<Self, InvalidToken> {
        let text = text.trim();
        if text.is_empty() || !text.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(InvalidToken);
        }
        let mut field = HeaderValue::from_str(&format!("Bearer {text}")).map_err(|_| InvalidToken)?;
        field.set_sensitive(true);
        Ok(Self(field))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// What is asked.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) method: Method,
    pub(crate) path: String,
    /// JSON.
    pub(crate) body: Option<Bytes>,
    /// From which byte on.
    pub(crate) from: Option<u64>,
}

impl Asked {
    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self { method: Method::GET, path: path.into(), body: None, from: None }
    }

    pub(crate) fn post(path: impl Into<String>, body: Option<Bytes>) -> Self {
        Self { method: Method::POST, path: path.into(), body, from: None }
    }
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Its media type, without parameters and in lower case.
    pub(crate) kind: String,
    pub(crate) body: Bytes,
}

/// What drives a connection, which ends with it.
pub(crate) struct Driver(JoinHandle<()>);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Why there is no answer that could be read.
#[derive(Debug)]
pub(crate) enum Unread {
    NoAnswer(NoAnswer),
    Malformed(Malformed),
}

/// Sends a request and reads its whole answer, of at most `limit` bytes, within `patience`.
pub(crate) async fn exchange(
    place: &Place,
    token: Option<&Token>,
    asked: Asked,
    patience: Duration,
    limit: usize,
) -> Result<Answer, Unread> {
    let offered = Arc::new(AtomicBool::new(false));
    let whole = async {
        let (response, _driver) = send(place, token, asked, &offered).await?;
        let (status, kind) = (response.status().as_u16(), kind(&response));
        match Limited::new(response.into_body(), limit).collect().await {
            Ok(body) => Ok(Ok(Answer { status, kind, body: body.to_bytes() })),
            Err(error) if error.is::<LengthLimitError>() => Ok(Err(Malformed::TooLong(limit))),
            Err(_) => Err(Cause::Broken),
        }
    };
    let cause = match tokio::time::timeout_at(after(patience), whole).await {
        Ok(Ok(Ok(answer))) => return Ok(answer),
        Ok(Ok(Err(malformed))) => return Err(Unread::Malformed(malformed)),
        Ok(Err(cause)) => cause,
        Err(_) => Cause::Deadline(patience),
    };
    Err(Unread::NoAnswer(NoAnswer { reach: reach(&offered), cause }))
}

/// Sends a request and reads the head of its answer within `patience`.
pub(crate) async fn begin(
    place: &Place,
    token: Option<&Token>,
    asked: Asked,
    patience: Duration,
) -> Result<(Response<Incoming>, Driver), NoAnswer> {
    let offered = Arc::new(AtomicBool::new(false));
    let cause = match tokio::time::timeout_at(after(patience), send(place, token, asked, &offered)).await {
        Ok(Ok(begun)) => return Ok(begun),
        Ok(Err(cause)) => cause,
        Err(_) => Cause::Deadline(patience),
    };
    Err(NoAnswer { reach: reach(&offered), cause })
}

/// That long from now.
pub(crate) fn after(time: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(time).unwrap_or_else(|| now + FAR)
}

/// The media type of an answer, without parameters and in lower case; empty where there is none.
pub(crate) fn kind<T>(response: &Response<T>) -> String {
    let field = response.headers().get(CONTENT_TYPE).and_then(|field| field.to_str().ok());
    let essence = field.and_then(|field| field.split(';').next());
    essence.unwrap_or_default().trim().to_ascii_lowercase()
}

fn reach(offered: &AtomicBool) -> Reach {
    if offered.load(Ordering::SeqCst) { Reach::MayHaveReached } else { Reach::NotReached }
}

async fn send(
    place: &Place,
    token: Option<&Token>,
    asked: Asked,
    offered: &Arc<AtomicBool>,
) -> Result<(Response<Incoming>, Driver), Cause> {
    let request = request(place, token, asked).ok_or(Cause::Broken)?;
    match place {
        Place::Socket(path) => {
            let stream = UnixStream::connect(path).await.map_err(|error| Cause::Connect(error.kind()))?;
            over(Counted { stream, offered: Arc::clone(offered) }, request).await
        }
        Place::Http(at) => {
            let stream = TcpStream::connect(at).await.map_err(|error| Cause::Connect(error.kind()))?;
            // It only speeds things up.
            let _ = stream.set_nodelay(true);
            over(Counted { stream, offered: Arc::clone(offered) }, request).await
        }
    }
}

async fn over<S>(
    stream: Counted<S>,
    request: Request<Full<Bytes>>,
) -> Result<(Response<Incoming>, Driver), Cause>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|_| Cause::Broken)?;
    let driver = Driver(tokio::spawn(async move {
        // What goes wrong with it shows in the answer.
        let _ = connection.await;
    }));
    let response = sender.send_request(request).await.map_err(|_| Cause::Broken)?;
    Ok((response, driver))
}

fn request(place: &Place, token: Option<&Token>, asked: Asked) -> Option<Request<Full<Bytes>>> {
    let host = match place {
        Place::Socket(_) => "localhost".to_owned(),
        Place::Http(at) => at.to_string(),
    };
    let mut request = Request::builder()
        .method(asked.method)
        .uri(asked.path)
        .header(HOST, host)
        .header(ACCEPT, "application/json, application/problem+json")
        .header(CONNECTION, "close");
    if let Some(Token(field)) = token {
        request = request.header(AUTHORIZATION, field);
    }
    if asked.body.is_some() {
        request = request.header(CONTENT_TYPE, "application/json");
    }
    if let Some(from) = asked.from {
        request = request.header(RANGE, format!("bytes={from}-"));
    }
    request.body(Full::new(asked.body.unwrap_or_default())).ok()
}

/// A stream that remembers whether it was given anything to send.
struct Counted<S> {
    stream: S,
    offered: Arc<AtomicBool>,
}

impl<S> Counted<S> {
    fn offer(&self, bytes: usize) {
        if bytes > 0 {
            self.offered.store(true, Ordering::SeqCst);
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Counted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Counted<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.offer(bytes.len());
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.offer(parts.iter().map(|part| part.len()).sum());
        Pin::new(&mut self.stream).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
