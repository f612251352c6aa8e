//! What agents can ask over HTTP.

use super::Doors;
use super::answer::{Refused, answer, json};
use super::body;
use super::content::content;
use super::entrance::{Visit, admit};
use super::operations::Operations;
use axum::Router;
use axum::extract::{FromRequestParts, Path, Query, Request, State};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use http::Uri;
use http::request::Parts;
use proofport_core::code::Code;
use proofport_core::id::{OperationName, RequestId};
use schemars::JsonSchema;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::error::Category;
use serde_json::value::RawValue;
use std::sync::Arc;
use std::time::Duration;

/// The longest wait that can be asked for, in seconds.
pub(super) const LONGEST_WAIT: u64 = 3600;

/// How long is waited unless it is said, in seconds.
pub(super) const USUAL_WAIT: u64 = 30;

/// The routes of `/v1`.
pub(super) fn v1(doors: &Arc<Doors>) -> Router<Arc<Doors>> {
    Router::new()
        .route("/v1/operations", get(operations))
        .route("/v1/call", post(call))
        .route("/v1/invocations/{id}", get(result))
        .route("/v1/invocations/{id}/wait", post(wait))
        .route("/v1/invocations/{id}/reconcile", post(reconcile))
        .route("/v1/invocations/{id}/retry", post(retry))
        .route("/v1/invocations/{id}/cancel", post(cancel))
        .route("/v1/invocations/{id}/content", get(content))
        .route_layer(from_fn_with_state(Arc::clone(doors), admit))
}

/// The body of `POST /v1/call`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Call")]
pub(super) struct CallBody<'a> {
    /// What to do: `connection.operation`, as `/v1/operations` names it.
    #[schemars(with = "String", regex(pattern = "^[a-z][a-z0-9_-]{0,63}[.][a-z][a-z0-9_-]{0,63}$"))]
    operation: OperationName,
    /// Its input, of the operation's own schema.
    #[serde(borrow)]
    #[schemars(with = "serde_json::Value")]
    input: &'a RawValue,
    /// Your own name for this intent. A write with the input of an earlier one is that one, and nothing is
    /// sent, unless it has another key.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "String")]
    call_key: Option<String>,
}

/// A text where there is the key at all.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    String::deserialize(deserializer).map(Some)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WaitQuery {
    seconds: Option<u64>,
}

/// An admitted agent that asks about an invocation.
pub(super) struct About {
    pub(super) visit: Visit,
    pub(super) id: RequestId,
}

impl FromRequestParts<Arc<Doors>> for About {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, doors: &Arc<Doors>) -> Result<Self, Response> {
        let visit = Visit::from_request_parts(parts, doors).await?;
        let path = Path::<String>::from_request_parts(parts, doors).await.ok();
        // What is no id is nobody's.
        match path.and_then(|Path(text)| RequestId::parse(&text).ok()) {
            Some(id) => Ok(Self { visit, id }),
            None => Err(answer(doors.host.broker().refuse(Code::NoSuchInvocation, None), &visit.outbox)),
        }
    }
}

async fn operations(visit: Visit) -> Response {
    match visit.agent.operations() {
        Ok(offered) => json(&Operations::of(offered)),
        Err(refusal) => answer(*refusal, &visit.outbox),
    }
}

async fn call(State(doors): State<Arc<Doors>>, visit: Visit, request: Request) -> Response {
    let body = match body::read(request, &doors.settings).await {
        Ok(body) => body,
        Err(refused) => return refused.into_response(),
    };
    let CallBody { operation, input, call_key } = match parse(&body) {
        Ok(body) => body,
        Err(refused) => return refused.into_response(),
    };
    let input = input.get().as_bytes().to_vec();
    answer(visit.agent.call(operation, input, call_key).await, &visit.outbox)
}

fn parse(body: &[u8]) -> Result<CallBody<'_>, Refused> {
    let refused = |error: serde_json::Error| match error.classify() {
        Category::Data => Refused::Shape,
        Category::Syntax | Category::Eof | Category::Io => Refused::Malformed,
    };
    if !body.trim_ascii_start().starts_with(b"{") {
        // An array would be read as the members in their order.
        return Err(serde_json::from_slice::<IgnoredAny>(body).map_or_else(refused, |_| Refused::Shape));
    }
    serde_json::from_slice(body).map_err(refused)
}

async fn result(About { visit, id }: About) -> Response {
    answer(visit.agent.result(&id), &visit.outbox)
}

async fn wait(State(doors): State<Arc<Doors>>, About { visit, id }: About, uri: Uri) -> Response {
    let asked = Query::<WaitQuery>::try_from_uri(&uri).map(|Query(WaitQuery { seconds })| seconds);
    match asked.map(|seconds| seconds.unwrap_or(USUAL_WAIT)) {
        Ok(seconds) if seconds <= LONGEST_WAIT => {
            let most = Duration::from_secs(seconds).min(doors.settings.wait_time());
            answer(visit.agent.wait(&id, most).await, &visit.outbox)
        }
        Ok(_) | Err(_) => Refused::Shape.into_response(),
    }
}

async fn reconcile(About { visit, id }: About) -> Response {
    answer(visit.agent.reconcile(&id).await, &visit.outbox)
}

async fn retry(About { visit, id }: About) -> Response {
    answer(visit.agent.retry(&id).await, &visit.outbox)
}

async fn cancel(About { visit, id }: About) -> Response {
    answer(visit.agent.cancel(&id).await, &visit.outbox)
}
