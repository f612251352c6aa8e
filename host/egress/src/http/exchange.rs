//! One request and its response over one connection, within one deadline.

use super::cause::Broken;
use super::connect::{Io, Loaded};
use super::framing::Framing;
use super::response::{Head, HttpExchange, Report};
use super::wire::{Watch, Wire};
use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{Connection, SendRequest};
use proofport_core::evidence::{Cause, Completion};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant, SystemTime};

/// Limits of one exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExchangeOptions {
    /// How long the whole exchange may take.
    pub deadline: Duration,
    /// The most bytes of content that a response may have.
    pub max_response_bytes: usize,
    /// Response headers, in lower case, that the connector sees and the record keeps.
    pub kept_headers: Vec<String>,
}

impl Loaded {
    /// Sends the request, reads the response, and says what was seen. Whatever happens is in the
    /// answer: this never fails, retries or waits beyond the deadline.
    ///
    /// Dropping the future closes the connection, so run it detached from whoever asked for it.
    pub async fn exchange(self, options: &ExchangeOptions, watch: Arc<dyn Watch>) -> HttpExchange {
        let Self { ready, outgoing } = self;
        let guard = outgoing.guard();
        let (started_at, started) = (SystemTime::now(), Instant::now());
        ready.wire.begin(outgoing.content, watch);
        let mut head = None;
        let talk = talk(ready.sender, outgoing.request, options.max_response_bytes, &ready.wire, &mut head);
        let result = match tokio::time::timeout(options.deadline, drive(ready.connection, talk)).await {
            Ok(result) => result,
            Err(_) => Err(Broken::Refused(Cause::DeadlinePassed)),
        };
        let seen = ready.wire.seen();
        let elapsed = started.elapsed();
        Report { head, result, seen, started_at, elapsed }.finish(&guard, &options.kept_headers)
    }
}

/// A response's content, and what proved that it is whole.
pub(super) struct Content {
    pub(super) bytes: Vec<u8>,
    pub(super) completion: Completion,
}

/// Polls the connection for as long as `talk` needs it. In one task: nothing is left running when
/// the exchange ends.
async fn drive<T>(connection: Connection<Io, Full<Bytes>>, talk: impl Future<Output = T>) -> T {
    let (mut connection, mut talk) = (pin!(Some(connection)), pin!(talk));
    poll_fn(|cx| {
        if let Poll::Ready(done) = talk.as_mut().poll(cx) {
            return Poll::Ready(done);
        }
        // Its error, if any, has reached `talk` already. It is dropped at once, so that a request
        // which it has not taken is given back as not sent.
        if connection.as_mut().as_pin_mut().is_some_and(|open| open.poll(cx).is_ready()) {
            connection.set(None);
        }
        talk.as_mut().poll(cx)
    })
    .await
}

async fn talk(
    mut sender: SendRequest<Full<Bytes>>,
    request: Request<Full<Bytes>>,
    most: usize,
    wire: &Wire,
    seen_head: &mut Option<Head>,
) -> Result<Content, Broken> {
    let method: Method = request.method().clone();
    let response = sender.send_request(request).await.map_err(Broken::Http)?;
    let (parts, mut body) = response.into_parts();
    let framing = Framing::of(&method, parts.status, parts.version, &parts.headers);
    *seen_head = Some(Head { status: parts.status, headers: parts.headers });
    let framing = framing.map_err(Broken::Refused)?;
    let mut bytes = Vec::new();
    if let Framing::Length(length) = framing {
        let length = usize::try_from(length).ok().filter(|length| *length <= most);
        // Not reserved in one go: the peer has only promised it.
        length.ok_or(Broken::Refused(Cause::TooLarge))?;
    }
    while let Some(frame) = body.frame().await {
        // Trailers are ignored.
        let Ok(data) = frame.map_err(Broken::Http)?.into_data() else { continue };
        if data.len() > most - bytes.len() {
            return Err(Broken::Refused(Cause::TooLarge));
        }
        bytes.extend_from_slice(&data);
    }
    let seen = wire.seen();
    let completion = match framing {
        Framing::NoContent if bytes.is_empty() => Some(Completion::NoContent),
        Framing::Length(length) if length == bytes.len() as u64 => Some(Completion::ContentLength),
        Framing::Chunked => Some(Completion::Chunked),
        // A FIN alone proves nothing: anybody on the way can send one.
        Framing::Close if seen.ended && wire.is_authenticated() => Some(Completion::CloseNotify),
        Framing::NoContent | Framing::Length(_) | Framing::Close => None,
    };
    let completion = completion.ok_or(Broken::Refused(Cause::Truncated))?;
    wire.complete();
    Ok(Content { bytes, completion })
}
