//! Journals that an earlier version of this program wrote.

use crate::audit::State;
use crate::error::JournalError;
use crate::keys::{Authenticator, Code};
use crate::record::{BEFORE_ALL, Record};
use crate::tables::{
    self, AUDIT, FAILURES, FORMAT, INTENTS, RECORDS, UNSETTLED, WITH_AUDIT, WITH_ENCRYPTION, WITH_FAILURES,
    WITH_UNSETTLED,
};
use proofport_core::digest::Digest;
use proofport_core::id::RequestId;
use proofport_core::unknown::leaves_unsettled;
use redb::{Database, ReadableDatabase as _, ReadableTable as _};
use std::collections::BTreeSet;

/// Makes a journal of an older version one of the newest, in one transaction. No record is changed. The
/// indexes of intents and of what is unsettled are made out of them, which reads every record, once in the
/// journal's life; of failures nothing was recorded before the third version, so that every budget is whole. Where
/// there was no audit log, it begins with the next commit, and its first block says how many events are older.
pub(crate) fn to_newest(
    database: &Database,
    version: u64,
    authenticator: &Authenticator,
) -> Result<(), JournalError> {
    if version == FORMAT {
        return Ok(());
    }
    tracing::info!(version, "the journal is of an older version; bringing it to the newest");
    let found = Found::in_records(database, version, authenticator)?;
    write(database, version, authenticator, &found).map_err(|error| JournalError::Storage(Box::new(error)))
}

/// What the records say that indexes are made of.
struct Found {
    unsettled: BTreeSet<RequestId>,
    intents: Vec<(Digest, RequestId)>,
    /// The code of the last record.
    last: Code,
}

impl Found {
    fn in_records(
        database: &Database,
        version: u64,
        authenticator: &Authenticator,
    ) -> Result<Self, JournalError> {
        let mut found = Self { unsettled: BTreeSet::new(), intents: Vec::new(), last: BEFORE_ALL };
        for entry in database.begin_read()?.open_table(RECORDS)?.iter()? {
            let (seq, bytes) = entry?;
            let record = Record::verified(authenticator, seq.value(), bytes.value())?;
            if record.is_encrypted() && version < WITH_ENCRYPTION {
                // No older version wrote this: somebody put back the word of one, to have the log begun anew.
                return Err(JournalError::Tampered { seq: seq.value() });
            }
            let payload = record.payload()?;
            match (record.place.invocation, leaves_unsettled(&payload.events)) {
                (Some(id), Some(true)) => drop(found.unsettled.insert(id)),
                (Some(id), Some(false)) => drop(found.unsettled.remove(&id)),
                (Some(_), None) | (None, _) => {}
            }
            found.intents.extend(payload.intents);
            found.last = record.code;
        }
        Ok(found)
    }
}

fn write(
    database: &Database,
    version: u64,
    authenticator: &Authenticator,
    found: &Found,
) -> Result<(), redb::Error> {
    let transaction = tables::begin(database)?;
    // Nothing that stands there already is believed.
    if version < WITH_FAILURES {
        transaction.delete_table(FAILURES)?;
        transaction.open_table(FAILURES)?;
    }
    if version < WITH_AUDIT {
        transaction.delete_table(AUDIT)?;
        transaction.open_table(AUDIT)?;
        tables::write_audit_head(&transaction, &State::NOTHING.encode(authenticator, &found.last))?;
    }
    if version < WITH_UNSETTLED {
        transaction.delete_table(UNSETTLED)?;
        let mut unsettled = transaction.open_table(UNSETTLED)?;
        for id in &found.unsettled {
            unsettled.insert(id.as_bytes(), ())?;
        }
    }
    if version < WITH_ENCRYPTION {
        transaction.delete_table(INTENTS)?;
        let mut intents = transaction.open_table(INTENTS)?;
        for (intent, id) in &found.intents {
            intents.insert(&tables::intent_key(authenticator, intent, id), ())?;
        }
    }
    tables::write_format(&transaction, authenticator)?;
    transaction.commit()?;
    Ok(())
}
