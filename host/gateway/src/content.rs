//! Stored contents, as callers fetch them.

use crate::host::Host;
use proofport_core::content::ContentFacts;
use proofport_core::id::RequestId;
use proofport_journal::{Content, JournalError};

impl Host {
    /// The content of an invocation, if it is there and is the one on record.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn content(&self, id: &RequestId, recorded: &ContentFacts) -> Result<Option<Content>, JournalError> {
        let ContentFacts { bytes, digest, chunks, chunk_bytes } = *recorded;
        let is_it = |content: &Content| {
            let found = content.facts();
            (found.bytes, found.digest, found.chunks, found.chunk_bytes)
                == (bytes, digest, chunks, chunk_bytes)
        };
        Ok(self.broker().journal().content(id)?.filter(is_it))
    }
}
