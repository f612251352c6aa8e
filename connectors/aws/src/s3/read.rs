//! Reading an object (`GetObject`) or what is known of it (`HeadObject`).

use super::{MARK, OBJECT_HEADERS, etag, key, request, version_id};
use crate::{api, failure};
use proofport_sdk::{Call, Fault, HttpResponse, Operation, Step, Value, json};
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
struct Read {
    key: String,
}

/// What the headers say of an object.
#[derive(Serialize)]
struct Known {
    etag: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    version_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_modified: Option<String>,
    /// The call that wrote it, where it was one of ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    proofport_reference: Option<String>,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
}

pub(crate) fn declare_get() -> Operation {
    let mut output = known();
    output["properties"]["sha256"] = api::pattern("^[0-9a-f]{64}$");
    output["required"] = json!(["etag", "bytes", "sha256"]);
    read("s3_get_object")
        .summary("Fetch an object. The content is stored for you to read in pieces.")
        .output(&output)
        .stores_content()
}

pub(crate) fn declare_head() -> Operation {
    read("s3_head_object")
        .summary("Look up what is known of an object, without its content.")
        .output(&known())
}

fn read(name: &str) -> Operation {
    api::common(Operation::read(name), &OBJECT_HEADERS).input(&api::object(json!({ "key": key() }), &["key"]))
}

fn known() -> Value {
    let properties = json!({
        "etag": etag(),
        "version_id": version_id(),
        "content_type": { "type": "string", "maxLength": 255 },
        "last_modified": { "type": "string", "maxLength": 40 },
        "proofport_reference": api::pattern("^[a-z0-9]{1,40}$"),
        "bytes": { "type": "integer", "minimum": 0 },
    });
    api::object(properties, &["etag", "bytes"])
}

pub(crate) fn get(call: &Call, answer: Option<&HttpResponse>) -> Result<Step, Fault> {
    let Some(response) = answer else {
        let Read { key } = call.input()?;
        return Ok(request("GET", call, &key)?.as_query(format!("Fetch the object {key}")));
    };
    let verdict = failure::xml_verdict(response);
    if !verdict.success {
        return Ok(verdict.into());
    }
    let stored = response.stored()?;
    let known = Known { sha256: Some(stored.digest.clone()), ..Known::of(response, stored.bytes)? };
    Ok(verdict.output(json!(known)).into())
}

pub(crate) fn head(call: &Call, answer: Option<&HttpResponse>) -> Result<Step, Fault> {
    let Some(response) = answer else {
        let Read { key } = call.input()?;
        return Ok(request("HEAD", call, &key)?.as_query(format!("Look up the object {key}")));
    };
    let verdict = failure::xml_verdict(response);
    if !verdict.success {
        return Ok(verdict.into());
    }
    let length = response.header("content-length").and_then(|text| text.parse().ok());
    let known = Known::of(response, length.ok_or(Fault::Unreadable)?)?;
    Ok(verdict.output(json!(known)).into())
}

impl Known {
    fn of(response: &HttpResponse, bytes: u64) -> Result<Self, Fault> {
        let text = |name: &str| response.header(name).map(str::to_owned);
        // Anybody can write anything into an object's metadata.
        let is_reference = |text: &String| {
            (1..=40).contains(&text.len())
                && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        };
        Ok(Self {
            etag: text("etag").ok_or(Fault::Unreadable)?,
            version_id: text("x-amz-version-id"),
            content_type: text("content-type"),
            last_modified: text("last-modified"),
            proofport_reference: text(MARK).filter(is_reference),
            bytes,
            sha256: None,
        })
    }
}
