//! Shared values for this crate's tests.

use crate::contract::{Effect, Repeat};
use crate::evidence::{Cause, Completion, HttpEvidence};
use crate::manifest::Contract;

pub(crate) fn contract(before_work: &[u16]) -> Contract {
    Contract {
        effect: Effect::Write,
        repeat: Repeat::None,
        statuses_before_work: before_work.to_vec(),
        reconcile: None,
        batch: None,
        job_operation: None,
        completion_marker: None,
        stop_grace_seconds: None,
    }
}

pub(crate) fn evidence(status: Option<u16>, completion: Option<Completion>) -> HttpEvidence {
    HttpEvidence {
        bytes_offered: 10,
        bytes_read: if status.is_some() { 10 } else { 0 },
        request_complete: true,
        status,
        completion,
        cause: if completion.is_none() { Some(Cause::Truncated) } else { None },
        from_origin: true,
        masked: 0,
        withheld: false,
        body_digest: None,
        micros: 1,
        ..HttpEvidence::nothing_seen(Cause::LocalIo)
    }
}
