//! One request and its response over one connection, within one deadline.

use super::cause::Broken;
use super::connect::Loaded;
use super::content;
use super::framing::{self, Framing};
use super::open::Life;
use super::response::{Head, HttpExchange, Report};
use super::store::{ContentSink, Storing};
use super::wire::{Seen, Watch, Wire};
use crate::guard::Guard;
use http::header::{CONNECTION, EXPECT, HeaderValue, TRANSFER_ENCODING};
use http::{Method, StatusCode, Version};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use proofport_core::evidence::{Cause, Completion, Hop, HttpVersion};
use proofport_core::exchange::StoredContent;
use proofport_core::proxy_status::Hop as HopName;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use tokio::runtime::{Handle, RuntimeFlavor};

/// Limits of one exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExchangeOptions {
    /// How long the whole exchange may take.
    pub deadline: Duration,
    /// The most bytes of content that a response may have which is kept in memory.
    pub max_response_bytes: usize,
    /// The most bytes of content that may be stored.
    pub max_content_bytes: u64,
    /// Response headers, in lower case, that the connector sees and the record keeps.
    pub kept_headers: Vec<String>,
    /// The response header, in lower case, by which the service marks the answer to the first request with an
    /// idempotency key, where the contract names one.
    pub replay_header: Option<String>,
    /// Hops whose `Proxy-Status` is believed when it says that a request was not forwarded.
    pub trusted_hops: Vec<HopName>,
    /// Whether it matters that an intermediary may send the request on more than once: it does for an
    /// effect, unless somebody vouches that none does.
    pub copies_matter: bool,
    /// Whether other secrets than the request's own were injected in this invocation: content in a coding
    /// can't be searched for them.
    pub other_secrets: bool,
}

impl Loaded {
    /// Sends the request, reads the response, and says what was seen. Whatever happens is in the
    /// answer: this never fails, retries or waits beyond the deadline. The content of a complete 2xx goes
    /// to the sink, if there is one.
    ///
    /// Dropping the future closes the connection, so run it detached from whoever asked for it.
    pub async fn exchange(
        self,
        options: &ExchangeOptions,
        watch: Arc<dyn Watch>,
        sink: Option<Arc<dyn ContentSink>>,
    ) -> HttpExchange {
        let Self { mut open, slot, mut outgoing } = self;
        let guard = outgoing.guard();
        let is_secret = guard.is_armed() || options.other_secrets;
        let (started_at, started) = (SystemTime::now(), Instant::now());
        let (version, hop, reused) = (open.version(), open.hop, open.uses > 0);
        let (wire, kept) = (open.wire.clone(), Mutex::new(None));
        let may_be_repeated = options.copies_matter && may_be_repeated(outgoing.request.method());
        wire.begin(outgoing.request.body().length(), watch);
        let interim = Arc::new(AtomicU32::new(0));
        listen(&mut outgoing.request, version, &interim);
        let reading = Reading {
            method: outgoing.request.method().clone(),
            version,
            wire: wire.clone(),
            most: options.max_response_bytes,
            most_stored: options.max_content_bytes,
            sink,
            guard: Arc::clone(&guard),
            is_secret,
            head: &kept,
        };
        // What has come since the last look would be taken for the answer. On HTTP/2 an answer names its
        // stream, and a PING may lie there.
        let result = if version == HttpVersion::Http11 && open.life() != Life::Alive {
            Err(Broken::Refused(Cause::ConnectionStale))
        } else {
            let talk = open.talk(outgoing.request, |sending| async move {
                let response = sending.await.map_err(Broken::Http)?;
                reading.read(response).await
            });
            match tokio::time::timeout(options.deadline, talk).await {
                Ok(result) => result,
                Err(_) => Err(Broken::Refused(Cause::DeadlinePassed)),
            }
        };
        let seen = wire.end();
        let head: Option<Head> = kept.into_inner().unwrap_or_else(PoisonError::into_inner);
        if went_well(&result, &seen, head.as_ref(), version) && open.is_reusable() {
            slot.keep(open);
        }
        let size = result.as_ref().map_or(0, |content| content.bytes.len());
        let report = Report {
            head,
            result,
            seen,
            started_at,
            elapsed: started.elapsed(),
            version,
            hop,
            reused,
            interim: interim.load(Ordering::Relaxed),
            target: outgoing.target,
            trusted_hops: &options.trusted_hops,
            replay_header: options.replay_header.as_deref(),
            may_be_repeated,
            is_secret,
        };
        aside(size, || report.finish(&guard, &options.kept_headers))
    }
}

/// Content of this size and more, in bytes, is searched aside.
const LARGE: usize = 256 * 1024;

/// Does work on so many bytes. If they are many, the other tasks of this thread go on elsewhere, and the
/// timers with them; a runtime of one thread has no elsewhere.
fn aside<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let has_threads =
        || Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
    if bytes >= LARGE && has_threads() { tokio::task::block_in_place(work) } else { work() }
}

/// Whether everything in an exchange went as it should, so that its connection may be kept.
fn went_well(result: &Result<Whole, Broken>, seen: &Seen, head: Option<&Head>, version: HttpVersion) -> bool {
    result.as_ref().is_ok_and(|content| content.completion != Completion::CloseNotify)
        && seen.request_complete
        && seen.is_sound()
        // The end of this request would go out in front of the next one, or never. On HTTP/2 frames of the
        // connection may wait at any time.
        && (version == HttpVersion::Http2 || !seen.unflushed)
        && head.is_some_and(|head| stays_open(head, version))
}

/// Counts interim responses, and holds large content back for a 100.
fn listen(request: &mut http::Request<content::Content>, version: HttpVersion, interim: &Arc<AtomicU32>) {
    if version != HttpVersion::Http11 {
        return;
    }
    let expects = request.body().length() >= content::EXPECT_FROM;
    let gate = if expects {
        request.headers_mut().insert(EXPECT, HeaderValue::from_static("100-continue"));
        Some(Mutex::new(Some(request.body_mut().hold())))
    } else {
        None
    };
    let interim = Arc::clone(interim);
    hyper::ext::on_informational(request, move |response| {
        interim.fetch_add(1, Ordering::Relaxed);
        if response.status() == StatusCode::CONTINUE
            && let Some(gate) = &gate
            && let Some(open) = gate.lock().unwrap_or_else(PoisonError::into_inner).take()
        {
            // It is gone when the content went already.
            let _ = open.send(());
        }
    });
}

/// Whether an intermediary may send a request with this method on more than once by itself (RFC 9110
/// section 9.2.2). Only what HTTP's registry of methods calls not idempotent is safe from it, so an
/// unknown method is taken for one that is not.
fn may_be_repeated(method: &Method) -> bool {
    !matches!(method.as_str(), "POST" | "PATCH" | "LOCK" | "CONNECT")
}

/// Whether the peer lets the connection be used again (RFC 9112 section 9.3), and is not about to send
/// content that a 204 can't have (RFC 9110 section 8.6): it would begin the next response.
fn stays_open(head: &Head, version: HttpVersion) -> bool {
    if version == HttpVersion::Http2 {
        return true;
    }
    let says_close = |value: &HeaderValue| {
        value
            .as_bytes()
            .split(|b| *b == b',')
            .any(|option| option.trim_ascii().eq_ignore_ascii_case(b"close"))
    };
    let announces_content = head.headers.contains_key(TRANSFER_ENCODING)
        || framing::length(&head.headers).is_some_and(|length| length > 0);
    head.version == Version::HTTP_11
        && !head.headers.get_all(CONNECTION).iter().any(says_close)
        && !(head.status == StatusCode::NO_CONTENT && announces_content)
}

/// A response's content, and what proved that it is whole.
pub(super) struct Whole {
    pub(super) bytes: Vec<u8>,
    pub(super) completion: Completion,
    /// Where it went instead, if it was stored.
    pub(super) stored: Option<(StoredContent, u32)>,
}

/// What reading a response takes.
struct Reading<'a> {
    method: Method,
    version: HttpVersion,
    wire: Wire,
    most: usize,
    most_stored: u64,
    sink: Option<Arc<dyn ContentSink>>,
    guard: Arc<Guard>,
    /// Whether there is a secret that the content may not show.
    is_secret: bool,
    head: &'a Mutex<Option<Head>>,
}

impl Reading<'_> {
    async fn read(mut self, response: http::Response<Incoming>) -> Result<Whole, Broken> {
        let (parts, mut body) = response.into_parts();
        let framing = match self.version {
            HttpVersion::Http11 => Framing::of(&self.method, parts.status, parts.version, &parts.headers),
            HttpVersion::Http2 => Framing::of_http2(parts.status, &parts.headers),
        };
        let coded = super::response::is_coded(&parts.headers);
        *self.head.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(Head { status: parts.status, version: parts.version, headers: parts.headers });
        let framing = framing.map_err(Broken::Refused)?;
        let sink = self.sink.take().filter(|_| parts.status.is_success());
        if sink.is_some() && coded && self.is_secret {
            return Err(Broken::Refused(Cause::ContentNotStored));
        }
        let mut storing = sink.map(|sink| Storing::new(sink, Arc::clone(&self.guard), self.most_stored));
        let mut bytes = Vec::new();
        let mut length = 0_u64;
        if let Framing::Length(length) = framing {
            // Not reserved in one go: the peer has only promised it.
            let most = if storing.is_some() { self.most_stored } else { self.most as u64 };
            Some(length).filter(|length| *length <= most).ok_or(Broken::Refused(Cause::TooLarge))?;
        }
        while let Some(frame) = body.frame().await {
            // Trailers are ignored.
            let Ok(data) = frame.map_err(Broken::Http)?.into_data() else { continue };
            length += data.len() as u64;
            match &mut storing {
                Some(storing) => storing.push(&data).await.map_err(Broken::Refused)?,
                None if data.len() > self.most - bytes.len() => {
                    return Err(Broken::Refused(Cause::TooLarge));
                }
                None => bytes.extend_from_slice(&data),
            }
        }
        let seen = self.wire.seen();
        let completion = match framing {
            Framing::NoContent if length == 0 => Some(Completion::NoContent),
            Framing::Length(promised) if length == promised => Some(Completion::ContentLength),
            Framing::Chunked => Some(Completion::Chunked),
            // Without END_STREAM it may have been ended by an error that hyper takes for an end: NO_ERROR.
            Framing::Stream if body.is_end_stream() => Some(Completion::EndStream),
            // A FIN alone proves nothing: anybody on the way can send one.
            Framing::Close if seen.ended && self.wire.is_authenticated() => Some(Completion::CloseNotify),
            Framing::NoContent | Framing::Length(_) | Framing::Close | Framing::Stream => None,
        };
        let completion = completion.ok_or(Broken::Refused(Cause::Truncated))?;
        let stored = match storing {
            Some(storing) => Some(storing.finish().await.map_err(Broken::Refused)?),
            None => None,
        };
        self.wire.complete();
        Ok(Whole { bytes, completion, stored })
    }
}

/// Whether a response may be the origin's own word. A forward proxy's 407 is the proxy's.
pub(super) const fn is_from_origin(status: u16, hop: Hop) -> bool {
    !(status == 407 && matches!(hop, Hop::ForwardProxy))
}

#[cfg(test)]
mod tests;
