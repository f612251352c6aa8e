//! Reading a content. Every chunk is checked before a byte of it is given out.

use super::{ContentFacts, marker};
use crate::error::{Damage, JournalError};
use crate::journal::Journal;
use crate::seal::{OVERHEAD, Slot};
use proofport_core::digest::Digest;
use proofport_core::id::RequestId;
use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use zeroize::Zeroizing;

/// A complete content. What it is made up of is known since it was found; locking the bodies ends reading
/// its chunks.
pub struct Content {
    journal: Journal,
    id: RequestId,
    facts: ContentFacts,
    digests: Vec<Digest>,
    wrapped: Vec<u8>,
}

/// How far a partial copy agrees with a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resume {
    /// The first chunk that is missing from it, or differs; the number of chunks where none does.
    pub chunk: u32,
    /// How many of its bytes are verified. Whatever follows them is not.
    pub bytes: u64,
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Content").field("id", &self.id).field("facts", &self.facts).finish_non_exhaustive()
    }
}

impl Content {
    pub(super) fn find(journal: &Journal, id: &RequestId) -> Result<Option<Self>, JournalError> {
        let path = journal.store()?.marker_path(id);
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(JournalError::io("open", &path)(error)),
        };
        let mut bytes = Vec::new();
        (&mut file)
            .take(marker::LARGEST + 1)
            .read_to_end(&mut bytes)
            .map_err(JournalError::io("read", &path))?;
        let damaged = |damage| JournalError::ContentDamaged { path: path.clone(), damage };
        if bytes.len() as u64 > marker::LARGEST {
            return Err(damaged(Damage::Length));
        }
        let shared = &journal.shared;
        let marker = marker::decode(&shared.authenticator, &shared.opener, id, &bytes)?
            .ok_or_else(|| damaged(Damage::Altered))?;
        let marker::Marker { facts, digests, wrapped } = marker;
        Ok(Some(Self { journal: journal.clone(), id: *id, facts, digests, wrapped }))
    }

    /// What it is made up of. A caller compares this with what it recorded.
    #[must_use]
    pub const fn facts(&self) -> &ContentFacts {
        &self.facts
    }

    /// The SHA-256 of a chunk's plain bytes; none beyond the last.
    #[must_use]
    pub fn chunk_digest(&self, number: u32) -> Option<Digest> {
        self.digests.get(usize::try_from(number).ok()?).copied()
    }

    /// The plain bytes of a chunk, counted from 0.
    ///
    /// # Errors
    /// [`JournalError::NoSuchChunk`] beyond the last; [`JournalError::BodiesLocked`];
    /// [`JournalError::ContentDamaged`] when the file is not what was stored;
    /// [`JournalError::ContentGone`] when the content was removed; when reading fails.
    pub fn chunk(&self, number: u32) -> Result<Zeroizing<Vec<u8>>, JournalError> {
        let digest = self.chunk_digest(number).ok_or(JournalError::NoSuchChunk { number })?;
        let shared = &self.journal.shared;
        if shared.opener.is_locked() {
            return Err(JournalError::BodiesLocked);
        }
        let path = self.journal.store()?.chunk_path(&self.id, number);
        let sealed = self.read(&path, self.length(number) + OVERHEAD)?;
        let wrapped = |_| Ok(Some(self.wrapped.clone()));
        let plain = shared.opener.open(Slot::Chunk(&self.id, number), &sealed, wrapped)?;
        // The digest tells a chunk from one that an earlier try stored in the same place.
        plain
            .filter(|plain| Digest::of_bytes(plain) == digest)
            .ok_or(JournalError::ContentDamaged { path, damage: Damage::Altered })
    }

    /// How far a partial copy of the content, as a caller has it, can be kept. It is read until it ends
    /// or differs, a chunk at a time.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn verified(&self, mut partial: impl Read) -> io::Result<Resume> {
        let mut resume = Resume { chunk: 0, bytes: 0 };
        let mut bytes = Zeroizing::new(Vec::with_capacity(self.length(0)));
        while let Some(digest) = self.chunk_digest(resume.chunk) {
            let length = self.length(resume.chunk);
            bytes.clear();
            (&mut partial).take(length as u64).read_to_end(&mut bytes)?;
            if Digest::of_bytes(&bytes) != digest {
                break;
            }
            resume.chunk += 1;
            resume.bytes += length as u64;
        }
        Ok(resume)
    }

    /// The plain length of a chunk that there is.
    fn length(&self, number: u32) -> usize {
        let size = u64::from(self.facts.chunk_bytes);
        let left = self.facts.bytes.saturating_sub(size * u64::from(number));
        // Not longer than a chunk, whose length has 32 bits.
        left.min(size) as usize
    }

    fn read(&self, path: &Path, length: usize) -> Result<Vec<u8>, JournalError> {
        let damaged = |damage| JournalError::ContentDamaged { path: path.to_owned(), damage };
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(self.gone()?.unwrap_or_else(|| damaged(Damage::Missing)));
            }
            Err(error) => return Err(JournalError::io("open", path)(error)),
        };
        let mut bytes = Vec::with_capacity(length);
        (&mut file)
            .take(length as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(JournalError::io("read", path))?;
        if bytes.len() == length { Ok(bytes) } else { Err(damaged(Damage::Length)) }
    }

    /// A removal takes the marker first.
    fn gone(&self) -> Result<Option<JournalError>, JournalError> {
        let store = self.journal.store()?;
        let marker = store.marker_path(&self.id);
        let there = marker.try_exists().map_err(JournalError::io("look for", &marker))?;
        Ok((!there).then(|| JournalError::ContentGone { path: store.folder_of(&self.id) }))
    }
}
