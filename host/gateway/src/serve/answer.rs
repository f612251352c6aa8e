//! Envelopes as HTTP answers: plain JSON where ok, else a problem (RFC 9457) with the envelope's members
//! beside the RFC's own. No text in either is anybody's but the host's, what the operation's output apart.

use super::handover::Outbox;
use super::status::status;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header::{CONNECTION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, StatusCode};
use proofport_broker::Delivery;
use proofport_core::code::Code;
use proofport_core::envelope::Envelope;
use serde::Serialize;

pub(super) const JSON: HeaderValue = HeaderValue::from_static("application/json");
const PROBLEM: HeaderValue = HeaderValue::from_static("application/problem+json");

/// The members of RFC 9457 §3.1, and the envelope's own.
#[derive(Serialize)]
struct Problem<'a> {
    #[serde(rename = "type")]
    kind: String,
    title: String,
    status: u16,
    detail: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    instance: Option<String>,
    #[serde(flatten)]
    envelope: &'a Envelope,
}

/// An answer on its way to a connection: once it is written out, its delivery is confirmed.
pub(super) fn answer(delivery: Delivery, outbox: &Outbox) -> Response {
    let status = status(&delivery.envelope);
    let Some((kind, bytes)) = written(&delivery.envelope, status) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let mut response = Response::new(Body::empty());
    head(&mut response, &delivery.envelope, status, kind);
    *response.body_mut() = outbox.body(bytes, delivery);
    response
}

/// Why a request got no further than the door. Each is the host's own refusal of a request that nothing was
/// taken on of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// Nothing is at this path.
    NoSuchPath,
    /// The path has no such method.
    Method,
    /// The body is not declared to be JSON.
    MediaType,
    /// The body is not JSON.
    Malformed,
    /// The body is JSON of another shape, or a parameter is out of its bounds.
    Shape,
    /// The body is larger than this host takes.
    TooLarge,
    /// The request did not come to its end in time.
    Slow,
    /// No token came, or one that nobody was given.
    Stranger,
}

impl Refused {
    const fn table(self) -> (StatusCode, Code) {
        match self {
            Self::NoSuchPath => (StatusCode::NOT_FOUND, Code::UnsupportedAction),
            Self::Method => (StatusCode::METHOD_NOT_ALLOWED, Code::UnsupportedAction),
            Self::MediaType => (StatusCode::UNSUPPORTED_MEDIA_TYPE, Code::InvalidInput),
            Self::Malformed => (StatusCode::BAD_REQUEST, Code::InvalidInput),
            Self::Shape => (StatusCode::UNPROCESSABLE_ENTITY, Code::InvalidInput),
            Self::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, Code::PayloadLimit),
            Self::Slow => (StatusCode::REQUEST_TIMEOUT, Code::InvalidInput),
            Self::Stranger => (StatusCode::UNAUTHORIZED, Code::UserDenied),
        }
    }

    const fn header(self) -> Option<(HeaderName, HeaderValue)> {
        match self {
            Self::Stranger => Some((WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))),
            // The rest of the request would be taken for another one, or still comes.
            Self::TooLarge | Self::Slow => Some((CONNECTION, HeaderValue::from_static("close"))),
            Self::NoSuchPath | Self::Method | Self::MediaType | Self::Malformed | Self::Shape => None,
        }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let (status, code) = self.table();
        let mut response = refusal(&Envelope::refusal(code, None), status);
        response.headers_mut().extend(self.header());
        response
    }
}

/// A refusal with another status than its code's own.
fn refusal(envelope: &Envelope, status: StatusCode) -> Response {
    let Some((kind, bytes)) = written(envelope, status) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let mut response = Response::new(Body::from(bytes));
    head(&mut response, envelope, status, kind);
    response
}

fn head(response: &mut Response, envelope: &Envelope, status: StatusCode, kind: HeaderValue) {
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, kind);
    let delay = envelope.retry_after_seconds().filter(|_| envelope.retryable());
    response.headers_mut().extend(delay.map(|seconds| (RETRY_AFTER, HeaderValue::from(seconds))));
}

/// The body and its type. An envelope is made of what serialises, so that there is always one.
fn written(envelope: &Envelope, status: StatusCode) -> Option<(HeaderValue, Vec<u8>)> {
    let (kind, written) = match envelope.code() {
        None => (JSON, serde_json::to_vec(envelope)),
        Some(code) => {
            let problem = Problem {
                kind: super::pages::location(code),
                title: title(code),
                status: status.as_u16(),
                detail: envelope.message(),
                instance: envelope.request_id().map(|id| format!("urn:proofport:invocation:{id}")),
                envelope,
            };
            (PROBLEM, serde_json::to_vec(&problem))
        }
    };
    match written {
        Ok(bytes) => Some((kind, bytes)),
        Err(error) => {
            tracing::error!(%error, "an answer can't be written as JSON");
            None
        }
    }
}

/// A value of the host's own as an answer.
pub(super) fn json(value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(bytes) => ([(CONTENT_TYPE, JSON)], bytes).into_response(),
        Err(error) => {
            tracing::error!(%error, "an answer can't be written as JSON");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// `OUTCOME_UNKNOWN` → `Outcome unknown`.
fn title(code: Code) -> String {
    let mut title = code.as_str().replace('_', " ");
    if let Some(rest) = title.get_mut(1..) {
        rest.make_ascii_lowercase();
    }
    title
}
