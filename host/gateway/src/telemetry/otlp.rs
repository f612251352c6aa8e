//! Spans in the JSON form of OTLP 1.x: `ExportTraceServiceRequest` as protobuf's JSON mapping spells it, with
//! ids in hexadecimal and 64-bit numbers as strings, as the OTLP specification asks.

use super::span::{Attribute, Decision, Name, Span, Status};
use data_encoding::HEXLOWER;
use proofport_core::event::QueryPurpose;
use serde::Serialize;
use serde_json::{Value, json};

/// Where a collector takes them.
pub(super) const PATH: &str = "/v1/traces";

pub(super) const MEDIA_TYPE: &str = "application/json";

/// `SPAN_KIND_INTERNAL`, and `SPAN_KIND_SERVER` for what others asked for.
const INTERNAL: u8 = 1;
const SERVER: u8 = 2;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    trace_id: String,
    span_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_span_id: Option<String>,
    name: String,
    kind: u8,
    start_time_unix_nano: String,
    end_time_unix_nano: String,
    attributes: Vec<Value>,
    status: Value,
}

/// The body of a request that hands these over.
pub(super) fn request(spans: &[Span]) -> Vec<u8> {
    let spans: Vec<Wire> = spans.iter().map(wire).collect();
    let version = env!("CARGO_PKG_VERSION");
    let resource = [text("service.name", "proofport"), text("service.version", version)];
    let scope = json!({ "name": "proofport", "version": version });
    let body = json!({
        "resourceSpans": [{
            "resource": { "attributes": resource },
            "scopeSpans": [{ "scope": scope, "spans": spans }],
        }],
    });
    body.to_string().into_bytes()
}

fn wire(span: &Span) -> Wire {
    Wire {
        trace_id: HEXLOWER.encode(&span.trace),
        span_id: HEXLOWER.encode(&span.id.0),
        parent_span_id: span.parent.map(|parent| HEXLOWER.encode(&parent.0)),
        name: name(span.name),
        kind: if span.name == Name::Call { SERVER } else { INTERNAL },
        start_time_unix_nano: span.start.0.to_string(),
        end_time_unix_nano: span.end.0.to_string(),
        attributes: span.attributes.iter().map(attribute).collect(),
        status: match span.status {
            Status::Unset => json!({}),
            Status::Ok => json!({ "code": 1 }),
            Status::Error => json!({ "code": 2 }),
        },
    }
}

fn name(name: Name) -> String {
    match name {
        Name::Call => "proofport.call".to_owned(),
        Name::ConnectorStep => "proofport.connector_step".to_owned(),
        Name::Connection => "proofport.connection".to_owned(),
        Name::Stage(stage) => format!("proofport.stage.{stage}"),
        Name::Query => "proofport.query".to_owned(),
        Name::Attempt => "proofport.attempt".to_owned(),
        Name::Approval => "proofport.approval".to_owned(),
        Name::RetryWait => "proofport.retry_wait".to_owned(),
    }
}

fn attribute(attribute: &Attribute) -> Value {
    match attribute {
        Attribute::RequestId(id) => text("proofport.request_id", &id.to_string()),
        Attribute::Phase(phase) => text("proofport.phase", phase.as_str()),
        Attribute::Outcome(outcome) => text("proofport.outcome", outcome.as_str()),
        Attribute::Code(code) => text("proofport.code", code.map_or("OK", |code| code.as_str())),
        Attribute::Attempts(count) => number("proofport.attempts", *count),
        Attribute::Repeated(yes) => flag("proofport.repeated", *yes),
        Attribute::Generation(generation) => number("proofport.generation", *generation),
        Attribute::Source(source) => text("proofport.source", source.as_str()),
        Attribute::Purpose(purpose) => text("proofport.purpose", purpose_text(*purpose)),
        Attribute::Stage(stage) => text("proofport.stage", stage.as_str()),
        Attribute::Hop(hop) => text("proofport.hop", hop.as_str()),
        Attribute::Reused(yes) => flag("proofport.reused", *yes),
        Attribute::Cause(cause) => text("proofport.cause", cause.as_str()),
        Attribute::Decision(decision) => text("proofport.decision", decision_text(*decision)),
    }
}

const fn purpose_text(purpose: QueryPurpose) -> &'static str {
    match purpose {
        QueryPurpose::Read => "read",
        QueryPurpose::Prepare => "prepare",
        QueryPurpose::Reconcile => "reconcile",
    }
}

const fn decision_text(decision: Decision) -> &'static str {
    match decision {
        Decision::Approved => "approved",
        Decision::Denied => "denied",
        Decision::Granted => "granted",
        Decision::Lapsed => "lapsed",
        Decision::Withdrawn => "withdrawn",
    }
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

fn number(key: &str, value: u64) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}

fn flag(key: &str, value: bool) -> Value {
    json!({ "key": key, "value": { "boolValue": value } })
}

/// How many spans a collector says that it refused, in an answer that is otherwise a success.
pub(super) fn rejected(answer: &[u8]) -> u64 {
    let answer: Value = serde_json::from_slice(answer).unwrap_or(Value::Null);
    let count = answer.pointer("/partialSuccess/rejectedSpans");
    let count = count.and_then(|count| count.as_u64().or_else(|| count.as_str()?.parse().ok()));
    count.unwrap_or(0)
}
