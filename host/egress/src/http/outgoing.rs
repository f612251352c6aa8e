//! The whole request, built before anything is made durable, so that nothing but input and output
//! can fail afterwards.

use super::content::Content;
use crate::guard::Guard;
use crate::inject::{Attachment, Credential, Signable};
use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHORIZATION,
    USER_AGENT,
};
use http::uri::PathAndQuery;
use http::{Method, Request, Uri};
use percent_encoding::percent_decode_str;
use proofport_core::evidence::{Hop, HttpVersion};
use proofport_core::exchange::{Header, HttpRequest, host_owns_header};
use proofport_core::origin::{Origin, OriginForm, Scheme};
use proofport_core::time::UnixMillis;
use std::sync::Arc;

const AGENT: &str = concat!("proofport/", env!("CARGO_PKG_VERSION"));

/// A request ready for the wire, credential included. It has no `Debug`.
pub struct Outgoing {
    pub(super) target: Target,
    pub(super) request: Request<Content>,
    guard: Arc<Guard>,
}

/// Where a request goes, as it was written: without a credential in its query.
pub(super) struct Target {
    pub(super) origin: Origin,
    pub(super) path: OriginForm,
}

impl Outgoing {
    /// Builds the request. `extra` are headers that the host writes, such as an idempotency key. Where
    /// the credential signs, the signature says that it was made at `signed_at`, and services refuse one
    /// that is minutes off: an attempt is prepared anew.
    ///
    /// # Errors
    /// When the request can't be sent as it is. Nothing is repaired.
    pub fn prepare(
        request: &HttpRequest,
        extra: &[Header],
        credential: Option<&Credential>,
        signed_at: UnixMillis,
    ) -> Result<Self, Unsendable> {
        let method = method(&request.method)?;
        let mut headers = HeaderMap::new();
        headers.insert(HOST, value(&request.origin.authority())?);
        for header in &request.headers {
            if host_owns_header(&header.name) {
                return Err(Unsendable::HeaderOwned);
            }
            headers.append(name(&header.name)?, value(&header.value)?);
        }
        if headers.get_all(ACCEPT_ENCODING).iter().any(|coding| coding != "identity") {
            // A compressed answer could carry a secret past the guard.
            return Err(Unsendable::HeaderOwned);
        }
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if !headers.contains_key(USER_AGENT) {
            headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        }
        let content = request.body.clone().unwrap_or_default();
        let expects_content = [Method::POST, Method::PUT, Method::PATCH].contains(&method);
        if request.body.is_some() || expects_content {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(content.len()));
        }
        for header in extra {
            insert(&mut headers, name(&header.name)?, value(&header.value)?)?;
        }
        let mut target = request.path.as_str().to_owned();
        let mut guard = credential.map_or_else(|| Arc::new(Guard::none()), Credential::guard);
        match credential.map(|credential| &credential.attachment) {
            // A client certificate is the connection's.
            None | Some(Attachment::ClientCertificate(_)) => {}
            Some(Attachment::Header { name, value }) => insert(&mut headers, name.clone(), value.clone())?,
            Some(Attachment::Query { name, pair }) => append_query(&mut target, name, pair)?,
            Some(Attachment::SigV4(signer)) => {
                let signable = Signable {
                    method: &method,
                    origin: &request.origin,
                    target: &target,
                    headers: &headers,
                    body: &content,
                };
                let signed = signer.sign(&signable, signed_at).map_err(|_| Unsendable::Unsigned)?;
                for (name, value) in signed.headers {
                    insert(&mut headers, name, value)?;
                }
                guard = Arc::new(signed.guard);
            }
        }
        let mut outgoing = Request::new(Content::new(Bytes::from(content)));
        *outgoing.method_mut() = method;
        *outgoing.uri_mut() = uri(target)?;
        *outgoing.headers_mut() = headers;
        let target = Target { origin: request.origin.clone(), path: request.path.clone() };
        Ok(Self { target, request: outgoing, guard })
    }

    /// Spells the request for the connection that it goes out on: a forward proxy wants the absolute form
    /// (RFC 9112 section 3.2.2) and its own credential, HTTP/2 wants no `Host` (RFC 9113 section 8.3.1).
    pub(super) fn fit(
        &mut self,
        version: HttpVersion,
        hop: Hop,
        proxy_authorization: Option<&HeaderValue>,
    ) -> Result<(), Unsendable> {
        if version == HttpVersion::Http11 && hop != Hop::ForwardProxy {
            return Ok(());
        }
        let mut parts = std::mem::take(self.request.uri_mut()).into_parts();
        let origin = &self.target.origin;
        parts.scheme = Some(match origin.scheme() {
            Scheme::Http => http::uri::Scheme::HTTP,
            Scheme::Https => http::uri::Scheme::HTTPS,
        });
        parts.authority = Some(origin.authority().parse().map_err(|_| Unsendable::Target)?);
        *self.request.uri_mut() = Uri::from_parts(parts).map_err(|_| Unsendable::Target)?;
        if version == HttpVersion::Http2 {
            self.request.headers_mut().remove(HOST);
        }
        match proxy_authorization.filter(|_| hop == Hop::ForwardProxy) {
            Some(value) => insert(self.request.headers_mut(), PROXY_AUTHORIZATION, value.clone()),
            None => Ok(()),
        }
    }

    /// What recognises the request's credential in answers, and in what is made of them.
    #[must_use]
    pub fn guard(&self) -> Arc<Guard> {
        Arc::clone(&self.guard)
    }
}

fn method(text: &str) -> Result<Method, Unsendable> {
    let method = Method::from_bytes(text.as_bytes()).map_err(|_| Unsendable::Method)?;
    // CONNECT makes a tunnel and TRACE reflects every header.
    let refused = [Method::CONNECT, Method::TRACE].contains(&method);
    if refused || text.bytes().any(|b| b.is_ascii_lowercase()) { Err(Unsendable::Method) } else { Ok(method) }
}

fn name(text: &str) -> Result<HeaderName, Unsendable> {
    // Lower case only: another spelling would be another request under the same fingerprint.
    HeaderName::from_lowercase(text.as_bytes()).map_err(|_| Unsendable::HeaderName)
}

fn value(text: &str) -> Result<HeaderValue, Unsendable> {
    if text.trim_matches([' ', '\t']).len() != text.len() {
        return Err(Unsendable::HeaderValue);
    }
    HeaderValue::from_str(text).map_err(|_| Unsendable::HeaderValue)
}

/// A field that nobody else may have written.
fn insert(headers: &mut HeaderMap, name: HeaderName, value: HeaderValue) -> Result<(), Unsendable> {
    match headers.entry(name) {
        http::header::Entry::Occupied(_) => Err(Unsendable::Taken),
        http::header::Entry::Vacant(entry) => {
            entry.insert(value);
            Ok(())
        }
    }
}

fn append_query(target: &mut String, name: &str, pair: &str) -> Result<(), Unsendable> {
    let query = target.split_once('?').map(|(_, query)| query);
    let taken = query.into_iter().flat_map(|query| query.split('&')).any(|parameter| {
        let written = parameter.split('=').next().unwrap_or(parameter).replace('+', " ");
        percent_decode_str(&written).eq(name.bytes())
    });
    if taken {
        return Err(Unsendable::Taken);
    }
    target.push_str(match query {
        None => "?",
        Some(query) if query.is_empty() || query.ends_with('&') => "",
        Some(_) => "&",
    });
    target.push_str(pair);
    Ok(())
}

fn uri(target: String) -> Result<Uri, Unsendable> {
    let path = PathAndQuery::try_from(target.as_str()).map_err(|_| Unsendable::Target)?;
    // Another spelling would be another request under the same fingerprint.
    if path.as_str() != target {
        return Err(Unsendable::Target);
    }
    let mut parts = http::uri::Parts::default();
    parts.path_and_query = Some(path);
    Uri::from_parts(parts).map_err(|_| Unsendable::Target)
}

/// Why a request can't be sent. No value of it is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsendable {
    /// Not a method, not in upper case, or CONNECT or TRACE.
    #[error("the method is not an upper-case token, or is CONNECT or TRACE")]
    Method,
    /// Not an origin-form target that can be sent unchanged.
    #[error("the path, with the credential where that is a query parameter, can't be sent unchanged")]
    Target,
    /// Not a lower-case field name.
    #[error("a header's name is not a lower-case token")]
    HeaderName,
    /// Not a field value.
    #[error("a header's value has a byte that may not stand there")]
    HeaderValue,
    /// The connector wrote a header that is the host's.
    #[error("a header is the host's to write")]
    HeaderOwned,
    /// The connector wrote what the host is to write: the idempotency key's or the credential's place.
    #[error("the place of the idempotency key or the credential is already taken")]
    Taken,
    /// The credential signs requests, and this one can't be signed.
    #[error("the request can't be signed: its query, or a header, is not text")]
    Unsigned,
}

#[cfg(test)]
mod tests;
