//! Contents that are stored instead of shown: from the wire into the journal's store, a chunk at a time.

use crate::broker::Broker;
use crate::broker::Inner;
use proofport_core::content::ContentFacts;
use proofport_core::digest::Digest;
use proofport_core::event::ResultFacts;
use proofport_core::id::RequestId;
use proofport_egress::ContentSink;
use proofport_journal::{ContentWriter, JournalError, Keep, Swept};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

impl Broker {
    /// Removes stored contents that are older than `keep_for`, that no record names, or that never became
    /// whole. For the start, when nothing is under way.
    ///
    /// # Errors
    /// When the store can't be read or written.
    pub fn sweep_contents(&self, keep_for: Duration) -> Result<Swept, JournalError> {
        let inner = self.inner();
        let now = inner.now();
        let swept = inner.journal.sweep_contents(|id| match inner.state(id) {
            Ok(Some(state)) => match state.result {
                Some(ResultFacts::Output { content: Some(_), .. })
                    if now.seconds_since(state.accepted.at) < keep_for.as_secs() =>
                {
                    Keep::Keep
                }
                Some(
                    ResultFacts::Output { .. }
                    | ResultFacts::Nothing
                    | ResultFacts::Withheld
                    | ResultFacts::OverLimit,
                )
                | None => Keep::Remove,
            },
            Ok(None) => Keep::Remove,
            // What can't be judged stays.
            Err(_) => Keep::Keep,
        })?;
        if swept.incomplete + swept.unwanted > 0 {
            tracing::info!(?swept, "stored contents were removed");
        }
        Ok(swept)
    }
}

/// Where the content of one exchange's answer goes. Nothing is written before the first byte comes.
pub(crate) struct Storage {
    inner: Arc<Inner>,
    id: RequestId,
    state: Mutex<Stored>,
}

enum Stored {
    Nothing,
    Writing(Box<ContentWriter>),
    Whole(ContentFacts),
    Failed,
}

impl Storage {
    pub(crate) fn new(inner: Arc<Inner>, id: RequestId) -> Arc<Self> {
        Arc::new(Self { inner, id, state: Mutex::new(Stored::Nothing) })
    }

    /// How the content is made up, where all of it is on disk.
    pub(crate) fn facts(&self) -> Option<ContentFacts> {
        match &*self.state.lock().unwrap_or_else(PoisonError::into_inner) {
            Stored::Whole(facts) => Some(*facts),
            Stored::Nothing | Stored::Writing(_) | Stored::Failed => None,
        }
    }

    fn begin(&self) -> Result<Box<ContentWriter>, JournalError> {
        self.inner.journal.begin_content(&self.id).map(Box::new)
    }

    fn take(&self) -> Stored {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *state, Stored::Failed)
    }

    fn put(&self, stored: Stored) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = stored;
    }
}

impl ContentSink for Storage {
    fn push(&self, bytes: &[u8]) -> io::Result<()> {
        let mut writer = match self.take() {
            Stored::Nothing => self.begin().map_err(io::Error::other)?,
            Stored::Writing(writer) => writer,
            Stored::Whole(_) | Stored::Failed => return Err(io::ErrorKind::BrokenPipe.into()),
        };
        writer.push(bytes).map_err(io::Error::other)?;
        self.put(Stored::Writing(writer));
        Ok(())
    }

    fn finish(&self) -> io::Result<(u64, Digest)> {
        let writer = match self.take() {
            Stored::Nothing => self.begin().map_err(io::Error::other)?,
            Stored::Writing(writer) => writer,
            Stored::Whole(_) | Stored::Failed => return Err(io::ErrorKind::BrokenPipe.into()),
        };
        let facts = writer.finish().map_err(io::Error::other)?;
        let facts = ContentFacts {
            bytes: facts.bytes,
            digest: facts.digest,
            chunks: facts.chunks,
            chunk_bytes: facts.chunk_bytes,
        };
        self.put(Stored::Whole(facts));
        Ok((facts.bytes, facts.digest))
    }
}
