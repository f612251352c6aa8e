//! Connections that are kept for another exchange, and how many there may be. A kept one is handed out
//! only after a look at its socket, and nothing is resent on it behind its caller's back.

use super::open::Open;
use super::target::PoolLimits;
use proofport_core::digest::Digest;
use proofport_core::origin::Origin;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What a kept connection must agree in with what it is wanted for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) connection: String,
    pub(super) origin: Origin,
    pub(super) proxy: Option<(Origin, bool, Option<String>)>,
    pub(super) trust: Digest,
    pub(super) identity: Option<Digest>,
    pub(super) http2: bool,
}

impl Key {
    /// The same as a text, for stores that are kept by name.
    pub(super) fn text(&self) -> String {
        format!("{self:?}")
    }
}

/// All kept connections of a host.
#[derive(Default)]
pub(super) struct Pool(Mutex<HashMap<Key, Place>>);

struct Place {
    slots: Arc<Semaphore>,
    kept: Vec<Kept>,
}

struct Kept {
    open: Open,
    until: Instant,
}

/// The right to have one connection of a place. It ends when this is dropped.
pub(super) struct Slot {
    pool: Arc<Pool>,
    key: Key,
    idle: Duration,
    permit: OwnedSemaphorePermit,
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Place>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a slot; none if that takes longer than `patience`.
    pub(super) async fn slot(
        self: &Arc<Self>,
        key: Key,
        limits: PoolLimits,
        patience: Duration,
    ) -> Option<Slot> {
        let slots = {
            let mut places = self.lock();
            let place = places.entry(key.clone()).or_insert_with(|| Place {
                slots: Arc::new(Semaphore::new(limits.per_origin.max(1))),
                kept: Vec::new(),
            });
            Arc::clone(&place.slots)
        };
        // The semaphore is never closed, so an error could only be the deadline's.
        let permit = tokio::time::timeout(patience, slots.acquire_owned()).await.ok()?.ok()?;
        Some(Slot { pool: Arc::clone(self), key, idle: limits.idle, permit })
    }
}

impl Slot {
    /// The connection that was used last, of those that are kept.
    pub(super) fn take(&self) -> Option<Open> {
        let mut places = self.pool.lock();
        let now = Instant::now();
        let kept = &mut places.get_mut(&self.key)?.kept;
        kept.retain(|kept| kept.until > now);
        kept.pop().map(|kept| kept.open)
    }

    /// Keeps a connection for another exchange, and gives the slot back.
    pub(super) fn keep(self, open: Open) {
        let Self { pool, key, idle, permit } = self;
        if idle.is_zero() {
            return;
        }
        let now = Instant::now();
        let mut places = pool.lock();
        // Places that nobody uses any more go, so that old keys don't pile up.
        places.retain(|other, place| {
            place.kept.retain(|kept| kept.until > now);
            *other == key || !place.kept.is_empty() || Arc::strong_count(&place.slots) > 1
        });
        if let Some(place) = places.get_mut(&key) {
            place.kept.push(Kept { open, until: now + idle });
        }
        drop(places);
        drop(permit);
    }
}
