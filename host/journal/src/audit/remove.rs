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

/// Nothing was taken out, or not everything: whole segments, and the log says which.
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
    /// Takes those segments out of the journal that are over and that an exported file holds, one after another,
    /// so that calls go on in between. The segment that is being written stays.
    ///
    /// # Errors
    /// See [`RemoveError`]. When the journal ends meanwhile, what was taken out by then is, and the log says so.
    pub async fn remove_exported_audit(&self, held: Held) -> Result<Removed, RemoveError> {
        // Two at a time would both say that they took out the same.
        let _alone = self.shared.removing.lock().await;
        self.holds(&held)?;
        let mut removed: Option<Removed> = None;
        while let Some((segment, hash)) = self.oldest_that_is_over(held.head.block)? {
            self.shared.remove_audit(Removal { through: segment.last, hash }).await?;
            let first = removed.map_or(segment.first, |removed| removed.first);
            removed = Some(Removed { first, last: segment.last });
        }
        removed.ok_or(RemoveError::NothingToRemove)
    }

    /// Whether what the file holds is what the journal holds, from its first block on.
    fn holds(&self, held: &Held) -> Result<(), RemoveError> {
        let same = self.reading(|transaction| {
            let state = state(transaction, &self.shared.authenticator)?;
            let block = transaction.open_table(AUDIT)?.get(held.head.block)?;
            // The hash of a block vouches for every one before it.
            let same = block.is_some_and(|block| form::hash(block.value()) == held.head.hash);
            Ok(same && held.first <= state.first)
        })?;
        if same { Ok(()) } else { Err(RemoveError::OtherLog) }
    }

    /// The oldest segment in the journal, and the hash of its last block; none where it isn't over, or goes on
    /// beyond this block.
    fn oldest_that_is_over(&self, until: u64) -> Result<Option<(Removed, Hash)>, JournalError> {
        self.reading(|transaction| {
            let first = state(transaction, &self.shared.authenticator)?.first;
            // What the range is of must not end before it begins.
            let after = (first + 1)..=until.saturating_add(1).max(first + 1);
            for entry in transaction.open_table(AUDIT)?.range(after)? {
                let (number, block) = entry?;
                let begins = form::parts(block.value()).and_then(|(header, ..)| match header.body {
                    Body::Segment { .. } => Some(header.previous),
                    Body::Events(_) | Body::Checkpoint | Body::Key { .. } | Body::Removed { .. } => None,
                });
                if let Some(hash) = begins.filter(|_| number.value() <= until.saturating_add(1)) {
                    return Ok(Some((Removed { first, last: number.value() - 1 }, hash)));
                }
            }
            Ok(None)
        })
    }
}
