//! The one endpoint of both revisions. Neither has a session of the protocol's here: every request stands for
//! itself, and who asks is known from the connection or the token that it came with.

use super::changes;
use super::delivered::{Confirming, Handed, Handover};
use super::server::Server;
use super::{Asker, Options, in_flight};
use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::any;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use http_body_util::Full;
use rmcp::model::{ProtocolVersion, RequestId};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use std::borrow::Cow;
use std::sync::Arc;
use url::Url;

const VERSION: &str = "mcp-protocol-version";
const CANCELLED: &str = "notifications/cancelled";

type Service = StreamableHttpService<Server, NeverSessionManager>;

#[derive(Clone)]
struct Door {
    server: Server,
    service: Service,
    options: Arc<Options>,
}

/// The endpoint at `path`. Every request has to come with an [`Asker`] among its extensions.
pub(super) fn router(path: &str, server: Server, options: Options) -> Router {
    // A host that stops ends what only listens. Calls are answered to their end, and so its own token is never
    // cancelled.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(options.most_bytes)
        .with_allowed_hosts(options.hosts.clone())
        .with_allowed_origins(options.origins.clone())
        .enforce_origin_validation();
    let each = server.clone();
    let service = Service::new(move || Ok(each.clone()), Arc::new(NeverSessionManager::default()), config);
    Router::new().route(path, any(handle)).with_state(Door { server, service, options: Arc::new(options) })
}

/// The longest request of somebody who is not admitted, in bytes: more than a handshake takes.
const MOST_OF_A_STRANGER: usize = 64 * 1024;

async fn handle(State(door): State<Door>, request: Request) -> Response {
    if request.extensions().get::<Asker>().is_none() {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    if !is_welcome(request.headers(), &door.options) {
        return StatusCode::FORBIDDEN.into_response();
    }
    if request.method() == Method::GET && listens(request.headers()) {
        return changes::stream(door.server.changes.clone(), door.options.stopping.clone());
    }
    let (mut parts, body) = request.into_parts();
    let most = match parts.extensions.get::<Asker>() {
        Some(Asker::Agent(_)) => door.options.most_bytes,
        Some(Asker::Refused(_)) | None => door.options.most_bytes.min(MOST_OF_A_STRANGER),
    };
    let body = match tokio::time::timeout(door.options.request_time, to_bytes(body, most)).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => return StatusCode::PAYLOAD_TOO_LARGE.into_response(),
        Err(_) => return StatusCode::REQUEST_TIMEOUT.into_response(),
    };
    if let (Some(id), Some(Asker::Agent(agent))) = (cancelled(&body), parts.extensions.get::<Asker>()) {
        let named = door.server.in_flight.cancel(&in_flight::called(agent, &id));
        if let Some(id) = named {
            // What rests between two attempts is told by the record.
            let agent = agent.clone();
            tokio::spawn(async move { agent.cancel(&id).await });
        }
    }
    let handed = Handed::with(parts.extensions.get::<Handover>().cloned().unwrap_or_default());
    parts.extensions.insert(handed.clone());
    let response = door.service.handle(Request::from_parts(parts, Full::new(body))).await;
    response.map(|body| Body::new(Confirming { body, handed }))
}

/// Whether a page in somebody's browser could not have sent this (the protocol's "DNS rebinding").
fn is_welcome(headers: &HeaderMap, options: &Options) -> bool {
    let mut named = headers.get_all(header::HOST).iter();
    let (Some(host), None) = (named.next(), named.next()) else { return false };
    let host = host.to_str().ok().and_then(|host| Url::parse(&format!("http://{host}/")).ok());
    let is_ours = host.as_ref().and_then(Url::host_str).is_some_and(|host| {
        options.hosts.iter().any(|allowed| bare(allowed).eq_ignore_ascii_case(bare(host)))
    });
    let is_listed = |origin: &HeaderValue| options.origins.iter().any(|listed| origin == listed.as_str());
    is_ours && headers.get_all(header::ORIGIN).iter().all(is_listed)
}

/// An address of IPv6 without the brackets that it has where a port may follow.
fn bare(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

/// Whether this opens the older revision's stream of notifications.
fn listens(headers: &HeaderMap) -> bool {
    let new = headers
        .get(VERSION)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|version| version >= ProtocolVersion::NO_INITIALIZE.as_str());
    let takes = headers.get_all(header::ACCEPT).iter().any(|value| {
        value.to_str().is_ok_and(|value| value.to_ascii_lowercase().contains("text/event-stream"))
    });
    takes && !new
}

/// The JSON-RPC id of the request that this notification cancels.
fn cancelled(body: &Bytes) -> Option<RequestId> {
    #[derive(Deserialize)]
    struct Notification<'a> {
        #[serde(borrow)]
        method: Cow<'a, str>,
        params: Option<Params>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Params {
        request_id: Option<RequestId>,
    }
    // Most bodies are calls, and need not be read twice.
    body.windows(CANCELLED.len()).any(|part| part == CANCELLED.as_bytes()).then_some(())?;
    let read: Notification<'_> = serde_json::from_slice(body).ok()?;
    (read.method == CANCELLED).then_some(())?;
    read.params?.request_id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancellation_is_told_from_what_speaks_of_one() {
        let check = |body: &str, expected: Option<&str>| {
            let got = cancelled(&Bytes::copy_from_slice(body.as_bytes()));
            let got = got.map(|id| serde_json::to_string(&id).unwrap());
            assert_eq!(got.as_deref(), expected, "{body}");
        };
        let one = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
        check(one, Some("7"));
        check(&one.replace('7', "\"a\""), Some("\"a\""));
        check(&one.replace("/cancelled", "/progress"), None);
        check(
            r#"{"method":"tools/call","params":{"requestId":7,"arguments":"notifications/cancelled"}}"#,
            None,
        );
        check(r#"{"method":"notifications/cancelled"}"#, None);
    }

    #[test]
    fn only_this_machine_is_welcome() {
        let check = |host: Option<&str>, origin: Option<&str>, expected: bool| {
            let mut headers = HeaderMap::new();
            for (name, value) in [(header::HOST, host), (header::ORIGIN, origin)] {
                value.map(|value| headers.insert(name, value.parse().unwrap()));
            }
            assert_eq!(is_welcome(&headers, &Options::default()), expected, "{host:?} {origin:?}");
        };
        check(Some("localhost"), None, true);
        check(Some("127.0.0.1:7433"), None, true);
        check(Some("[::1]:7433"), None, true);
        check(Some("evil.test"), None, false);
        check(Some("localhost.evil.test"), None, false);
        check(Some("localhost@evil.test"), None, false);
        check(None, None, false);
        check(Some("localhost"), Some("http://localhost:3000"), false);
        check(Some("localhost"), Some("null"), false);
    }

    /// As `proofport.toml` lists it and as it is listed by default; and as requests spell it.
    #[test]
    fn an_address_with_brackets_is_the_same_without() {
        for listed in ["[fd00::1]", "fd00::1"] {
            let options = Options { hosts: vec![listed.to_owned()], ..Options::default() };
            for (host, expected) in [("[fd00::1]", true), ("[FD00::1]:7433", true), ("[fd00::2]", false)] {
                let headers = HeaderMap::from_iter([(header::HOST, host.parse().unwrap())]);
                assert_eq!(is_welcome(&headers, &options), expected, "{listed} {host}");
            }
        }
    }
}
