//! The log out of an open journal: where it ends, its verification, and its export.

use super::form::{self, BEGINNING};
use super::note::{self, Also, PublicKey};
use super::open::{AuditEntry, NotOpened, OpenedAudit};
use super::report::{Finding, Head, Report, Unreadable, Wrong};
use super::state::State;
use super::verify::{Expected, Verifier};
use crate::error::JournalError;
use crate::journal::Journal;
use crate::keys::Authenticator;
use crate::record::{BEFORE_ALL, Record};
use crate::tables::{self, AUDIT, RECORDS};
use proofport_core::secret::Secret;
use redb::{ReadTransaction, ReadableTable as _};
use std::io::{self, Write};

/// What an exported file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// The first block.
    pub first_block: u64,
    /// The last one and its hash: to be kept elsewhere.
    pub head: Head,
    /// The key that signed the end.
    pub key: PublicKey,
    /// How many bytes were written.
    pub bytes: u64,
}

/// A log can't be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// Nothing was ever recorded.
    #[error("the audit log has not begun: nothing was recorded yet")]
    Nothing,
    /// The journal can't be read, or was altered.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The target takes no more.
    #[error("the export can't be written: {0}")]
    Write(#[from] io::Error),
}

/// Where the log stands, proved together with the last record.
pub(crate) fn state(
    transaction: &ReadTransaction,
    authenticator: &Authenticator,
) -> Result<State, JournalError> {
    let records = transaction.open_table(RECORDS)?;
    let (seq, code) = match records.last()? {
        Some((seq, bytes)) => {
            (seq.value(), Record::verified(authenticator, seq.value(), bytes.value())?.code)
        }
        None => (0, BEFORE_ALL),
    };
    let stored = tables::audit_head(transaction)?;
    stored.and_then(|bytes| State::decode(&bytes, authenticator, &code)).ok_or(JournalError::Tampered { seq })
}

/// Verifies the log that a journal holds against where it stands.
pub(crate) fn verify(
    transaction: &ReadTransaction,
    authenticator: &Authenticator,
    mut expected: Expected,
    listing: bool,
) -> Result<(Report, Option<form::Hash>), JournalError> {
    let state = state(transaction, authenticator)?;
    if state.block > 0 {
        expected.heads.push(Head { block: state.block, hash: state.hash });
    }
    let mut verifier = Verifier::new(expected);
    if listing {
        verifier = verifier.listing();
    }
    for entry in transaction.open_table(AUDIT)?.iter()? {
        let (number, block) = entry?;
        let read = verifier.stored(block.value());
        read.map_err(|unreadable| match unreadable {
            Unreadable::Io(_) | Unreadable::NotAnExport => JournalError::Tampered { seq: number.value() },
            newer @ (Unreadable::Version { .. } | Unreadable::EventKind { .. }) => {
                JournalError::AuditUnreadable(Box::new(newer))
            }
        })?;
    }
    let listed = verifier.listed();
    let mut report = verifier.finish();
    if state.block > 0 && report.is_verified() {
        // The chain alone can't know where the journal's own part begins and ends.
        let wrong = [
            (report.first_block != state.first, Wrong::Beginning),
            (report.head.block != state.block, Wrong::AfterTheEnd),
            (report.keys.last().is_none_or(|last| last.key.bytes != state.key), Wrong::Key),
        ];
        let block = report.head.block;
        report.findings.extend(wrong.into_iter().filter(|(is, _)| *is).map(|(_, what)| Finding {
            block,
            offset: None,
            what,
        }));
    }
    if state.block == 0 && report.head.block > 0 {
        report.findings.push(Finding { block: 1, offset: None, what: Wrong::AfterTheEnd });
    }
    Ok((report, listed))
}

impl Journal {
    /// The last block of the audit log and its hash; none before anything was recorded.
    ///
    /// # Errors
    /// When the journal was altered, or reading fails.
    pub fn audit_head(&self) -> Result<Option<(Head, PublicKey)>, JournalError> {
        self.reading(|transaction| {
            let state = state(transaction, &self.shared.authenticator)?;
            let State { block, hash, log, key, .. } = state;
            Ok((block > 0).then_some((Head { block, hash }, PublicKey { log, bytes: key })))
        })
    }

    /// Verifies the audit log that the journal holds.
    ///
    /// # Errors
    /// When the journal was altered, or reading fails. What is wrong with the log stands in the report.
    pub fn verify_audit(&self, expected: Expected) -> Result<Report, JournalError> {
        self.reading(|transaction| {
            verify(transaction, &self.shared.authenticator, expected, false).map(|(report, _)| report)
        })
    }

    /// Writes the audit log with a signed end. Nothing of the journal changes, and what is recorded meanwhile
    /// is not in it.
    ///
    /// # Errors
    /// See [`ExportError`].
    pub fn export_audit(&self, to: &mut impl Write) -> Result<Exported, ExportError> {
        self.reading(|transaction| Ok(self.write_export(transaction, to)))?
    }

    fn write_export(
        &self,
        transaction: &ReadTransaction,
        to: &mut impl Write,
    ) -> Result<Exported, ExportError> {
        let state = state(transaction, &self.shared.authenticator)?;
        if state.block == 0 {
            return Err(ExportError::Nothing);
        }
        let signer = self.shared.signers.of(&state.key)?;
        to.write_all(BEGINNING)?;
        let mut bytes = BEGINNING.len() as u64;
        let blocks = transaction.open_table(AUDIT).map_err(JournalError::from)?;
        for entry in blocks.iter().map_err(JournalError::from)? {
            let (_, block) = entry.map_err(JournalError::from)?;
            to.write_all(block.value())?;
            bytes += block.value().len() as u64;
        }
        let State { block, hash, first, log, key, .. } = state;
        let note = note::sign(log, &note::text(log, block, &hash, Also::ExportFrom(first)), &[signer]);
        let length = u32::try_from(note.len()).unwrap_or(u32::MAX).to_be_bytes();
        to.write_all(&[[0; 4], length].concat())?;
        to.write_all(&note)?;
        to.flush()?;
        bytes += 8 + note.len() as u64;
        let (head, key) = (Head { block, hash }, PublicKey { log, bytes: key });
        Ok(Exported { first_block: first, head, key, bytes })
    }

    /// Opens the bodies of the audit log that the journal holds with the operator's identity, the oldest first.
    ///
    /// # Errors
    /// When the journal can't be read, or a body can't be opened.
    pub fn open_audit(
        &self,
        identity: &Secret,
        mut visit: impl FnMut(AuditEntry),
    ) -> Result<Result<(), NotOpened>, JournalError> {
        let mut opened = match OpenedAudit::new(identity) {
            Ok(opened) => opened,
            Err(error) => return Ok(Err(error)),
        };
        self.reading(|transaction| {
            for entry in transaction.open_table(AUDIT)?.iter()? {
                match opened.block(entry?.1.value()) {
                    Ok(entries) => entries.into_iter().for_each(&mut visit),
                    Err(error) => return Ok(Err(error)),
                }
            }
            Ok(Ok(()))
        })
    }
}
