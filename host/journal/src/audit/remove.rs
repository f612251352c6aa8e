//! Takes old segments out of the journal, once they are in an exported file. Never silently: a block says so.

use super::export::state;
use super::form::{self, Body, Hash};
use super::report::{Finding, Head, Unreadable};
use super::verify::{Expected, Verifier};
use crate::error::JournalError;
use crate::journal::Journal;
use crate::tables::AUDIT;
use serde::{Deserialize, Serialize};
use std::io::Read;

/// What the writer is to take out.
#[derive(Clone, Copy)]
pub(crate) struct Removal {
    pub(crate) through: u64,
    /// The hash of that block.
    pub(crate) hash: Hash,
}

/// Which part of a log an exported file holds, by a verification of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// Its first block.
    first: u64,
    /// Its last one.
    head: Head,
}

impl Held {
    /// By this file, which is verified.
    ///
    /// # Errors
    /// When it can't be read, or not verified.
    pub fn by(file: impl Read) -> Result<Self, RemoveError> {
        let mut verifier = Verifier::new(Expected::default());
        verifier.export(file)?;
        let report = verifier.finish();
        // What the host did is no reason to keep it twice: only the file has to be whole.
        match report.findings.into_iter().find(|finding| !finding.what.is_about_dispatches()) {
            Some(finding) => Err(RemoveError::NotVerified(finding)),
            None => Ok(Self { first: report.first_block, head: report.head }),
        }
    }
}

/// What was taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removed {
    /// The first block of it.
    pub first: u64,
    /// The last.
    pub last: u64,
}

/// Nothing was taken out.
#[derive(Debug, thiserror::Error)]
pub enum RemoveError {
    /// The file can't be read as an export.
    #[error("the exported file: {0}")]
    Unreadable(#[from] Unreadable),
    /// The file is not verified.
    #[error("the exported file is not verified, and nothing was removed: {0}")]
    NotVerified(Finding),
    /// The file holds another log, or another past of this one, or begins too late.
    #[error("the exported file doesn't hold what this journal holds, and nothing was removed")]
    OtherLog,
    /// No segment that is over is in the file and in the journal.
    #[error("the file holds no segment that is over and still in the journal")]
    NothingToRemove,
    /// The journal can't be read or written.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl Journal {
    /// Takes those segments out of the journal that are over and that an exported file holds. The segment that is
    /// being written stays.
    ///
    /// # Errors
    /// See [`RemoveError`]; then nothing was removed.
    pub async fn remove_exported_audit(&self, held: Held) -> Result<Removed, RemoveError> {
        let (removed, hash) = self.reading(|transaction| {
            let state = state(transaction, &self.shared.authenticator)?;
            let blocks = transaction.open_table(AUDIT)?;
            let same = blocks.get(held.head.block)?.is_some_and(|block| {
                // The hash of a block vouches for every one before it.
                form::hash(block.value()) == held.head.hash
            });
            if !same || held.first > state.first {
                return Ok(Err(RemoveError::OtherLog));
            }
            let mut boundary = None;
            for entry in blocks.range(state.first + 1..=held.head.block + 1)? {
                let (number, block) = entry?;
                let begins = form::parts(block.value()).and_then(|(header, ..)| match header.body {
                    Body::Segment { .. } => Some(header.previous),
                    Body::Events(_) | Body::Checkpoint | Body::Key { .. } | Body::Removed { .. } => None,
                });
                if let Some(hash) = begins {
                    boundary = Some((Removed { first: state.first, last: number.value() - 1 }, hash));
                }
            }
            Ok(boundary.ok_or(RemoveError::NothingToRemove))
        })??;
        self.shared.remove_audit(Removal { through: removed.last, hash }).await?;
        Ok(removed)
    }
}
