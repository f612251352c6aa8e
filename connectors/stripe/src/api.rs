//! What Stripe publishes about its whole API: keys, idempotency, versions, identifiers.

use crate::failure;
use proofport_sdk::{
    Call, Fault, HttpRequest, HttpResponse, KeyedContract, Operation, Repeat, Terms, Value, Verdict, json,
    key_in_header,
};
use serde::{Serialize, de::DeserializeOwned};

/// The slot of the secret key.
pub(crate) const SLOT: &str = "api_key";

/// The version whose answers the schemas below describe. Without the header an account's own default
/// applies, and with it answers of another shape.
const VERSION: &str = "2024-06-20";

/// Stripe's rate limiter and its key check run before the idempotency layer and before any endpoint
/// (docs: "Advanced error handling", on 429 and on a missing key). A 400 is left out on purpose: only
/// most of them precede the endpoint. 409 is how the idempotency layer says that the first request
/// with the key has not finished.
pub(crate) const TERMS: Terms<'_> = Terms { before_work: &[401, 429], running: Some(409) };

/// For how long Stripe keeps a key at least (docs: "Idempotent requests").
const KEY_RETENTION_SECONDS: u64 = 24 * 60 * 60;

/// After this long, a create that Stripe's own list does not show has not happened: requests are cut
/// off well before, and lists (unlike the search API) are consistent with writes.
const ABSENCE_SETTLES_AFTER_SECONDS: u32 = 60;

/// A write under Stripe's idempotency contract. What became of it can be read at any time, by anybody who
/// may call it, so that the host need not be told to ask.
pub(crate) fn write(name: &str) -> Operation {
    let keyed = KeyedContract::new(key_in_header("Idempotency-Key"), "account")
        .retention_seconds(KEY_RETENTION_SECONDS)
        .compares_payload()
        .running_status(409)
        .replay_header("idempotent-replayed");
    with_common(Operation::write(name, Repeat::Keyed(keyed)))
        .reconcile(Some(ABSENCE_SETTLES_AFTER_SECONDS), true)
}

/// A read.
pub(crate) fn read(name: &str) -> Operation {
    with_common(Operation::read(name))
}

fn with_common(operation: Operation) -> Operation {
    operation.failure(&failure::schema()).statuses_before_work(TERMS.before_work).kept_headers(&[
        "idempotent-replayed",
        "request-id",
        "retry-after",
    ])
}

/// What every request carries.
pub(crate) fn authenticated(request: HttpRequest) -> HttpRequest {
    request.header("stripe-version", VERSION).credential(SLOT)
}

/// The fields of a create, to which its reference is added: the mark by which a search recognises it.
pub(crate) fn marked(call: &Call, mut fields: Vec<(&'static str, String)>) -> Vec<(&'static str, String)> {
    fields.push(("metadata[proofport_reference]", call.reference.clone()));
    fields
}

/// Reads the answer to a create, confirm or retrieve: the resource on success, else Stripe's error.
///
/// # Errors
/// [`Fault::Unreadable`] where a success does not hold the resource.
pub(crate) fn read_answer<T: DeserializeOwned + Serialize>(
    response: &HttpResponse,
) -> Result<Verdict, Fault> {
    let verdict = response.verdict(TERMS);
    if verdict.success {
        let resource: T = response.json()?;
        Ok(verdict.output(json!(resource)))
    } else {
        Ok(failure::refine(verdict, response))
    }
}

/// The schema of an object with these properties, the first `required` of which must be there.
pub(crate) fn object(properties: Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// The schema of an identifier with this prefix. Test payment methods have underscores inside.
pub(crate) fn id(prefix: &str) -> Value {
    json!({ "type": "string", "pattern": format!("^{prefix}_[A-Za-z0-9_]+$"), "maxLength": 255 })
}

/// The schema of what may also be null.
pub(crate) fn nullable(schema: Value) -> Value {
    json!({ "anyOf": [schema, { "type": "null" }] })
}

/// The schema of a text of the caller's, of at most this many characters.
pub(crate) fn text(max: u32) -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": max })
}

/// The schema of a Unix time in seconds.
pub(crate) fn time() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}
