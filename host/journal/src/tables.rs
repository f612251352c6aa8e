//! The tables, and what a file must say of itself before it is taken for a journal.

use crate::audit::State;
use crate::error::JournalError;
use crate::keys::Authenticator;
use crate::record::BEFORE_ALL;
use proofport_core::digest::Digest;
use proofport_core::failures::Tally;
use proofport_core::id::RequestId;
use proofport_core::time::UnixMillis;
use redb::{
    Database, Durability, Key, ReadTransaction, ReadableDatabase as _, ReadableTable as _, TableDefinition,
    Value, WriteTransaction,
};
use std::path::Path;
use subtle::ConstantTimeEq as _;

/// First sequence number → the record of one batch. Appended at the end only.
pub(crate) const RECORDS: TableDefinition<'static, u64, &'static [u8]> = TableDefinition::new("records");
/// Whose → the first sequence number of the last record of it.
pub(crate) const HEADS: TableDefinition<'static, &'static [u8], u64> = TableDefinition::new("heads");
/// First sequence number of the record, position in it → a sealed body.
pub(crate) const BODIES: TableDefinition<'static, (u64, u16), &'static [u8]> = TableDefinition::new("bodies");
/// Epoch → the key of its bodies, wrapped to the recipient.
pub(crate) const EPOCHS: TableDefinition<'static, u64, &'static [u8]> = TableDefinition::new("epochs");
/// Code of an intent's key, then an invocation that carries it out. There may be several: one that was refused
/// must not hide one that was not. An intent's key is a digest that whoever guesses the call can make.
pub(crate) const INTENTS: TableDefinition<'static, &'static [u8; 48], ()> = TableDefinition::new("intents");
/// Invocations whose fate is open.
pub(crate) const OPEN: TableDefinition<'static, &'static [u8; 16], ()> = TableDefinition::new("open");
/// Invocations with an ended attempt and no settlement. Core says what is one.
pub(crate) const UNSETTLED: TableDefinition<'static, &'static [u8; 16], ()> =
    TableDefinition::new("unsettled");
/// Whose failures → when the first of them was (8 bytes, big-endian), how many there are (4), and the
/// invocation of the last (16). Core says what is one.
pub(crate) const FAILURES: TableDefinition<'static, &'static [u8; 32], &'static [u8; 28]> =
    TableDefinition::new("failures");
/// Block → its bytes, of the audit log. Appended at the end only, and taken out at the beginning.
pub(crate) const AUDIT: TableDefinition<'static, u64, &'static [u8]> = TableDefinition::new("audit");
/// What the file is.
const ABOUT: TableDefinition<'static, &'static str, &'static [u8]> = TableDefinition::new("about");

const FORMAT_KEY: &str = "proofport.journal";
/// What is written.
pub(crate) const FORMAT: u64 = 5;
/// The version from which on what a record says is encrypted, and [`INTENTS`] has codes. Older records stay as
/// they are.
pub(crate) const WITH_ENCRYPTION: u64 = 5;
/// The version from which on there is [`AUDIT`].
pub(crate) const WITH_AUDIT: u64 = 4;
/// The version from which on there is [`FAILURES`].
pub(crate) const WITH_FAILURES: u64 = 3;
/// The version from which on there is [`UNSETTLED`].
pub(crate) const WITH_UNSETTLED: u64 = 2;
/// The oldest that is read; [`crate::upgrade`] makes it the newest.
const OLDEST: u64 = 1;
const KEY_CHECK: &str = "key";
/// Where the audit log stands.
const AUDIT_HEAD: &str = "audit";

/// The key in [`HEADS`]: an invocation's bytes, or nothing for the host's own events.
pub(crate) fn head_key(invocation: Option<&RequestId>) -> &[u8] {
    invocation.map_or(&[], |id| id.as_bytes())
}

/// The key in [`INTENTS`].
pub(crate) fn intent_key(authenticator: &Authenticator, intent: &Digest, invocation: &RequestId) -> [u8; 48] {
    let mut key = [0; 48];
    key[..32].copy_from_slice(&authenticator.code(&[b"proofport.journal intent", intent.as_bytes()]));
    key[32..].copy_from_slice(invocation.as_bytes());
    key
}

/// A value in [`FAILURES`].
pub(crate) fn tally_bytes(tally: &Tally) -> [u8; 28] {
    let mut bytes = [0; 28];
    bytes[..8].copy_from_slice(&tally.since.0.to_be_bytes());
    bytes[8..12].copy_from_slice(&tally.count.to_be_bytes());
    bytes[12..].copy_from_slice(tally.last.as_bytes());
    bytes
}

/// What such a value says.
pub(crate) fn tally(bytes: &[u8; 28]) -> Tally {
    let (mut since, mut count, mut last) = ([0; 8], [0; 4], [0; 16]);
    since.copy_from_slice(&bytes[..8]);
    count.copy_from_slice(&bytes[8..12]);
    last.copy_from_slice(&bytes[12..]);
    Tally {
        since: UnixMillis(u64::from_be_bytes(since)),
        count: u32::from_be_bytes(count),
        last: RequestId::from_random(last),
    }
}

/// A transaction of the only kind that the journal makes.
pub(crate) fn begin(database: &Database) -> Result<WriteTransaction, redb::Error> {
    let mut transaction = database.begin_write()?;
    transaction.set_durability(Durability::Immediate)?;
    // A remote chooses bytes that are stored here, so the primary slot must be valid without trusting
    // a checksum; and a large journal must open at once after a crash (the figures stand in lib.rs).
    transaction.set_two_phase_commit(true);
    transaction.set_quick_repair(true);
    Ok(transaction)
}

/// Makes every table, so that no reader meets a missing one, and writes what the file is.
pub(crate) fn initialise(database: &Database, authenticator: &Authenticator) -> Result<(), redb::Error> {
    let transaction = begin(database)?;
    {
        transaction.open_table(RECORDS)?;
        transaction.open_table(HEADS)?;
        transaction.open_table(BODIES)?;
        transaction.open_table(EPOCHS)?;
        transaction.open_table(INTENTS)?;
        transaction.open_table(OPEN)?;
        transaction.open_table(UNSETTLED)?;
        transaction.open_table(FAILURES)?;
        transaction.open_table(AUDIT)?;
        write_audit_head(&transaction, &State::NOTHING.encode(authenticator, &BEFORE_ALL))?;
        write_format(&transaction, authenticator)?;
    }
    transaction.commit()?;
    Ok(())
}

/// Writes that the file is of the newest version.
pub(crate) fn write_format(
    transaction: &WriteTransaction,
    authenticator: &Authenticator,
) -> Result<(), redb::Error> {
    let mut about = transaction.open_table(ABOUT)?;
    about.insert(FORMAT_KEY, &FORMAT.to_be_bytes()[..])?;
    about.insert(KEY_CHECK, &authenticator.key_check(FORMAT)[..])?;
    Ok(())
}

/// Writes where the audit log stands.
pub(crate) fn write_audit_head(transaction: &WriteTransaction, state: &[u8]) -> Result<(), redb::Error> {
    transaction.open_table(ABOUT)?.insert(AUDIT_HEAD, state)?;
    Ok(())
}

/// Where the audit log stands, as it is written.
pub(crate) fn audit_head(transaction: &ReadTransaction) -> Result<Option<Vec<u8>>, JournalError> {
    Ok(transaction.open_table(ABOUT)?.get(AUDIT_HEAD)?.map(|state| state.value().to_vec()))
}

/// Whether nothing was ever written: then it is initialised.
pub(crate) fn is_empty(database: &Database) -> Result<bool, redb::Error> {
    Ok(database.begin_read()?.list_tables()?.next().is_none())
}

/// Checks that the file is a journal of a version that is read here and of this vault, and says which
/// version.
pub(crate) fn check(
    database: &Database,
    authenticator: &Authenticator,
    path: &Path,
) -> Result<u64, JournalError> {
    let about = match database.begin_read()?.open_table(ABOUT) {
        Ok(about) => about,
        Err(redb::TableError::TableDoesNotExist(_)) => {
            return Err(JournalError::NotAJournal { path: path.to_owned() });
        }
        Err(other) => return Err(other.into()),
    };
    let version =
        about.get(FORMAT_KEY)?.and_then(|bytes| bytes.value().try_into().ok().map(u64::from_be_bytes));
    let version = match version {
        Some(known @ OLDEST..=FORMAT) => known,
        Some(found) => return Err(JournalError::UnsupportedVersion { path: path.to_owned(), found }),
        None => return Err(JournalError::NotAJournal { path: path.to_owned() }),
    };
    let stored = about.get(KEY_CHECK)?.map(|code| code.value().to_vec()).unwrap_or_default();
    let is_of = |version| stored.ct_eq(&authenticator.key_check(version)).into();
    if is_of(version) {
        return Ok(version);
    }
    // Ours, and of another version than it says.
    let altered = (OLDEST..=FORMAT).any(is_of);
    Err(if altered {
        JournalError::Tampered { seq: 0 }
    } else {
        JournalError::OtherVault { path: path.to_owned() }
    })
}

/// Copies everything of a journal of this version into an empty database, in one transaction.
pub(crate) fn copy_all(from: &Database, version: u64, to: &Database) -> Result<(), redb::Error> {
    let from = from.begin_read()?;
    let transaction = begin(to)?;
    copy(&from, &transaction, RECORDS)?;
    copy(&from, &transaction, HEADS)?;
    copy(&from, &transaction, BODIES)?;
    copy(&from, &transaction, EPOCHS)?;
    copy(&from, &transaction, INTENTS)?;
    copy(&from, &transaction, OPEN)?;
    if version >= WITH_UNSETTLED {
        copy(&from, &transaction, UNSETTLED)?;
    }
    if version >= WITH_FAILURES {
        copy(&from, &transaction, FAILURES)?;
    }
    if version >= WITH_AUDIT {
        copy(&from, &transaction, AUDIT)?;
    }
    copy(&from, &transaction, ABOUT)?;
    transaction.commit()?;
    Ok(())
}

fn copy<K: Key + 'static, V: Value + 'static>(
    from: &ReadTransaction,
    to: &WriteTransaction,
    definition: TableDefinition<'static, K, V>,
) -> Result<(), redb::Error> {
    let mut target = to.open_table(definition)?;
    for entry in from.open_table(definition)?.iter()? {
        let (key, value) = entry?;
        target.insert(key.value(), value.value())?;
    }
    Ok(())
}
