//! Who a request is from: a token where one is shown, else the process at the other end of the socket.

use super::Doors;
use super::answer::{Refused, answer};
use super::handover::Outbox;
use crate::agent::Agent;
use crate::session::{Admission, Peer};
use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use proofport_core::code::Code;
use std::sync::Arc;

/// Over what a request came.
#[derive(Clone)]
pub(super) enum Line {
    /// The Unix socket, from this process; none where the kernel doesn't say which.
    Socket(Option<Arc<Peer>>),
    /// TCP.
    Http,
}

/// How far whoever sent a request may go. Requests to what is mounted for agents carry it as an extension.
#[derive(Clone)]
pub enum Entrance {
    /// It is this agent.
    Admitted(Agent),
    /// An operator has to decide. Nothing is taken on, and the answer is `APPROVAL_PENDING`.
    Waiting,
    /// It never may again. The answer is `USER_DENIED`.
    Ended,
}

/// An admitted agent, and where its answers go.
pub(super) struct Visit {
    pub(super) agent: Agent,
    pub(super) outbox: Outbox,
}

/// What the `Authorization` fields of a request say.
enum Shown<'a> {
    Nothing,
    Token(&'a str),
    Nonsense,
}

/// Finds out who sent a request, and lets it go on with an [`Entrance`].
pub(super) async fn admit(State(doors): State<Arc<Doors>>, mut request: Request, next: Next) -> Response {
    let Some(admission) = admission(&doors, request.headers(), request.extensions().get()).await else {
        return Refused::Stranger.into_response();
    };
    let entrance = match admission {
        Admission::Admitted(caller) => Entrance::Admitted(Agent::new(Arc::clone(&doors.host), caller)),
        Admission::Waiting => Entrance::Waiting,
        Admission::Ended => Entrance::Ended,
    };
    request.extensions_mut().insert(entrance);
    next.run(request).await
}

async fn admission(doors: &Doors, headers: &HeaderMap, line: Option<&Line>) -> Option<Admission> {
    match shown(headers) {
        Shown::Token(token) => doors.sessions.of_token(token),
        Shown::Nonsense => None,
        Shown::Nothing => {
            let Some(Line::Socket(Some(peer))) = line else { return None };
            let (sessions, peer) = (Arc::clone(&doors.sessions), Arc::clone(peer));
            // It looks at files, which may be large or slow: it keeps its place for as long as that takes, so
            // that others, who are known by a token or work on something else, have threads left.
            let place = Arc::clone(&doors.looking).acquire_owned().await.ok()?;
            let looked = tokio::task::spawn_blocking(move || {
                let admission = sessions.of_process(&peer);
                drop(place);
                admission
            });
            looked.await.ok()
        }
    }
}

fn shown(headers: &HeaderMap) -> Shown<'_> {
    let mut fields = headers.get_all(AUTHORIZATION).iter();
    let (Some(field), None) = (fields.next(), fields.next()) else {
        return if headers.contains_key(AUTHORIZATION) { Shown::Nonsense } else { Shown::Nothing };
    };
    let parts = field.to_str().ok().and_then(|text| text.split_once(' '));
    match parts {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Shown::Token(token.trim()),
        Some(_) | None => Shown::Nonsense,
    }
}

impl FromRequestParts<Arc<Doors>> for Visit {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, doors: &Arc<Doors>) -> Result<Self, Response> {
        let outbox = parts.extensions.get::<Outbox>().cloned().unwrap_or_default();
        let code = match parts.extensions.get::<Entrance>() {
            Some(Entrance::Admitted(agent)) => return Ok(Self { agent: agent.clone(), outbox }),
            Some(Entrance::Waiting) => Code::ApprovalPending,
            Some(Entrance::Ended) => Code::UserDenied,
            // Nobody looked, so nobody comes in.
            None => return Err(StatusCode::INTERNAL_SERVER_ERROR.into_response()),
        };
        Err(answer(doors.host.broker().refuse(code, None), &outbox))
    }
}
