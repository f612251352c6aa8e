//! Contents that are stored instead of shown: from the wire into the journal's store, a chunk at a time.

use crate::broker::Broker;
use crate::broker::Inner;
use proofport_core::content::ContentFacts;
use proofport_core::digest::Digest;
use proofport_core::event::ResultFacts;
use proofport_core::id::RequestId;
use proofport_egress::{ContentSink, Guard, GuardStream};
use proofport_journal::{ContentWriter, JournalError, Keep, Swept};
use std::borrow::Cow;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

impl Broker {
    /// Removes stored contents that are older than `keep_for`, that no record names, or that never became
    /// whole. For the start, when nothing is under way.
    ///
    /// # Errors
    /// When the store can't be read or written.
    pub fn sweep_contents(&self, keep_for: Duration) -> Result<Swept, JournalError> {
        let inner = self.inner();
        // By the clock alone: one that was ahead once must not have anything removed early.
        let now = inner.clock.now();
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
    /// Nothing came yet; what recognises the secrets that it is to be searched for.
    Nothing(Vec<Arc<Guard>>),
    Writing(Box<Writing>),
    Whole(ContentFacts),
    Failed,
}

struct Writing {
    writer: ContentWriter,
    guards: Vec<GuardStream>,
}

impl Storage {
    /// For an answer that is searched for the secrets that these guards recognise. A find makes it fail.
    pub(crate) fn new(inner: Arc<Inner>, id: RequestId, guards: Vec<Arc<Guard>>) -> Arc<Self> {
        Arc::new(Self { inner, id, state: Mutex::new(Stored::Nothing(guards)) })
    }

    /// How the content is made up, where all of it is on disk. From now on it is whoever's who asked.
    pub(crate) fn hand_over(&self) -> Option<ContentFacts> {
        let mut state = self.lock();
        match *state {
            Stored::Whole(facts) => {
                *state = Stored::Failed;
                Some(facts)
            }
            Stored::Nothing(_) | Stored::Writing(_) | Stored::Failed => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Stored> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is being written; it is begun if need be. Until it is put back, it has failed.
    fn take(&self) -> io::Result<Box<Writing>> {
        match std::mem::replace(&mut *self.lock(), Stored::Failed) {
            Stored::Nothing(guards) => {
                let writer = self.inner.journal.begin_content(&self.id).map_err(io::Error::other)?;
                let guards = guards.into_iter().map(GuardStream::new).collect();
                Ok(Box::new(Writing { writer, guards }))
            }
            Stored::Writing(writing) => Ok(writing),
            Stored::Whole(_) | Stored::Failed => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

impl Drop for Storage {
    /// A content that was written to its end while nobody waited any more is nobody's.
    fn drop(&mut self) {
        if matches!(*self.lock(), Stored::Whole(_))
            && let Err(error) = self.inner.journal.discard_content(&self.id)
        {
            tracing::warn!(id = %self.id, %error, "a content that nobody wants could not be removed");
        }
    }
}

/// A secret of another request of this invocation was found, or of its proxy.
fn withheld() -> io::Error {
    io::Error::other("it holds a secret")
}

impl ContentSink for Storage {
    fn push(&self, bytes: &[u8]) -> io::Result<()> {
        let mut writing = self.take()?;
        let mut bytes = Cow::Borrowed(bytes);
        for guard in &mut writing.guards {
            bytes = Cow::Owned(guard.push(&bytes).map_err(|_| withheld())?.into_owned());
        }
        writing.writer.push(&bytes).map_err(io::Error::other)?;
        *self.lock() = Stored::Writing(writing);
        Ok(())
    }

    fn finish(&self) -> io::Result<(u64, Digest)> {
        let Writing { mut writer, guards } = *self.take()?;
        let mut guards = guards.into_iter();
        while let Some(guard) = guards.next() {
            // What it held back has to pass those behind it, too.
            let (mut rest, hits) = guard.finish().map_err(|_| withheld())?;
            if hits > 0 {
                return Err(withheld());
            }
            for behind in guards.as_mut_slice() {
                rest = behind.push(&rest).map_err(|_| withheld())?.into_owned();
            }
            writer.push(&rest).map_err(io::Error::other)?;
        }
        let facts = writer.finish().map_err(io::Error::other)?;
        let facts = ContentFacts {
            bytes: facts.bytes,
            digest: facts.digest,
            chunks: facts.chunks,
            chunk_bytes: facts.chunk_bytes,
        };
        *self.lock() = Stored::Whole(facts);
        Ok((facts.bytes, facts.digest))
    }
}
