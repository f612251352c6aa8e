//! Contents: results too large for a record, in files beside the journal.
//!
//! `results/ID/` holds one file per chunk, `00000000.chunk` and so on, and the marker `complete`. Chunks
//! are sealed like bodies. The marker says what the content is made up of; it is written after every
//! chunk is on disk, under another name, and renamed. What has no marker is a leftover and never read.
//!
//! The key of the chunks' epoch is in the marker, wrapped to the vault's recipient: it is on disk when
//! the content is complete, and no commit is needed for it. The journal itself learns of a content by
//! what its caller records, which is also what proves that there was one.

mod content;
mod marker;
mod store;
mod writer;

pub use content::{Content, Resume};
pub(crate) use store::Store;
pub use writer::ContentWriter;

use crate::error::JournalError;
use crate::journal::Journal;
use proofport_core::digest::Digest;
use proofport_core::id::RequestId;

/// The size of every chunk but the last, in plain bytes.
pub const CHUNK_BYTES: usize = 256 * 1024;
/// The most chunks of one content: a bound on its marker, which is read at once.
const MOST_CHUNKS: u32 = 256 * 1024;
/// The most plain bytes of one content.
pub(crate) const LARGEST_CONTENT: u64 = MOST_CHUNKS as u64 * CHUNK_BYTES as u64;

/// What a stored content is made up of. Its caller records this, and compares when reading: a content
/// that the record names and that is not there, or is another, was lost or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentFacts {
    /// How many plain bytes.
    pub bytes: u64,
    /// The SHA-256 of all of them.
    pub digest: Digest,
    /// How many chunks.
    pub chunks: u32,
    /// The size of every chunk but the last, in plain bytes.
    pub chunk_bytes: u32,
}

/// What becomes of a complete content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// It stays. The answer also for an invocation that is under way: its content may be complete and
    /// its record not yet.
    Keep,
    /// It is removed: past retention, or named by no record.
    Remove,
}

/// What a sweep did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Complete contents that stayed.
    pub kept: u64,
    /// Incomplete contents that nobody was writing, removed.
    pub incomplete: u64,
    /// Complete contents that were not to be kept, removed.
    pub unwanted: u64,
    /// Bytes of the removed files.
    pub bytes_freed: u64,
}

/// Contents. All of this blocks on files.
impl Journal {
    /// Begins the content of an invocation. What an earlier try left is removed, also a complete one:
    /// a caller that recorded a content begins no other.
    ///
    /// # Errors
    /// [`JournalError::ContentBusy`] while one is being written; [`JournalError::NoRoom`]; when the
    /// folders can't be changed.
    pub fn begin_content(&self, id: &RequestId) -> Result<ContentWriter, JournalError> {
        ContentWriter::begin(self, id)
    }

    /// The complete content of an invocation; none where there is no marker.
    ///
    /// # Errors
    /// [`JournalError::BodiesLocked`] when there is one and no identity to open it;
    /// [`JournalError::ContentDamaged`] when its marker is not what was stored; when reading fails.
    pub fn content(&self, id: &RequestId) -> Result<Option<Content>, JournalError> {
        Content::find(self, id)
    }

    /// Removes the content of an invocation, complete or not. Nothing happens when there is none.
    ///
    /// # Errors
    /// [`JournalError::ContentBusy`] while it is being written; when files can't be removed.
    pub fn discard_content(&self, id: &RequestId) -> Result<(), JournalError> {
        let store = self.store()?;
        store.exclusively(id, || store.remove(id, None)).map(drop)
    }

    /// Removes what is incomplete and not being written, and every complete content that is not to be
    /// kept: at the start, and for retention.
    ///
    /// # Errors
    /// The first one that removing met; the others were tried all the same.
    pub fn sweep_contents(&self, keep: impl Fn(&RequestId) -> Keep) -> Result<Swept, JournalError> {
        self.store()?.sweep(keep)
    }

    /// How many bytes all contents have, as stored, with those that are being written.
    #[must_use]
    pub fn contents_bytes(&self) -> u64 {
        self.store().map_or(0, Store::bytes)
    }

    pub(crate) fn store(&self) -> Result<&Store, JournalError> {
        self.shared.beside.as_ref().map(|beside| &beside.store).ok_or(JournalError::NoFolder)
    }
}
