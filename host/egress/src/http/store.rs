//! Content that is too large for memory, on its way through the guard to where it is stored.

use crate::guard::{Guard, GuardStream};
use proofport_core::digest::Digest;
use proofport_core::evidence::Cause;
use proofport_core::exchange::StoredContent;
use std::io;
use std::sync::Arc;

/// How much is gathered before it is looked at and handed on, in bytes.
const PORTION: usize = 256 * 1024;

/// Where content goes. Called from a thread that may block, in order, and never after an error.
pub trait ContentSink: Send + Sync {
    /// Takes the next bytes, masked.
    ///
    /// # Errors
    /// When they can't be stored.
    fn push(&self, bytes: &[u8]) -> io::Result<()>;

    /// Everything was taken.
    ///
    /// # Errors
    /// When it can't be made durable.
    fn finish(&self) -> io::Result<(u64, Digest)>;
}

/// Content on its way.
pub(crate) struct Storing {
    sink: Arc<dyn ContentSink>,
    guard: GuardStream,
    gathered: Vec<u8>,
    length: u64,
    most: u64,
}

impl Storing {
    pub(crate) fn new(sink: Arc<dyn ContentSink>, guard: Arc<Guard>, most: u64) -> Self {
        Self { sink, guard: GuardStream::new(guard), gathered: Vec::with_capacity(PORTION), length: 0, most }
    }

    pub(crate) async fn push(&mut self, bytes: &[u8]) -> Result<(), Cause> {
        self.length = self.length.saturating_add(bytes.len() as u64);
        if self.length > self.most {
            return Err(Cause::TooLarge);
        }
        self.gathered.extend_from_slice(bytes);
        if self.gathered.len() < PORTION {
            return Ok(());
        }
        let gathered = std::mem::replace(&mut self.gathered, Vec::with_capacity(PORTION));
        let out = self.guard.push(&gathered).map_err(|_| Cause::ContentNotStored)?.into_owned();
        self.hand_on(out).await
    }

    /// What was stored, and how many hits were masked in it.
    pub(crate) async fn finish(mut self) -> Result<(StoredContent, u32), Cause> {
        let gathered = std::mem::take(&mut self.gathered);
        let out = self.guard.push(&gathered).map_err(|_| Cause::ContentNotStored)?.into_owned();
        self.hand_on(out).await?;
        let guard = std::mem::replace(&mut self.guard, GuardStream::new(Arc::new(Guard::none())));
        let (rest, hits) = guard.finish().map_err(|_| Cause::ContentNotStored)?;
        self.hand_on(rest).await?;
        let sink = Arc::clone(&self.sink);
        let (bytes, digest) = blocking(move || sink.finish()).await?;
        Ok((StoredContent { bytes, digest }, hits))
    }

    async fn hand_on(&self, bytes: Vec<u8>) -> Result<(), Cause> {
        if bytes.is_empty() {
            return Ok(());
        }
        let sink = Arc::clone(&self.sink);
        blocking(move || sink.push(&bytes)).await
    }
}

/// Runs what may block where it disturbs nobody.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, Cause> {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => {
            tracing::warn!(%error, "content could not be stored");
            Err(Cause::ContentNotStored)
        }
        Err(_) => Err(Cause::ContentNotStored),
    }
}
