//! Connections that are kept for another exchange, and how many there may be. A kept one is handed out
//! only after a look at its socket, and nothing is resent on it behind its caller's back.

use super::open::Open;
use super::target::PoolLimits;
use proofport_core::digest::Digest;
use proofport_core::origin::Origin;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::Instant;

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
pub(super) struct Pool {
    places: Mutex<Places>,
    /// Wakes the sweeper: something is over sooner than what it waits for.
    sooner: Arc<Notify>,
}

#[derive(Default)]
struct Places {
    all: HashMap<Key, Place>,
    sweeper: Option<Sweeper>,
}

/// The task that closes what nobody has used for too long, on a quiet host too.
struct Sweeper {
    task: JoinHandle<()>,
    /// When it looks next.
    at: Instant,
}

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
    /// There until the drop.
    permit: Option<OwnedSemaphorePermit>,
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
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
            let place = places.all.entry(key.clone()).or_insert_with(|| Place {
                slots: Arc::new(Semaphore::new(limits.per_origin.max(1))),
                kept: Vec::new(),
            });
            Arc::clone(&place.slots)
        };
        // The semaphore is never closed, so an error could only be the deadline's.
        let permit = tokio::time::timeout(patience, slots.acquire_owned()).await.ok()?.ok()?;
        Some(Slot { pool: Arc::clone(self), key, idle: limits.idle, permit: Some(permit) })
    }

    /// How many connections are kept and not in use.
    pub(super) fn idle(&self) -> u64 {
        self.lock().all.values().map(|place| place.kept.len() as u64).sum()
    }

    /// Sees to it that somebody looks when this is over.
    fn wake_sweeper(self: &Arc<Self>, places: &mut Places, until: Instant) {
        match &mut places.sweeper {
            // A runtime that has ended took its tasks with it.
            Some(sweeper) if !sweeper.task.is_finished() => {
                if until < sweeper.at {
                    self.sooner.notify_one();
                }
            }
            Some(_) | None => {
                let task = tokio::spawn(sweep(Arc::downgrade(self), Arc::clone(&self.sooner)));
                places.sweeper = Some(Sweeper { task, at: until });
            }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // The sweeper finds that it is gone.
        self.sooner.notify_one();
    }
}

/// Closes what is over, again and again, for as long as there is a pool with anything in it.
async fn sweep(pool: Weak<Pool>, sooner: Arc<Notify>) {
    loop {
        let next = {
            let Some(pool) = pool.upgrade() else { return };
            let mut places = pool.lock();
            places.close_old();
            let next = places.all.values().flat_map(|place| &place.kept).map(|kept| kept.until).min();
            let Some(next) = next else {
                places.sweeper = None;
                return;
            };
            if let Some(sweeper) = &mut places.sweeper {
                sweeper.at = next;
            }
            next
        };
        // Whether it was woken or waited, it looks.
        let _ = tokio::time::timeout_at(next, sooner.notified()).await;
    }
}

impl Places {
    /// Closes what is over. Places that nobody uses any more go, so that old keys don't pile up.
    fn close_old(&mut self) {
        let now = Instant::now();
        self.all.retain(|_, place| {
            place.kept.retain(|kept| kept.until > now);
            place.is_used()
        });
    }
}

impl Place {
    /// Whether it keeps anything, or somebody has one of its slots or waits for one.
    fn is_used(&self) -> bool {
        !self.kept.is_empty() || Arc::strong_count(&self.slots) > 1
    }
}

impl Slot {
    /// The connection that was used last, of those that are kept.
    pub(super) fn take(&self) -> Option<Open> {
        let mut places = self.pool.lock();
        let now = Instant::now();
        let kept = &mut places.all.get_mut(&self.key)?.kept;
        kept.retain(|kept| kept.until > now);
        kept.pop().map(|kept| kept.open)
    }

    /// Keeps a connection for another exchange, and gives the slot back.
    pub(super) fn keep(self, open: Open) {
        if self.idle.is_zero() {
            return;
        }
        let mut places = self.pool.lock();
        let until = Instant::now() + self.idle;
        // The place is there for as long as one of its slots is.
        if let Some(place) = places.all.get_mut(&self.key) {
            place.kept.push(Kept { open, until });
            self.pool.wake_sweeper(&mut places, until);
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut places = self.pool.lock();
        // Under the lock, so that the last one sees that it is.
        self.permit = None;
        if places.all.get(&self.key).is_some_and(|place| !place.is_used()) {
            places.all.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests;
