//! Journals that an earlier version of this program wrote.

use crate::audit::State;
use crate::error::JournalError;
use crate::keys::{Authenticator, Code};
use crate::record::{BEFORE_ALL, Record};
use crate::tables::{
    self, AUDIT, FAILURES, FORMAT, RECORDS, UNSETTLED, WITH_AUDIT, WITH_FAILURES, WITH_UNSETTLED,
};
use proofport_core::id::RequestId;
use proofport_core::unknown::leaves_unsettled;
use redb::{Database, ReadableDatabase as _, ReadableTable as _};
use std::collections::BTreeSet;

/// Makes a journal of an older version one of the newest, in one transaction. No record is changed. The
/// index of what is unsettled is made out of them, which reads every record, once in the journal's life;
/// of failures nothing was recorded then, so that every budget is whole. An audit log that there was not begins
/// with the next commit, and its first block says how many events are older.
pub(crate) fn to_newest(
    database: &Database,
    version: u64,
    authenticator: &Authenticator,
) -> Result<(), JournalError> {
    if version == FORMAT {
        return Ok(());
    }
    tracing::info!(version, "the journal is of an older version; making the indexes that it lacks");
    let found = (version < WITH_UNSETTLED).then(|| unsettled(database, authenticator)).transpose()?;
    let begins =
        || Ok::<_, JournalError>(State::NOTHING.encode(authenticator, &last_code(database, authenticator)?));
    let audit = (version < WITH_AUDIT).then(begins).transpose()?;
    write(database, version, authenticator, found.as_ref(), audit.as_deref())
        .map_err(|error| JournalError::Storage(Box::new(error)))
}

fn unsettled(
    database: &Database,
    authenticator: &Authenticator,
) -> Result<BTreeSet<RequestId>, JournalError> {
    let mut found = BTreeSet::new();
    for entry in database.begin_read()?.open_table(RECORDS)?.iter()? {
        let (seq, bytes) = entry?;
        let record = Record::verified(authenticator, seq.value(), bytes.value())?;
        match (record.place.invocation, leaves_unsettled(&record.payload()?.events)) {
            (Some(id), Some(true)) => drop(found.insert(id)),
            (Some(id), Some(false)) => drop(found.remove(&id)),
            (Some(_), None) | (None, _) => {}
        }
    }
    Ok(found)
}

/// The code of the last record.
fn last_code(database: &Database, authenticator: &Authenticator) -> Result<Code, JournalError> {
    let records = database.begin_read()?.open_table(RECORDS)?;
    let Some((seq, bytes)) = records.last()? else { return Ok(BEFORE_ALL) };
    Ok(Record::verified(authenticator, seq.value(), bytes.value())?.code)
}

fn write(
    database: &Database,
    version: u64,
    authenticator: &Authenticator,
    found: Option<&BTreeSet<RequestId>>,
    audit: Option<&[u8]>,
) -> Result<(), redb::Error> {
    let transaction = tables::begin(database)?;
    // Nothing that stands there already is believed.
    if version < WITH_FAILURES {
        transaction.delete_table(FAILURES)?;
        transaction.open_table(FAILURES)?;
    }
    if let Some(audit) = audit {
        transaction.delete_table(AUDIT)?;
        transaction.open_table(AUDIT)?;
        tables::write_audit_head(&transaction, audit)?;
    }
    if let Some(found) = found {
        transaction.delete_table(UNSETTLED)?;
        let mut unsettled = transaction.open_table(UNSETTLED)?;
        for id in found {
            unsettled.insert(id.as_bytes(), ())?;
        }
    }
    tables::write_format(&transaction, authenticator)?;
    transaction.commit()?;
    Ok(())
}
