//! What a span may hold. Every name and every attribute is a value of a closed set or a number, so that there is
//! no place for a target, a header, a body, a caller's name or a secret.

use proofport_broker::Answered;
use proofport_core::code::Code;
use proofport_core::contract::{Outcome, Phase, Source, Stage};
use proofport_core::digest::Digest;
use proofport_core::event::QueryPurpose;
use proofport_core::evidence::{Cause, Hop};
use proofport_core::id::RequestId;
use proofport_core::time::UnixMillis;

/// The id of a trace: for an invocation, the bytes of its own id.
pub(super) type TraceId = [u8; 16];

/// The id of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SpanId(pub(super) [u8; 8]);

/// A time, in nanoseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Nanos(pub(super) u64);

/// What a span is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    /// A call, from its arrival to its answer.
    Call,
    /// A step of the connector.
    ConnectorStep,
    /// An attempt to have a connection.
    Connection,
    /// A stage of such an attempt.
    Stage(Stage),
    /// A query and its answer.
    Query,
    /// The effect, from its first handoff to the end of its answer.
    Attempt,
    /// A question to people, from its being put to its end.
    Approval,
    /// The wait before the effect is sent once more.
    RetryWait,
}

/// How a question to people ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// With a yes.
    Approved,
    /// With a no.
    Denied,
    /// With an earlier word that covers it.
    Granted,
    /// Nobody answered in time.
    Lapsed,
    /// The call ended first.
    Withdrawn,
}

/// What is said of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attribute {
    RequestId(RequestId),
    Phase(Phase),
    Outcome(Outcome),
    Code(Option<Code>),
    Attempts(u64),
    Repeated(bool),
    Generation(u64),
    Source(Source),
    Purpose(QueryPurpose),
    Stage(Stage),
    Hop(Hop),
    Reused(bool),
    Cause(Cause),
    Decision(Decision),
}

/// How it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    /// Neither well nor badly: it waits, or is a wait.
    Unset,
    /// Well.
    Ok,
    /// Badly.
    Error,
}

/// A span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) trace: TraceId,
    pub(super) id: SpanId,
    pub(super) parent: Option<SpanId>,
    pub(super) name: Name,
    pub(super) start: Nanos,
    pub(super) end: Nanos,
    pub(super) attributes: Vec<Attribute>,
    pub(super) status: Status,
}

impl SpanId {
    /// The id of what these parts name; the same for the same parts, after a restart too.
    pub(super) fn of(parts: &[&[u8]]) -> Self {
        let digest = Digest::of_parts("proofport.span/1", parts);
        let mut id = [0; 8];
        id.iter_mut().zip(digest.as_bytes()).for_each(|(to, from)| *to = *from);
        Self(id)
    }

    /// The span of the call that an invocation began with: everything else of it stands below.
    pub(super) fn of_call(trace: &TraceId) -> Self {
        Self::of(&[trace, b"call"])
    }
}

impl Nanos {
    pub(super) const fn at(at: UnixMillis) -> Self {
        Self(at.0.saturating_mul(1_000_000))
    }

    pub(super) const fn plus_micros(self, micros: u64) -> Self {
        Self(self.0.saturating_add(micros.saturating_mul(1000)))
    }

    pub(super) const fn minus_micros(self, micros: u64) -> Self {
        Self(self.0.saturating_sub(micros.saturating_mul(1000)))
    }
}

impl Span {
    /// The span of an answered call.
    pub(super) fn of_answer(answered: &Answered, fresh: (TraceId, SpanId)) -> Self {
        let Answered { invocation, since, micros, ok, phase, outcome, code, attempts, repeated } = *answered;
        let (fresh_trace, fresh_id) = fresh;
        let trace = invocation.map_or(fresh_trace, |id| *id.as_bytes());
        let call = SpanId::of_call(&trace);
        // What met an earlier call stands below that one's.
        let (id, parent) = if repeated { (fresh_id, Some(call)) } else { (call, None) };
        let mut attributes = Vec::new();
        attributes.extend(invocation.map(Attribute::RequestId));
        attributes.extend(phase.map(Attribute::Phase));
        attributes.extend(outcome.map(Attribute::Outcome));
        attributes.extend([
            Attribute::Code(code),
            Attribute::Attempts(attempts),
            Attribute::Repeated(repeated),
        ]);
        let waits = matches!(code, Some(Code::ApprovalPending | Code::InProgress));
        let status = match (ok, waits) {
            (true, _) => Status::Ok,
            (false, true) => Status::Unset,
            (false, false) => Status::Error,
        };
        let start = Nanos::at(since);
        let end = start.plus_micros(micros);
        Self { trace, id, parent, name: Name::Call, start, end, attributes, status }
    }

    /// The span of a step of a connector; none of its duration is known where it ended in a fault.
    pub(super) fn of_step(invocation: RequestId, ended: UnixMillis, micros: Option<u64>, id: SpanId) -> Self {
        let trace = *invocation.as_bytes();
        let end = Nanos::at(ended);
        let start = end.minus_micros(micros.unwrap_or(0));
        let status = if micros.is_some() { Status::Ok } else { Status::Error };
        let attributes = vec![Attribute::RequestId(invocation)];
        let parent = Some(SpanId::of_call(&trace));
        Self { trace, id, parent, name: Name::ConnectorStep, start, end, attributes, status }
    }
}
