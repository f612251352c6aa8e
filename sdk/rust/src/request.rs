//! Building requests.

use crate::types::Send;
use crate::{Fault, Header, HttpRequest, ReconcileStep, Request, Role, Step, Value, encode};

/// The fixed part of a path comes from the connector's text, never from an input: `path` is
/// `'static`, and what varies goes through [`segment`](HttpRequest::segment) and
/// [`query`](HttpRequest::query).
impl HttpRequest {
    /// A GET of this absolute path.
    #[must_use]
    pub fn get(path: &'static str) -> Self {
        Self::of("GET", path)
    }

    /// A POST to this absolute path.
    #[must_use]
    pub fn post(path: &'static str) -> Self {
        Self::of("POST", path)
    }

    /// A PUT to this absolute path.
    #[must_use]
    pub fn put(path: &'static str) -> Self {
        Self::of("PUT", path)
    }

    /// A PATCH of this absolute path.
    #[must_use]
    pub fn patch(path: &'static str) -> Self {
        Self::of("PATCH", path)
    }

    /// A DELETE of this absolute path.
    #[must_use]
    pub fn delete(path: &'static str) -> Self {
        Self::of("DELETE", path)
    }

    /// Any method on this absolute path.
    #[must_use]
    pub fn of(method: &'static str, path: &'static str) -> Self {
        Self {
            origin: None,
            method: method.to_owned(),
            path: path.to_owned(),
            headers: Vec::new(),
            body: None,
            credential: None,
        }
    }

    /// Appends one path segment, percent-encoded. Comes before every [`query`](Self::query).
    ///
    /// # Errors
    /// [`Fault::Input`] when the value is empty, `.` or `..`.
    pub fn segment(mut self, value: &str) -> Result<Self, Fault> {
        let encoded = encode::segment(value).ok_or_else(|| Fault::field(""))?;
        self.path.push('/');
        self.path.push_str(&encoded);
        Ok(self)
    }

    /// Appends one query parameter, percent-encoded.
    #[must_use]
    pub fn query(mut self, name: &str, value: &str) -> Self {
        self.path.push(if self.path.contains('?') { '&' } else { '?' });
        self.path.push_str(&encode::query_pair(name, value));
        self
    }

    /// Adds a header. The host refuses those that are its own: framing, routing, authentication and
    /// the idempotency key's.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push(Header { name: name.to_owned(), value: value.into() });
        self
    }

    /// A JSON body.
    #[must_use]
    pub fn json(mut self, body: &Value) -> Self {
        self.body = Some(body.to_string().into_bytes());
        self.header("content-type", "application/json")
    }

    /// An `application/x-www-form-urlencoded` body of these fields, in this order.
    #[must_use]
    pub fn form(mut self, fields: &[(&str, String)]) -> Self {
        self.body = Some(encode::form(fields).into_bytes());
        self.header("content-type", "application/x-www-form-urlencoded")
    }

    /// Asks the host to attach the credential in this slot.
    #[must_use]
    pub fn credential(mut self, slot: &'static str) -> Self {
        self.credential = Some(slot.to_owned());
        self
    }

    /// Sends it to one of the connection's origins other than the first, spelled as there.
    #[must_use]
    pub fn origin(mut self, origin: &str) -> Self {
        self.origin = Some(origin.to_owned());
        self
    }

    /// Sends it as a query, which changes nothing. `summary` is one sentence for people.
    #[must_use]
    pub fn as_query<S: FromQuery>(self, summary: impl Into<String>) -> S {
        S::from_query(Send { role: Role::Query, request: Request::Http(self), summary: summary.into() })
    }

    /// Sends it as the call's one effect. `summary` says, in one sentence, what it does, for the
    /// person who approves it.
    #[must_use]
    pub fn as_effect(self, summary: impl Into<String>) -> Step {
        Step::Send(Send { role: Role::Effect, request: Request::Http(self), summary: summary.into() })
    }
}

/// The steps that can be a query: those of a call and those of a reconciliation. Only a call's can be
/// an effect.
pub trait FromQuery {
    /// The step that sends this query.
    fn from_query(send: Send) -> Self;
}

impl FromQuery for Step {
    fn from_query(send: Send) -> Self {
        Self::Send(send)
    }
}

impl FromQuery for ReconcileStep {
    fn from_query(send: Send) -> Self {
        Self::Send(send)
    }
}
