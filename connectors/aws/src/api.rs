//! What AWS publishes about its whole API: credentials, request ids, the JSON protocol.

use crate::failure;
use proofport_sdk::{HttpRequest, Operation, Value, json};

/// The slot of the access key.
pub(crate) const SLOT: &str = "access_key";

/// Headers that every answer's record keeps: the id that AWS support asks for.
const KEPT: [&str; 3] = ["x-amzn-requestid", "x-amz-request-id", "retry-after"];

/// What every operation declares. No status is listed as sent before work: AWS says that of error codes,
/// and some of these (503, say) share their status with codes that do not say it.
pub(crate) fn common(operation: Operation, also_kept: &[&str]) -> Operation {
    operation.failure(&failure::schema()).kept_headers(&[&KEPT[..], also_kept].concat())
}

/// A request of the JSON protocol, version 1.0: the operation is named in a header.
pub(crate) fn json_request(target: &'static str, body: &Value) -> HttpRequest {
    let request = HttpRequest { body: Some(body.to_string().into_bytes()), ..HttpRequest::post("/") };
    request
        .header("content-type", "application/x-amz-json-1.0")
        .header("x-amz-target", target)
        .credential(SLOT)
}

/// The schema of an object with these properties, the first `required` of which must be there.
pub(crate) fn object(properties: Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// The schema of a text of this form.
pub(crate) fn pattern(pattern: &str) -> Value {
    json!({ "type": "string", "pattern": pattern })
}

/// A JSON Pointer to a field of one item of an array in the input.
pub(crate) fn pointer(array: &str, index: usize, field: &str) -> String {
    format!("{array}/{index}{field}")
}
