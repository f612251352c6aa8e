//! Finding out what became of a write whose answer was lost: the object keeps the reference of the call
//! that wrote it.
//!
//! That it does not keep ours proves nothing by itself, since others may have replaced or deleted it
//! since. What proves that nothing was written is an object that is older than our request.

use super::write::{Object, was_deleted};
use super::{MARK, REPLICATION, Version, request};
use crate::config;
use proofport_sdk::{Call, Evidence, Fault, HttpResponse, Reason, ReconcileStep, Verdict, json};
use std::time::UNIX_EPOCH;

/// How far an object's time must lie before the first dispatch: S3's clock is not the host's, and the
/// time of an object is that at which its own upload began.
const CLOCK_MARGIN_SECONDS: u64 = 60 * 60;

pub(crate) fn look(
    call: &Call,
    evidence: &Evidence,
    answer: Option<&HttpResponse>,
) -> Result<ReconcileStep, Fault> {
    let Some(response) = answer else {
        let Object { key, .. } = call.input()?;
        return Ok(request("HEAD", call, &key)?.as_query("Look at the object's mark"));
    };
    Ok(match response.status {
        200 if response.header(MARK) == Some(&call.reference) => {
            Verdict::present(json!(Version::of(response)?))
        }
        200 if is_older(response, evidence) => Verdict::absent(),
        200 => Verdict::unknown(Reason::Conflict),
        404 if config::s3(call)?.never_deleted && !was_deleted(response) => Verdict::absent(),
        404 => Verdict::unknown(Reason::NotFound),
        // Not being able to ask says nothing about the object.
        _ => Verdict::unknown(Reason::Unavailable),
    }
    .into())
}

/// Whether the object was there before our request and is unchanged since. Two kinds may have come later
/// than their time says: one that was put together of parts, which a dash in its tag tells, and a replica.
fn is_older(response: &HttpResponse, evidence: &Evidence) -> bool {
    let modified = response.header("last-modified").and_then(|text| httpdate::parse_http_date(text).ok());
    let seconds = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).map(|time| time.as_secs());
    let replica = response.header(REPLICATION).is_some_and(|status| status.eq_ignore_ascii_case("replica"));
    let whole = response.header("etag").is_some_and(|etag| !etag.contains('-'));
    whole
        && !replica
        && seconds.is_some_and(|seconds| seconds < evidence.searched_since(CLOCK_MARGIN_SECONDS))
}
