//! Stored contents over HTTP: whole or from any byte on (RFC 9110 section 14), a chunk at a time in memory.
//! Every chunk is checked before a byte of it goes out, and a copy that breaks off shows as incomplete.

use super::answer::answer;
use super::entrance::Visit;
use super::routes::About;
use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use http::header::{
    ACCEPT_RANGES, CONTENT_DISPOSITION, CONTENT_RANGE, CONTENT_TYPE, ETAG, IF_NONE_MATCH, IF_RANGE, RANGE,
};
use http::{HeaderMap, HeaderValue, StatusCode};
use http_body::{Frame, SizeHint};
use proofport_core::code::Code;
use proofport_core::content::ContentFacts;
use proofport_core::id::RequestId;
use proofport_journal::{Content, JournalError};
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::mpsc;

/// What of a content is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Wanted {
    Whole,
    /// These bytes, at least one.
    Part(Range<u64>),
    /// Bytes that there are none of.
    Nothing,
}

/// `GET /v1/invocations/{id}/content`.
pub(super) async fn content(About { visit, id }: About, headers: HeaderMap) -> Response {
    let agent = visit.agent.clone();
    let found = tokio::task::spawn_blocking(move || agent.content(&id)).await;
    let Some((facts, content)) = found.ok().flatten() else { return without(&visit, &id) };
    let tag = format!("\"{}\"", facts.digest);
    let mut response = if is_known(&headers, &tag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        match wanted(&headers, &tag, facts.bytes) {
            Wanted::Whole => (StatusCode::OK, body(content, &facts, 0..facts.bytes)).into_response(),
            Wanted::Part(part) => {
                let range = format!("bytes {}-{}/{}", part.start, part.end.saturating_sub(1), facts.bytes);
                let body = body(content, &facts, part);
                (StatusCode::PARTIAL_CONTENT, [(CONTENT_RANGE, range)], body).into_response()
            }
            Wanted::Nothing => {
                let range = format!("bytes */{}", facts.bytes);
                (StatusCode::RANGE_NOT_SATISFIABLE, [(CONTENT_RANGE, range)]).into_response()
            }
        }
    };
    let fields = response.headers_mut();
    fields.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    // What a remote wrote is shown by no browser.
    fields.insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        fields.insert(ETAG, tag);
    }
    response
}

/// The answer says why there is none.
fn without(visit: &Visit, id: &RequestId) -> Response {
    let answered = visit.agent.result(id);
    if answered.envelope.ok() {
        return answer(visit.agent.refuse(Code::ResultUnavailable), &visit.outbox);
    }
    answer(answered, &visit.outbox)
}

/// Whether the client has it (RFC 9110 section 13.1.2).
fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let listed = headers.get_all(IF_NONE_MATCH).iter().filter_map(|field| field.to_str().ok());
    listed.flat_map(|field| field.split(',')).any(|known| {
        let known = known.trim();
        known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag
    })
}

/// What a request asks for. Of a range that can't be understood, or of several, the whole is the answer, as
/// the RFC permits; so it is where the client has the beginning of something else.
fn wanted(headers: &HeaderMap, tag: &str, bytes: u64) -> Wanted {
    let mut fields = headers.get_all(RANGE).iter();
    let (Some(field), None) = (fields.next(), fields.next()) else { return Wanted::Whole };
    if headers.get_all(IF_RANGE).iter().any(|known| known.as_bytes() != tag.as_bytes()) {
        return Wanted::Whole;
    }
    let Some((first, last)) =
        field.to_str().ok().and_then(|text| text.strip_prefix("bytes=")?.split_once('-'))
    else {
        return Wanted::Whole;
    };
    let number = |text: &str| -> Option<u64> {
        text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
    };
    let part = match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => first..last.saturating_add(1).min(bytes),
        (Some(first), None) if last.is_empty() => first..bytes,
        (None, Some(most)) if first.is_empty() => bytes.saturating_sub(most)..bytes,
        (Some(_) | None, Some(_) | None) => return Wanted::Whole,
    };
    if part.is_empty() { Wanted::Nothing } else { Wanted::Part(part) }
}

/// A body of these bytes of a content.
fn body(
    content: Content,
    facts: &ContentFacts,
    part: Range<u64>,
) -> impl axum::response::IntoResponse + use<> {
    // One chunk is read while one is written out.
    let (send, receive) = mpsc::channel(1);
    let left = part.end.saturating_sub(part.start);
    tokio::spawn(read(Arc::new(content), u64::from(facts.chunk_bytes), part, send));
    let body = Body::new(Streamed { receive, left });
    ([(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"))], body)
}

/// Reads chunks until the part is whole, one fails, or nobody takes them any more.
async fn read(content: Arc<Content>, size: u64, part: Range<u64>, send: mpsc::Sender<Result<Bytes, Broken>>) {
    let mut at = part.start;
    while at < part.end && size > 0 {
        let number = at / size;
        let begin = number * size;
        let skip = at - begin;
        let read = Arc::clone(&content);
        let chunk = tokio::task::spawn_blocking(move || match u32::try_from(number) {
            Ok(number) => read.chunk(number).map_err(Broken::Journal),
            Err(_) => Err(Broken::Short),
        });
        let sent = chunk.await.unwrap_or(Err(Broken::Short)).and_then(|chunk| {
            let chunk = Bytes::from_owner(chunk);
            let length = chunk.len() as u64;
            let end = length.min(part.end - begin);
            // In bounds of a chunk, whose length fits.
            let bounds = usize::try_from(skip).ok().zip(usize::try_from(end).ok());
            match bounds {
                Some((skip, end)) if skip < end => Ok(chunk.slice(skip..end)),
                Some(_) | None => Err(Broken::Short),
            }
        });
        at = match &sent {
            Ok(bytes) => at + bytes.len() as u64,
            Err(error) => {
                tracing::error!(%error, "a stored content broke off");
                part.end
            }
        };
        if send.send(sent).await.is_err() {
            return;
        }
    }
}

/// Why a content breaks off. The connection is cut then, so that nobody takes the part for the whole.
#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("a chunk is shorter than is on record")]
    Short,
}

struct Streamed {
    receive: mpsc::Receiver<Result<Bytes, Broken>>,
    left: u64,
}

impl http_body::Body for Streamed {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        self.receive.poll_recv(cx).map(|chunk| {
            let chunk = match chunk {
                Some(chunk) => chunk,
                None if self.left == 0 => return None,
                None => Err(Broken::Short),
            };
            Some(chunk.map(|bytes| {
                self.left = self.left.saturating_sub(bytes.len() as u64);
                Frame::data(bytes)
            }))
        })
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_what_the_rfc_says() {
        let check = |range: &str, if_range: Option<&str>, bytes: u64, expected: Wanted| {
            let mut headers = HeaderMap::new();
            headers.insert(RANGE, HeaderValue::from_str(range).unwrap());
            headers.extend(if_range.map(|tag| (IF_RANGE, HeaderValue::from_str(tag).unwrap())));
            assert_eq!(wanted(&headers, "\"tag\"", bytes), expected, "{range} of {bytes}");
        };
        check("bytes=0-", None, 10, Wanted::Part(0..10));
        check("bytes=3-5", None, 10, Wanted::Part(3..6));
        check("bytes=9-9", None, 10, Wanted::Part(9..10));
        check("bytes=9-18446744073709551615", None, 10, Wanted::Part(9..10));
        check("bytes=-4", None, 10, Wanted::Part(6..10));
        check("bytes=-40", None, 10, Wanted::Part(0..10));
        for nothing in ["bytes=10-", "bytes=10-12", "bytes=-0"] {
            check(nothing, None, 10, Wanted::Nothing);
        }
        check("bytes=0-", None, 0, Wanted::Nothing);
        for whole in ["bytes=5-3", "bytes=-", "bytes=a-", "bytes=1-2,4-5", "lines=1-2", "bytes=+1-2", "1-2"] {
            check(whole, None, 10, Wanted::Whole);
        }
        check("bytes=3-", Some("\"tag\""), 10, Wanted::Part(3..10));
        check("bytes=3-", Some("\"other\""), 10, Wanted::Whole);
        check("bytes=3-", Some("W/\"tag\""), 10, Wanted::Whole);
    }

    #[test]
    fn what_the_client_has_is_not_sent() {
        let check = |known: &str, expected: bool| {
            let mut headers = HeaderMap::new();
            headers.insert(IF_NONE_MATCH, HeaderValue::from_str(known).unwrap());
            assert_eq!(is_known(&headers, "\"tag\""), expected, "{known}");
        };
        for known in ["\"tag\"", "*", "\"a\", \"tag\"", "W/\"tag\""] {
            check(known, true);
        }
        for other in ["\"a\"", "tag", ""] {
            check(other, false);
        }
    }
}
