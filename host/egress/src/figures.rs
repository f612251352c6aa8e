//! How many connections there are and were: plain counters, and nothing about where they lead.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Connections since the start of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionFigures {
    /// Connections that could be used: set up to their end, the peer verified.
    pub opened: u64,
    /// Those of them that are closed again.
    pub closed: u64,
    /// How often a kept connection was handed out again. Over SSH none is kept.
    pub reused: u64,
    /// Connections that are kept and not in use.
    pub idle: u64,
}

impl ConnectionFigures {
    /// Connections that are open, in use or kept.
    #[must_use]
    pub const fn open(&self) -> u64 {
        self.opened.saturating_sub(self.closed)
    }
}

/// What is counted while connections come and go.
#[derive(Default)]
pub(crate) struct Counters {
    opened: AtomicU64,
    closed: AtomicU64,
    reused: AtomicU64,
}

/// An open connection, counted as closed when this is dropped.
pub(crate) struct Counted(Arc<Counters>);

impl Counters {
    /// A connection can be used.
    pub(crate) fn opened(self: &Arc<Self>) -> Counted {
        self.opened.fetch_add(1, Ordering::Relaxed);
        Counted(Arc::clone(self))
    }

    /// A kept connection was handed out.
    pub(crate) fn reused(&self) {
        self.reused.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn figures(&self, idle: u64) -> ConnectionFigures {
        // Closed ones are read first, so that none of them is missing among those that were opened.
        let closed = self.closed.load(Ordering::Acquire);
        let (opened, reused) = (self.opened.load(Ordering::Relaxed), self.reused.load(Ordering::Relaxed));
        ConnectionFigures { opened, closed, reused, idle }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.closed.fetch_add(1, Ordering::Release);
    }
}
