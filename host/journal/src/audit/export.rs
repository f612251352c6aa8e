//! The log out of an open journal: where it ends, its verification, and its export.

use super::form::{self, BEGINNING};
use super::note::{self, Also, PublicKey};
use super::report::{Finding, Head, Report, Unreadable, Wrong};
use super::state::State;
use super::verify::{Expected, Verifier};
use crate::error::JournalError;
use crate::journal::Journal;
use crate::keys::Authenticator;
use crate::record::{BEFORE_ALL, Record};
use crate::tables::{self, AUDIT, RECORDS};
use redb::{ReadTransaction, ReadableTable as _};
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

/// How many bytes of blocks are read at once, unless one block alone is larger. In tests each log has parts.
const LARGEST_PART: usize = if cfg!(test) { 512 } else { 4 * 1024 * 1024 };

/// How far an export has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Export {
    /// The first block of the file; 0: it has not begun.
    first: u64,
    /// The block that comes next; 0 as well.
    next: u64,
    /// How many bytes came before.
    bytes: u64,
}

/// A part of an exported file.
pub struct Part {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What comes after it.
    pub then: Then,
}

/// What comes after a part of an exported file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Then {
    /// Another part, from here on.
    More(Export),
    /// Nothing: the file is whole.
    End(Exported),
}

/// What an exported file holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// What comes next was taken out of the journal while the export was made.
    #[error("segments were taken out of the journal while it was exported: export it again")]
    Removed,
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
    /// may be in it.
    ///
    /// # Errors
    /// See [`ExportError`].
    pub fn export_audit(&self, to: &mut impl Write) -> Result<Exported, ExportError> {
        let mut next = Export::default();
        loop {
            let part = self.export_audit_part(next)?;
            to.write_all(&part.bytes)?;
            next = match part.then {
                Then::More(next) => next,
                Then::End(exported) => {
                    to.flush()?;
                    return Ok(exported);
                }
            };
        }
    }

    /// The next bytes of an exported file: some mebibytes, or one block where that is larger. Blocks are only
    /// added to the end of a log, so that parts that were read at different times are parts of one file. Its end
    /// is signed with the last part, as the log stands then.
    ///
    /// # Errors
    /// See [`ExportError`].
    pub fn export_audit_part(&self, from: Export) -> Result<Part, ExportError> {
        self.reading(|transaction| Ok(self.part(transaction, from)))?
    }

    fn part(&self, transaction: &ReadTransaction, from: Export) -> Result<Part, ExportError> {
        let state = state(transaction, &self.shared.authenticator)?;
        if state.block == 0 {
            return Err(ExportError::Nothing);
        }
        let mut bytes = Vec::new();
        let mut next = from;
        if from.next == 0 {
            bytes.extend_from_slice(BEGINNING);
            next = Export { first: state.first, next: state.first, bytes: 0 };
        } else if from.next < state.first {
            return Err(ExportError::Removed);
        }
        let blocks = transaction.open_table(AUDIT).map_err(JournalError::from)?;
        for entry in blocks.range(next.next..).map_err(JournalError::from)? {
            let (number, block) = entry.map_err(JournalError::from)?;
            if number.value() != next.next {
                return Err(JournalError::Tampered { seq: 0 }.into());
            }
            if !bytes.is_empty() && bytes.len() + block.value().len() > LARGEST_PART {
                next.bytes += bytes.len() as u64;
                return Ok(Part { bytes, then: Then::More(next) });
            }
            bytes.extend_from_slice(block.value());
            next.next = number.value().saturating_add(1);
        }
        if next.next != state.block.saturating_add(1) {
            return Err(JournalError::Tampered { seq: 0 }.into());
        }
        let State { block, hash, log, key, .. } = state;
        let signer = self.shared.signers.of(&key)?;
        let also = Also::ExportFrom(next.first);
        let note = note::sign(log, &note::text(log, block, &hash, also), &[signer]);
        let length = u32::try_from(note.len()).unwrap_or(u32::MAX).to_be_bytes();
        bytes.extend_from_slice(&[[0; 4], length].concat());
        bytes.extend_from_slice(&note);
        let written = next.bytes + bytes.len() as u64;
        let (head, key) = (Head { block, hash }, PublicKey { log, bytes: key });
        let exported = Exported { first_block: next.first, head, key, bytes: written };
        Ok(Part { bytes, then: Then::End(exported) })
    }
}
