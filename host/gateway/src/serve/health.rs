//! Whether the host is well, for whoever looks after it. No name and no number of anything is told.

use super::Doors;
use super::answer::json;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::Arc;

/// The answer to `GET /healthz`.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Health {
    /// How it is.
    status: HealthStatus,
}

/// How the host is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum HealthStatus {
    /// It carries out calls.
    Serving,
    /// The vault is locked: nothing new is carried out, and what was settled can be fetched.
    Locked,
    /// It takes on nothing new and ends once what is under way has.
    Stopping,
}

/// `GET /healthz`. A locked host is a well one, since only a person can unlock it.
pub(super) async fn healthz(State(doors): State<Arc<Doors>>) -> Response {
    let status = match (doors.stopping.is_cancelled(), doors.host.broker().is_locked()) {
        (true, _) => HealthStatus::Stopping,
        (false, true) => HealthStatus::Locked,
        (false, false) => HealthStatus::Serving,
    };
    let mut response = json(&Health { status });
    if status == HealthStatus::Stopping {
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    }
    response
}
