//! Writing an object under a condition (`PutObject`), so that it never overwrites what nobody has seen.

use super::{DELETE_MARKER, MARK, OBJECT_HEADERS, Version, etag, key, request};
use crate::{api, failure};
use data_encoding::BASE64;
use proofport_sdk::{
    Call, Fault, HttpRequest, HttpResponse, Operation, Outcome, Reason, Repeat, Step, Value, Verdict, json,
};
use serde::Deserialize;
use std::collections::BTreeMap;

/// After this long, a write that the object does not show has not happened: S3 is consistent with
/// writes, and cuts a request off whose bytes don't come.
const ABSENCE_SETTLES_AFTER_SECONDS: u32 = 60;

#[derive(Deserialize)]
struct Create {
    #[serde(flatten)]
    object: Object,
}

#[derive(Deserialize)]
struct Replace {
    etag: String,
    #[serde(flatten)]
    object: Object,
}

#[derive(Deserialize)]
pub(super) struct Object {
    pub(super) key: String,
    content: Option<String>,
    content_base64: Option<String>,
    content_type: Option<String>,
}

pub(crate) fn declare_create() -> Operation {
    declared("s3_create_object", BTreeMap::new())
        .summary("Create an object. Where one is already, nothing is written (412).")
}

pub(crate) fn declare_replace() -> Operation {
    declared("s3_replace_object", BTreeMap::from([("etag", etag())])).summary(
        "Replace an object that still has this entity tag. Where it has another, nothing is written.",
    )
}

fn declared(name: &str, condition: BTreeMap<&'static str, Value>) -> Operation {
    let required = [&["key"][..], &condition.keys().copied().collect::<Vec<_>>()].concat();
    let mut properties = condition;
    properties.extend([
        ("key", key()),
        ("content", json!({ "type": "string" })),
        ("content_base64", json!({ "type": "string", "contentEncoding": "base64" })),
        ("content_type", api::pattern("^[!-~]([ -~]{0,253}[!-~])?$")),
    ]);
    let mut input = api::object(json!(properties), &required);
    input["oneOf"] = json!([{ "required": ["content"] }, { "required": ["content_base64"] }]);
    api::common(Operation::write(name, Repeat::Conditional), &OBJECT_HEADERS)
        .input(&input)
        .output(&Version::schema())
        .reconcile(Some(ABSENCE_SETTLES_AFTER_SECONDS), true)
}

pub(crate) fn create(call: &Call, answer: Option<&HttpResponse>) -> Result<Step, Fault> {
    if let Some(response) = answer {
        return Ok(read(response)?.into());
    }
    let Create { object } = call.input()?;
    let request = object.put(call)?.header("if-none-match", "*");
    Ok(request.as_effect(format!("Create the object {}", object.key)))
}

pub(crate) fn replace(call: &Call, answer: Option<&HttpResponse>) -> Result<Step, Fault> {
    if let Some(response) = answer {
        let verdict = read(response)?;
        // The object may have another tag by then: its documentation says to look before trying again.
        let conflict = response.status == 409 && verdict.outcome == Outcome::Rejected;
        let reason = if conflict { Reason::Conflict } else { verdict.reason };
        return Ok(Verdict { reason, ..verdict }.into());
    }
    let Replace { etag, object } = call.input()?;
    let request = object.put(call)?.header("if-match", etag);
    Ok(request.as_effect(format!("Replace the object {}", object.key)))
}

fn read(response: &HttpResponse) -> Result<Verdict, Fault> {
    let verdict = failure::xml_verdict(response);
    Ok(if verdict.success { verdict.output(json!(Version::of(response)?)) } else { verdict })
}

impl Object {
    fn put(&self, call: &Call) -> Result<HttpRequest, Fault> {
        let content = match (&self.content, &self.content_base64) {
            (Some(text), None) => text.clone().into_bytes(),
            (None, Some(base64)) => {
                BASE64.decode(base64.as_bytes()).map_err(|_| Fault::field("/content_base64"))?
            }
            (_, _) => return Err(Fault::field("")),
        };
        let kind = self.content_type.as_deref().unwrap_or("application/octet-stream");
        let request = HttpRequest { body: Some(content), ..request("PUT", call, &self.key)? };
        Ok(request.header("content-type", kind).header(MARK, call.reference.as_str()))
    }
}

/// Whether the answer shows that the object was deleted.
pub(super) fn was_deleted(response: &HttpResponse) -> bool {
    response.header(DELETE_MARKER).is_some()
}
