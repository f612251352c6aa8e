//! The OpenAPI 3.1 document of what is served: made of the types that requests are read into and answers are
//! written from, and served as `/openapi.json`.

use super::answer::JSON;
use super::health::Health;
use super::operations::Operations;
use super::routes::{CallBody, LONGEST_WAIT, USUAL_WAIT};
use axum::response::{IntoResponse as _, Response};
use http::header::CONTENT_TYPE;
use proofport_core::envelope::Envelope;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// Where schemas refer to each other.
const SCHEMAS: &str = "/components/schemas";

/// What can come of any question about an invocation: its envelope, whatever it says.
const ENVELOPES: [u16; 10] = [202, 403, 404, 409, 410, 413, 422, 424, 429, 500];

static DOCUMENT: LazyLock<String> = LazyLock::new(|| document().to_string());

/// `GET /openapi.json`.
pub(super) async fn openapi() -> Response {
    ([(CONTENT_TYPE, JSON)], DOCUMENT.as_str()).into_response()
}

/// The document.
#[must_use]
pub fn document() -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Proofport for agents",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "What an agent can ask of a Proofport host. The same is served at the host's Unix \
                socket, where a process is known by itself and needs no token. Whatever is not ok is answered \
                with a problem (RFC 9457) that has the envelope's members beside its own; `code` says what \
                happened, `action` what to do. A status that HTTP libraries repeat by themselves (408, 409, 425, \
                429, 5xx) never stands for something that may have been done: that is 424, or 410 where a settled \
                result is gone. Never repeat an \
                unsettled call.",
        },
        "servers": [{ "url": "/" }],
        "security": [{ "token": [] }],
        "paths": paths(),
        "components": {
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "An agent's token, which an operator makes with `proofport session token`.",
                },
            },
            "schemas": schemas(),
        },
    })
}

fn paths() -> Value {
    let about = |name: &str, summary: &str| {
        json!({
            "operationId": name,
            "summary": summary,
            "responses": responses(&[503], "Envelope"),
        })
    };
    let mut wait = about(
        "wait",
        "The answer of a call once it is over or a person has to move; at the latest \
        after the time given, then as it stands. Nothing is sent.",
    );
    wait["parameters"] = json!([{
        "name": "seconds",
        "in": "query",
        "description": "How long to wait at most. A host may answer earlier.",
        "schema": { "type": "integer", "minimum": 0, "maximum": LONGEST_WAIT, "default": USUAL_WAIT },
    }]);
    json!({
        "/v1/operations": {
            "get": {
                "operationId": "operations",
                "summary": "What may be called.",
                "responses": only(&[202, 401, 403, 503], "Operations"),
            },
        },
        "/v1/call": {
            "post": {
                "operationId": "call",
                "summary": "Carries out an operation. A write with the input of an earlier one is that one, and \
                    nothing is sent. Who goes away before the answer loses nothing: the same call again, or the \
                    invocation by its id, has it.",
                "requestBody": {
                    "required": true,
                    "content": { "application/json": { "schema": refer("Call") } },
                },
                "responses": responses(&[400, 408, 415, 503], "Envelope"),
            },
        },
        "/v1/invocations/{id}": about_id("get", about("result", "The newest answer of a call. Nothing is sent.")),
        "/v1/invocations/{id}/wait": about_id("post", wait),
        "/v1/invocations/{id}/reconcile": about_id("post", about("reconcile", "Asks the remote what became of an \
            unknown call. Sends no effect.")),
        "/v1/invocations/{id}/retry": about_id("post", about("retry", "Sends an unknown effect once more where \
            its contract makes a second arrival harmless; else the answer is the record as it stands.")),
        "/v1/invocations/{id}/cancel": about_id("post", about("cancel", "Loses interest. Nothing of the effect \
            leaves if it has not left yet.")),
        "/v1/invocations/{id}/content": about_id("get", content()),
        "/openapi.json": { "get": open("openapi", "This document.", &json!({
            "200": answered("The document.", "application/json", &json!({ "type": "object" })),
        })) },
        "/healthz": { "get": open("health", "How the host is.", &json!({
            "200": answered("It serves, or its vault is locked.", "application/json", &refer("Health")),
            "503": answered("It stops.", "application/json", &refer("Health")),
        })) },
        "/codes/{code}": {
            "parameters": [{
                "name": "code", "in": "path", "required": true, "schema": refer("Code"),
            }],
            "get": open("code", "What a code means, what it proves, and what to do.", &json!({
                "200": answered("The page.", "text/markdown", &json!({ "type": "string" })),
                "404": problem(404),
            })),
        },
    })
}

fn about_id(method: &str, operation: Value) -> Value {
    let mut path = json!({
        "parameters": [{
            "name": "id",
            "in": "path",
            "required": true,
            "description": "An answer's `request_id`. Another agent's is as unknown as none.",
            "schema": { "type": "string", "pattern": "^act_[a-z2-7]{26}$" },
        }],
    });
    path[method] = operation;
    path
}

/// What needs no token.
fn open(name: &str, summary: &str, responses: &Value) -> Value {
    json!({ "operationId": name, "summary": summary, "security": [], "responses": responses })
}

fn content() -> Value {
    let bytes = json!({ "application/octet-stream": { "schema": { "type": "string", "format": "binary" } } });
    let tag =
        json!({ "ETag": { "schema": { "type": "string" }, "description": "The digest of the whole." } });
    let mut responses = responses(&[503], "Envelope");
    responses["200"] = json!({ "description": "The whole.", "headers": tag, "content": bytes });
    responses["206"] =
        json!({ "description": "The part that was asked for.", "headers": tag, "content": bytes });
    responses["304"] = json!({ "description": "The client has it.", "headers": tag });
    responses["416"] = json!({ "description": "There are no such bytes.", "headers": tag });
    let field = |name: &str, what: &str| json!({ "name": name, "in": "header", "description": what, "schema": { "type": "string" } });
    json!({
        "operationId": "content",
        "summary": "The content that was stored beside an answer, whole or from any byte on.",
        "parameters": [
            field("Range", "One range of bytes; of several, the answer is the whole."),
            field("If-Range", "The tag of the content whose beginning the client has."),
            field("If-None-Match", "Tags of contents that the client has."),
        ],
        "responses": responses,
    })
}

/// The responses of whatever can be answered with any envelope, and these.
fn responses(more: &[u16], schema: &str) -> Value {
    let all: Vec<u16> = ENVELOPES.iter().chain(&[401]).chain(more).copied().collect();
    only(&all, schema)
}

/// A success of this schema, and problems of these statuses.
fn only(statuses: &[u16], schema: &str) -> Value {
    let mut responses = Map::new();
    responses.insert("200".to_owned(), answered("It is ok.", "application/json", &refer(schema)));
    for status in statuses {
        responses.insert(status.to_string(), problem(*status));
    }
    Value::Object(responses)
}

fn problem(status: u16) -> Value {
    let mut problem = answered(meaning(status), "application/problem+json", &refer("Problem"));
    let delay = "How long to wait, in seconds; only where the same call may be made again.";
    if status == 429 || status == 503 {
        problem["headers"] =
            json!({ "Retry-After": { "description": delay, "schema": { "type": "integer" } } });
    }
    if status == 401 {
        problem["headers"] = json!({ "WWW-Authenticate": { "schema": { "type": "string" } } });
    }
    problem
}

const fn meaning(status: u16) -> &'static str {
    match status {
        202 => "It waits for a person, or is being carried out.",
        400 => "The body is no JSON.",
        401 => "The request shows no token, or one that nobody was given.",
        403 => {
            "A person or a rule says no. A request for another host's name, or from a page, gets this without \
                a body."
        }
        404 => "There is no such operation, invocation or path.",
        408 => "The request did not come to its end in time. Nothing was taken on.",
        409 => "A key or an approval belongs to something else. Nothing was sent.",
        410 => "It is settled, and there is no result any more.",
        413 => "The input is larger than is taken.",
        415 => "The body is not declared to be JSON.",
        422 => "The input or a parameter is not as it should be.",
        424 => {
            "What the remote said, did or may have done keeps this from being a success. Do not repeat it."
        }
        429 => "The remote refused for now, and nothing was changed.",
        500 => "The host failed before anything was sent.",
        503 => "Nothing was sent: the vault is locked, or no connection could be made.",
        _ => "",
    }
}

fn answered(description: &str, kind: &str, schema: &Value) -> Value {
    json!({ "description": description, "content": { kind: { "schema": schema } } })
}

fn refer(name: &str) -> Value {
    json!({ "$ref": format!("#{SCHEMAS}/{name}") })
}

fn schemas() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.definitions_path = SCHEMAS.into());
    let mut read: SchemaGenerator = settings.clone().for_deserialize().into_generator();
    read.subschema_for::<CallBody<'_>>();
    let mut written = settings.for_serialize().into_generator();
    written.subschema_for::<Envelope>();
    written.subschema_for::<Operations>();
    written.subschema_for::<Health>();
    let mut schemas = read.take_definitions(true);
    schemas.extend(written.take_definitions(true));
    if let Some(envelope) = schemas.get("Envelope").cloned() {
        schemas.insert("Problem".to_owned(), with_problem(envelope));
    }
    Value::Object(schemas)
}

/// The members of RFC 9457 §3.1 beside the envelope's own.
fn with_problem(mut envelope: Value) -> Value {
    let members = json!({
        "type": { "type": "string", "format": "uri-reference", "description": "The page about the code." },
        "title": { "type": "string", "description": "The code in words." },
        "status": { "type": "integer", "description": "The answer's status." },
        "detail": { "type": "string", "description": "The envelope's message." },
        "instance": { "type": "string", "format": "uri", "description": "The invocation." },
    });
    if let (Some(known), Value::Object(members)) = (envelope["properties"].as_object_mut(), members) {
        known.extend(members);
    }
    let required = ["type", "title", "status", "detail", "code"];
    if let Some(known) = envelope["required"].as_array_mut() {
        known.extend(required.into_iter().map(Value::from));
    }
    envelope["title"] = Value::from("problem");
    envelope["description"] = Value::from("Whatever is not ok (RFC 9457).");
    envelope
}
