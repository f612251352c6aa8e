//! A file under redb that counts what reaches it.

use redb::{BackendError, StorageBackend};
use std::io;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How often the file was synced.
#[derive(Clone, Debug, Default)]
pub struct Syncs(Arc<AtomicU64>);

impl Syncs {
    /// Since the file was opened.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

/// Passes everything on and counts syncs. The lock methods must be passed on too: their defaults
/// would silently give up exclusivity.
#[derive(Debug)]
pub struct Counting<B> {
    inner: B,
    syncs: Syncs,
    pass_on: bool,
}

impl<B> Counting<B> {
    /// Counts into `syncs`. Unless `pass_on`, syncs are counted and not carried out.
    pub const fn new(inner: B, syncs: Syncs, pass_on: bool) -> Self {
        Self { inner, syncs, pass_on }
    }
}

impl<B: StorageBackend> StorageBackend for Counting<B> {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.inner.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.inner.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.syncs.0.fetch_add(1, Ordering::AcqRel);
        if self.pass_on { self.inner.sync_data() } else { Ok(()) }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.inner.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.inner.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.inner.try_lock_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.inner.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.inner.query_lock_range(start, end)
    }
}
