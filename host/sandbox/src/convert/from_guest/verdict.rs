//! Verdicts.

use super::LONGEST_TEXT;
use crate::fault::{Breach, FieldPlace};
use crate::world::proofport::connector::types as wit;
use proofport_core::contract::{Outcome, Reason};
use proofport_core::verdict::{ChildVerdict, Verdict};

pub(super) fn verdict(verdict: wit::Verdict) -> Result<Verdict, Breach> {
    let children = verdict.children.into_iter().map(child).collect::<Result<_, _>>()?;
    let job = verdict.job.map(|job| job.id);
    if job.as_ref().is_some_and(|id| id.is_empty() || id.len() > LONGEST_TEXT) {
        return Err(Breach::InvalidJob);
    }
    Ok(Verdict {
        outcome: outcome(verdict.outcome),
        success: verdict.success,
        reason: reason(verdict.reason),
        output: output(verdict.output, FieldPlace::Output)?,
        retry_after_seconds: verdict.retry_after_seconds,
        children,
        job,
    })
}

fn child(child: wit::ChildVerdict) -> Result<ChildVerdict, Breach> {
    Ok(ChildVerdict {
        index: child.index,
        id: child.id,
        outcome: outcome(child.outcome),
        success: child.success,
        reason: reason(child.reason),
        output: output(child.output, FieldPlace::ChildOutput)?,
    })
}

fn output(text: Option<String>, place: FieldPlace) -> Result<Option<serde_json::Value>, Breach> {
    text.map(|text| serde_json::from_str(&text).map_err(|_| Breach::InvalidJson(place))).transpose()
}

const fn outcome(outcome: wit::Outcome) -> Outcome {
    match outcome {
        wit::Outcome::Rejected => Outcome::Rejected,
        wit::Outcome::Committed => Outcome::Committed,
        wit::Outcome::Unknown => Outcome::Unknown,
    }
}

const fn reason(reason: wit::Reason) -> Reason {
    match reason {
        wit::Reason::Done => Reason::Done,
        wit::Reason::Accepted => Reason::Accepted,
        wit::Reason::Unauthenticated => Reason::Unauthenticated,
        wit::Reason::Forbidden => Reason::Forbidden,
        wit::Reason::InvalidInput => Reason::InvalidInput,
        wit::Reason::NotFound => Reason::NotFound,
        wit::Reason::Conflict => Reason::Conflict,
        wit::Reason::PreconditionFailed => Reason::PreconditionFailed,
        wit::Reason::RateLimited => Reason::RateLimited,
        wit::Reason::StillRunning => Reason::StillRunning,
        wit::Reason::PayloadMismatch => Reason::PayloadMismatch,
        wit::Reason::Unavailable => Reason::Unavailable,
        wit::Reason::RemoteFailed => Reason::RemoteFailed,
        wit::Reason::Partial => Reason::Partial,
        wit::Reason::Present => Reason::Present,
        wit::Reason::Absent => Reason::Absent,
        wit::Reason::Unreadable => Reason::Unreadable,
    }
}
