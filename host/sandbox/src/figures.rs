//! What a sandbox counts: where its modules came from, and the guests that run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of a sandbox, from zero when it was made. They outlive it.
#[derive(Debug, Default)]
pub struct Figures {
    compiled: AtomicU64,
    from_cache: AtomicU64,
    running: AtomicU64,
}

impl Figures {
    /// Modules that were compiled.
    #[must_use]
    pub fn compiled(&self) -> u64 {
        self.compiled.load(Ordering::Relaxed)
    }

    /// Modules whose code was compiled before, and found in the cache.
    #[must_use]
    pub fn from_cache(&self) -> u64 {
        self.from_cache.load(Ordering::Relaxed)
    }

    /// Instances that run right now.
    #[must_use]
    pub fn running(&self) -> u64 {
        self.running.load(Ordering::Relaxed)
    }

    pub(crate) fn count_compiled(&self) {
        self.compiled.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_from_cache(&self) {
        self.from_cache.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts an instance until the guard is dropped.
    pub(crate) fn run(self: &Arc<Self>) -> Instance {
        self.running.fetch_add(1, Ordering::Relaxed);
        Instance(Arc::clone(self))
    }
}

/// An instance that runs.
pub(crate) struct Instance(Arc<Figures>);

impl Drop for Instance {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}
