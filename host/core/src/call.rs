//! One invocation as a connector may know it.

use crate::exchange::Request;
use crate::id::{IdempotencyKey, Name, Reference};
use crate::time::UnixMillis;

/// What a connector is called with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The operation's name within the connector.
    pub operation: Name,
    /// Canonical JSON, valid against the operation's input schema.
    pub input: String,
    /// Canonical JSON, valid against the manifest's config schema.
    pub config: String,
    /// The stable public name of this invocation.
    pub reference: Reference,
    /// Present exactly when the operation is keyed.
    pub idempotency_key: Option<IdempotencyKey>,
    /// The connector's only clock.
    pub accepted_at: UnixMillis,
}

/// What the host knows of an effect whose fate is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DispatchFacts {
    /// When the first dispatch was recorded.
    pub first_dispatched_at: UnixMillis,
    /// When the last dispatch was recorded.
    pub last_dispatched_at: UnixMillis,
    /// When this reconciliation began.
    pub now: UnixMillis,
    /// How many times the effect was dispatched.
    pub attempts: u32,
    /// The effect as it was dispatched, without credential.
    pub request: Request,
}
