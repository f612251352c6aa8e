//! Objects of one bucket in Amazon S3.

pub(crate) mod read;
pub(crate) mod reconcile;
pub(crate) mod write;

use crate::{api, config};
use proofport_sdk::{Call, Fault, HttpRequest, HttpResponse, Value, json};
use serde::Serialize;

/// The header in which an object keeps the reference of the call that wrote it (user-defined metadata).
const MARK: &str = "x-amz-meta-proofport-reference";

/// What tells that an object was deleted in a bucket that keeps versions.
const DELETE_MARKER: &str = "x-amz-delete-marker";

/// What tells that an object was copied here from another bucket, with the time that it had there.
const REPLICATION: &str = "x-amz-replication-status";

/// The headers that describe an object.
const OBJECT_HEADERS: [&str; 8] = [
    "etag",
    "last-modified",
    "content-length",
    "content-type",
    "x-amz-version-id",
    MARK,
    DELETE_MARKER,
    REPLICATION,
];

/// An object as a write made it.
#[derive(Serialize)]
struct Version {
    etag: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    version_id: Option<String>,
}

impl Version {
    /// # Errors
    /// [`Fault::Unreadable`] where the answer names no entity tag.
    fn of(response: &HttpResponse) -> Result<Self, Fault> {
        let etag = response.header("etag").ok_or(Fault::Unreadable)?.to_owned();
        let version_id = response.header("x-amz-version-id").map(str::to_owned);
        Ok(Self { etag, version_id })
    }

    fn schema() -> Value {
        api::object(json!({ "etag": etag(), "version_id": version_id() }), &["etag"])
    }
}

/// A request to the object's path. Its segments keep their places, so that a key with an empty one, `.`
/// or `..` is refused: intermediaries don't agree on what such a path means.
fn request(method: &'static str, call: &Call, key: &str) -> Result<HttpRequest, Fault> {
    let s3 = config::s3(call)?;
    let mut request = HttpRequest::of(method, "");
    if let Some(bucket) = &s3.bucket {
        request = request.segment(bucket)?;
    }
    for segment in key.split('/') {
        request = request.segment(segment).map_err(|_| Fault::field("/key"))?;
    }
    Ok(request.credential(api::SLOT))
}

/// The schema of a key.
fn key() -> Value {
    json!({
        "type": "string",
        "minLength": 1,
        "maxLength": 1024,
        "description": "The object's key, such as reports/2026/november.csv.",
    })
}

/// The schema of an entity tag, with its quotation marks.
fn etag() -> Value {
    api::pattern("^\"[!#-~]{1,256}\"$")
}

/// The schema of a version's id; `null` is that of an object from before versions were kept.
fn version_id() -> Value {
    api::pattern("^[!-~]{1,1024}$")
}
