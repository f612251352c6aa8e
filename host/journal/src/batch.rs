//! What goes in and what comes out.

use proofport_core::digest::Digest;
use proofport_core::event::Event;
use proofport_core::failures::Mark;
use proofport_core::id::RequestId;
use proofport_core::time::UnixMillis;
use serde::{Deserialize, Serialize};

/// What becomes durable together, or not at all.
pub struct Batch {
    /// Whose events these are; none for the host's own.
    pub invocation: Option<RequestId>,
    /// When they happened. The journal remembers the latest time that it ever saw.
    pub at: UnixMillis,
    /// At least one event, in order.
    pub events: Vec<Event>,
    /// Bodies that belong to them; sealed at rest. Only for an invocation.
    pub bodies: Vec<Body>,
    /// Intents to be found again by their key. A later one replaces an earlier one.
    pub intents: Vec<(Digest, RequestId)>,
    /// Some(true) puts the invocation into the open set, Some(false) takes it out. Only for an
    /// invocation.
    pub open: Option<bool>,
    /// What it does to a tally of failures, by whose they are. Only for an invocation.
    pub tally: Option<(Digest, Mark)>,
}

impl Batch {
    /// Events alone.
    #[must_use]
    pub const fn new(invocation: Option<RequestId>, at: UnixMillis, events: Vec<Event>) -> Self {
        Self { invocation, at, events, bodies: Vec::new(), intents: Vec::new(), open: None, tally: None }
    }
}

/// Bytes that belong to an invocation and are readable to operators only.
pub struct Body {
    /// What they are.
    pub kind: BodyKind,
    /// The plain bytes; wiped once they are sealed.
    pub bytes: Vec<u8>,
}

/// What a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BodyKind {
    /// The caller's input.
    Input,
    /// A request before credential injection.
    Request,
    /// A remote's answer.
    Response,
    /// The result as it is delivered.
    Result,
    /// The outputs of a batch's children as they are delivered.
    Children,
    /// The envelope as it is delivered.
    Envelope,
    /// What only the protected record holds.
    Protected,
    /// What a call that waits for a person's word goes on from.
    Halted,
}

impl BodyKind {
    /// Every kind.
    pub const ALL: &'static [Self] = &[
        Self::Input,
        Self::Request,
        Self::Response,
        Self::Result,
        Self::Children,
        Self::Envelope,
        Self::Protected,
        Self::Halted,
    ];

    /// The wire form.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Request => "request",
            Self::Response => "response",
            Self::Result => "result",
            Self::Children => "children",
            Self::Envelope => "envelope",
            Self::Protected => "protected",
            Self::Halted => "halted",
        }
    }
}

/// The sequence numbers that a batch's events got. It is on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Committed {
    /// Of its first event, from 1 upwards.
    pub first_seq: u64,
    /// Of its last event.
    pub last_seq: u64,
}

/// An event as it was recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// Its sequence number, unique in the journal.
    pub seq: u64,
    /// When it happened.
    pub at: UnixMillis,
    /// What happened.
    pub event: Event,
}
