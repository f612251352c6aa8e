//! Writing a content, with one chunk of it in memory.

use super::{CHUNK_BYTES, ContentFacts, MOST_CHUNKS, marker};
use crate::error::JournalError;
use crate::journal::Journal;
use crate::seal::Slot;
use proofport_core::digest::Digest;
use proofport_core::id::RequestId;
use sha2::{Digest as _, Sha256};
use std::fmt;
use zeroize::{Zeroize as _, Zeroizing};

/// Takes the bytes of a content and stores them chunk by chunk. In memory it has at most one plain
/// chunk, its sealed form while that is written, and a digest for each chunk. It keeps the journal's
/// file as any handle does. Dropped before [`ContentWriter::finish`], it removes what it wrote.
pub struct ContentWriter {
    journal: Journal,
    id: RequestId,
    /// Never more than a chunk; wiped once that is sealed.
    plain: Zeroizing<Vec<u8>>,
    whole: Sha256,
    bytes: u64,
    digests: Vec<Digest>,
    /// What the store holds against this content.
    charged: u64,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Writing,
    /// A write failed and the files were removed: what a failed sync left on disk is not known.
    Aborted,
    Complete,
}

impl fmt::Debug for ContentWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContentWriter")
            .field("id", &self.id)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

impl ContentWriter {
    pub(super) fn begin(journal: &Journal, id: &RequestId) -> Result<Self, JournalError> {
        let store = journal.store()?;
        store.claim(id)?;
        // From here on dropping it gives the claim up.
        let writer = Self {
            journal: journal.clone(),
            id: *id,
            plain: Zeroizing::new(Vec::with_capacity(CHUNK_BYTES)),
            whole: Sha256::new(),
            bytes: 0,
            digests: Vec::new(),
            charged: 0,
            state: State::Writing,
        };
        store.remove(id, None)?;
        store.make_folder(id)?;
        Ok(writer)
    }

    /// Takes more bytes. A chunk is on disk when it is full.
    ///
    /// # Errors
    /// [`JournalError::NoRoom`] when there is no space for it, [`JournalError::ContentTooLarge`], or when
    /// writing fails. After an error the content is removed and every further call fails.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), JournalError> {
        let pushed = self.take(bytes);
        self.abort_on_error(pushed)
    }

    /// Completes the content: it is on disk, and can be read, when this returns.
    ///
    /// # Errors
    /// As [`ContentWriter::push`].
    pub fn finish(mut self) -> Result<ContentFacts, JournalError> {
        let finished = self.complete();
        self.abort_on_error(finished)
    }

    fn take(&mut self, mut bytes: &[u8]) -> Result<(), JournalError> {
        self.still_writing()?;
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(CHUNK_BYTES - self.plain.len()));
            self.plain.extend_from_slice(now);
            if self.plain.len() == CHUNK_BYTES {
                self.store_chunk()?;
            }
            bytes = later;
        }
        Ok(())
    }

    fn complete(&mut self) -> Result<ContentFacts, JournalError> {
        self.still_writing()?;
        if !self.plain.is_empty() {
            self.store_chunk()?;
        }
        let facts = ContentFacts {
            bytes: self.bytes,
            digest: Digest::from_bytes(self.whole.finalize_reset().into()),
            chunks: self.number()?,
            chunk_bytes: CHUNK_BYTES as u32,
        };
        let shared = &self.journal.shared;
        let marker = marker::encode(&shared.authenticator, &shared.sealer, &self.id, &facts, &self.digests)?;
        self.journal.store()?.complete(&self.id, &marker, &mut self.charged)?;
        self.state = State::Complete;
        Ok(facts)
    }

    fn store_chunk(&mut self) -> Result<(), JournalError> {
        let number = self.number()?;
        if number == MOST_CHUNKS {
            return Err(JournalError::ContentTooLarge);
        }
        let sealed = self.journal.shared.sealer.seal(Slot::Chunk(&self.id, number), &self.plain)?;
        self.whole.update(&*self.plain);
        self.digests.push(Digest::of_bytes(&self.plain));
        self.bytes += self.plain.len() as u64;
        self.plain.zeroize();
        let store = self.journal.store()?;
        store.put(&store.chunk_path(&self.id, number), &sealed, &mut self.charged)
    }

    /// Of the next chunk.
    fn number(&self) -> Result<u32, JournalError> {
        u32::try_from(self.digests.len()).map_err(|_| JournalError::ContentTooLarge)
    }

    fn still_writing(&self) -> Result<(), JournalError> {
        match self.state {
            State::Writing => Ok(()),
            State::Aborted | State::Complete => Err(JournalError::ContentAborted),
        }
    }

    fn abort_on_error<T>(&mut self, done: Result<T, JournalError>) -> Result<T, JournalError> {
        if done.is_err() && self.state == State::Writing {
            self.abort();
        }
        done
    }

    fn abort(&mut self) {
        self.state = State::Aborted;
        self.plain.zeroize();
        let removed = self.journal.store().and_then(|store| store.remove(&self.id, Some(self.charged)));
        if let Err(error) = removed {
            tracing::error!(%error, "an incomplete result is left for the next sweep");
        }
    }

    /// What it holds of the content, in plain bytes.
    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.plain.capacity()
    }
}

impl Drop for ContentWriter {
    fn drop(&mut self) {
        if self.state == State::Writing {
            self.abort();
        }
        if let Ok(store) = self.journal.store() {
            store.give_up(&self.id);
        }
    }
}
