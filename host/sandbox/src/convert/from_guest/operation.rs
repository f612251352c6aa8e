//! Operations of a manifest and the contracts that decisions rest on.

use super::field::is_pointer;
use super::manifest::{name, text};
use super::schema::{self, SchemaError};
use super::{header, is_plain_text};
use crate::fault::{Breach, FieldPlace, ManifestProblem};
use crate::world::proofport::connector::types as wit;
use proofport_core::batch::MOST_CHILDREN;
use proofport_core::contract::{Effect, KeyPlace, KeyedContract, Repeat};
use proofport_core::exchange::host_owns_header;
use proofport_core::id::Name;
use proofport_core::manifest::{Batch, BatchMode, Contract, Operation, Reconcile};
use std::ops::RangeInclusive;

/// Statuses that can be a refusal.
const REFUSAL: RangeInclusive<u16> = 300..=599;

/// Exit statuses that may be listed beside them.
const EXIT: RangeInclusive<u16> = 1..=199;

/// How long a command that was asked to stop may be waited for, in seconds.
const GRACE: RangeInclusive<u32> = 1..=60;

impl From<SchemaError> for Breach {
    fn from(error: SchemaError) -> Self {
        match error {
            SchemaError::NotJson(place) => Self::InvalidJson(place),
            SchemaError::Problem(problem) => Self::InvalidManifest(problem),
        }
    }
}

pub(super) fn operation(operation: wit::Operation) -> Result<Operation, Breach> {
    let name = name(&operation.name)?;
    let input_schema = schema::object(&operation.input_schema, &name, FieldPlace::InputSchema)?;
    let output_schema = schema::object(&operation.output_schema, &name, FieldPlace::OutputSchema)?;
    let failure_schema = operation
        .failure_schema
        .as_deref()
        .map(|text| schema::object(text, &name, FieldPlace::FailureSchema))
        .transpose()?;
    if let Some(pointer) = failure_schema.as_ref().and_then(schema::open_text) {
        return Err(ManifestProblem::FreeText { operation: name, pointer }.into());
    }
    let child_output_schema = operation
        .batch
        .as_ref()
        .and_then(|batch| batch.child_output_schema.as_deref())
        .map(|text| schema::object(text, &name, FieldPlace::ChildOutputSchema))
        .transpose()?;
    let contract = Contract {
        effect: match operation.effect {
            wit::Effect::Read => Effect::Read,
            wit::Effect::Write => Effect::Write,
        },
        repeat: repeat(operation.repeat, &name)?,
        statuses_before_work: statuses(operation.statuses_before_work, &name)?,
        reconcile: operation.reconcile.map(|reconcile| Reconcile {
            absence_settles_after_seconds: reconcile.absence_settles_after_seconds,
            automatic: reconcile.automatic,
        }),
        batch: operation.batch.as_ref().map(|batch| self::batch(batch, &name)).transpose()?,
        job_operation: operation.job_operation.as_deref().map(self::name).transpose()?,
        completion_marker: marker(operation.completion_marker, &name)?,
        stop_grace_seconds: operation.stop.map(|stop| grace(stop, &name)).transpose()?,
    };
    let keyed = matches!(contract.repeat, Repeat::Keyed(_));
    if contract.effect == Effect::Read && (keyed || contract.batch.is_some()) {
        return Err(ManifestProblem::ReadContract(name).into());
    }
    Ok(Operation {
        summary: text(operation.summary)?,
        input_schema,
        output_schema,
        failure_schema,
        child_output_schema,
        kept_headers: kept_headers(&operation.kept_headers, &name)?,
        stores_content: operation.stores_content,
        raw_commands: operation.raw_commands,
        contract,
        name,
    })
}

fn repeat(repeat: wit::Repeat, owner: &Name) -> Result<Repeat, ManifestProblem> {
    match repeat {
        wit::Repeat::None => Ok(Repeat::None),
        wit::Repeat::Idempotent => Ok(Repeat::Idempotent),
        wit::Repeat::Conditional => Ok(Repeat::Conditional),
        wit::Repeat::Keyed(keyed) => Ok(Repeat::Keyed(self::keyed(keyed, owner)?)),
    }
}

fn keyed(keyed: wit::KeyedContract, owner: &Name) -> Result<KeyedContract, ManifestProblem> {
    let place = match keyed.place {
        wit::KeyPlace::Header(text) => {
            let usable = header::name(&text).filter(|name| !host_owns_header(name));
            KeyPlace::Header(usable.ok_or_else(|| ManifestProblem::KeyHeader(owner.clone()))?)
        }
        wit::KeyPlace::Connector => KeyPlace::Connector,
    };
    if keyed.running_status.is_some_and(|status| !REFUSAL.contains(&status)) {
        return Err(ManifestProblem::Status(owner.clone()));
    }
    let replay_header = match keyed.replay_header {
        None => None,
        Some(text) => Some(kept_header(&text, owner)?),
    };
    Ok(KeyedContract {
        place,
        scope: text(keyed.scope)?,
        retention_seconds: keyed.retention_seconds,
        compares_payload: keyed.compares_payload,
        running_status: keyed.running_status,
        replay_header,
    })
}

fn statuses(statuses: Vec<u16>, owner: &Name) -> Result<Vec<u16>, ManifestProblem> {
    // A success of HTTP never precedes the work, so that its numbers are no exit statuses here either.
    if statuses.iter().all(|status| REFUSAL.contains(status) || EXIT.contains(status)) {
        Ok(statuses)
    } else {
        Err(ManifestProblem::Status(owner.clone()))
    }
}

fn batch(batch: &wit::BatchContract, owner: &Name) -> Result<Batch, ManifestProblem> {
    let bounded = (1..=MOST_CHILDREN).contains(&batch.max);
    if !bounded || !is_pointer(&batch.items) || !is_pointer(&batch.child_id) {
        return Err(ManifestProblem::Batch(owner.clone()));
    }
    Ok(Batch {
        items: batch.items.clone(),
        child_id: batch.child_id.clone(),
        mode: match batch.mode {
            wit::BatchMode::Independent => BatchMode::Independent,
            wit::BatchMode::Atomic => BatchMode::Atomic,
        },
        max: batch.max,
    })
}

fn grace(stop: wit::StopContract, owner: &Name) -> Result<u32, ManifestProblem> {
    if GRACE.contains(&stop.grace_seconds) {
        Ok(stop.grace_seconds)
    } else {
        Err(ManifestProblem::Grace(owner.clone()))
    }
}

fn marker(marker: Option<String>, owner: &Name) -> Result<Option<String>, ManifestProblem> {
    match marker {
        Some(text) if text.len() > 200 || !is_plain_text(&text) => {
            Err(ManifestProblem::CompletionMarker(owner.clone()))
        }
        Some(_) | None => Ok(marker),
    }
}

fn kept_headers(headers: &[String], owner: &Name) -> Result<Vec<String>, ManifestProblem> {
    headers.iter().map(|text| kept_header(text, owner)).collect()
}

fn kept_header(text: &str, owner: &Name) -> Result<String, ManifestProblem> {
    header::name(text)
        .filter(|name| header::may_be_kept(name))
        .ok_or_else(|| ManifestProblem::KeptHeader(owner.clone()))
}
