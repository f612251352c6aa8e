//! The one thread that writes.

use crate::audit::Removal;
use crate::batch::Committed;
use crate::disk;
use crate::fatal::FatalHook;
use crate::figures::Commits;
use crate::files::LockFile;
use crate::group::{Besides, End, Prepared};
use crate::keys::Authenticator;
use crate::room::Reserve;
use crate::seal::Sealer;
use redb::Database;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Instant;
use tokio::sync::oneshot;

/// The most batches in one transaction: a bound on memory and on the first one's wait.
const LARGEST_GROUP: usize = 1024;
/// How many batches may wait for a commit to ride along with. More get one of their own, so that a
/// host that does nothing else doesn't grow.
const MOST_RIDING: usize = 1024;

/// What the thread is asked for.
pub(crate) enum Order {
    /// To be committed and acknowledged.
    Append(Prepared, oneshot::Sender<Committed>),
    /// To be committed with something else.
    RideAlong(Prepared),
    /// To be taken out of the audit log, and acknowledged.
    RemoveAudit(Removal, oneshot::Sender<()>),
    /// Commit what waits, and end.
    Close,
}

/// What the thread tells about itself.
#[derive(Default)]
pub(crate) struct Gauges {
    pub(crate) commits: AtomicU64,
    pub(crate) batches: AtomicU64,
    pub(crate) largest_group: AtomicU64,
    pub(crate) riding: AtomicU64,
    pub(crate) high_water: AtomicU64,
    pub(crate) failed: AtomicBool,
    pub(crate) figures: Commits,
}

pub(crate) struct Writer {
    pub(crate) database: Arc<Database>,
    pub(crate) path: PathBuf,
    pub(crate) lock: Option<Arc<LockFile>>,
    pub(crate) authenticator: Authenticator,
    pub(crate) sealer: Arc<Sealer>,
    pub(crate) end: End,
    pub(crate) gauges: Arc<Gauges>,
    /// None on bare storage.
    pub(crate) reserve: Option<Arc<Reserve>>,
    pub(crate) fatal: FatalHook,
}

/// Why a commit failed.
#[derive(Debug, thiserror::Error)]
enum Cause {
    /// There is no space.
    #[error("{0}")]
    Full(redb::Error),
    /// Something else.
    #[error("{0}")]
    Failed(redb::Error),
    /// The storage engine panicked, which leaves the same doubt.
    #[error("the storage engine panicked")]
    Panicked,
}

impl Cause {
    fn of(error: redb::Error) -> Self {
        let full = matches!(&error, redb::Error::Io(source) if disk::is_full(source));
        if full { Self::Full(error) } else { Self::Failed(error) }
    }
}

/// The batches of the next transaction.
#[derive(Default)]
struct Waiting {
    batches: Vec<(Prepared, Option<oneshot::Sender<Committed>>)>,
    /// Whether somebody waits for an acknowledgement.
    urgent: bool,
    closing: bool,
    removal: Option<(Removal, oneshot::Sender<()>)>,
}

impl Waiting {
    fn take(&mut self, order: Order) {
        match order {
            Order::Append(batch, ack) => {
                self.batches.push((batch, Some(ack)));
                self.urgent = true;
            }
            Order::RideAlong(batch) => self.batches.push((batch, None)),
            Order::RemoveAudit(removal, ack) => {
                // Whoever asked before asks again: that one was not taken out.
                self.removal = Some((removal, ack));
                self.urgent = true;
            }
            Order::Close => self.closing = true,
        }
    }
}

impl Writer {
    /// Runs until it is told to close, or a commit fails.
    pub(crate) fn run(mut self, orders: &Receiver<Order>) {
        let mut waiting = Waiting::default();
        loop {
            match orders.recv() {
                Ok(order) => waiting.take(order),
                Err(_) => waiting.closing = true,
            }
            // Whatever came while the last transaction was committed goes into the next one.
            while !waiting.closing && waiting.removal.is_none() && waiting.batches.len() < LARGEST_GROUP {
                match orders.try_recv() {
                    Ok(order) => waiting.take(order),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => waiting.closing = true,
                }
            }
            let due = waiting.urgent || waiting.closing || waiting.batches.len() >= MOST_RIDING;
            if !due {
                self.gauges.riding.store(waiting.batches.len() as u64, Ordering::Relaxed);
            } else if !waiting.batches.is_empty() || waiting.removal.is_some() || self.signs(waiting.closing)
            {
                let batches = std::mem::take(&mut waiting.batches);
                let (removal, removed) = waiting.removal.take().unzip();
                waiting.urgent = false;
                match self.commit(&batches, &Besides { closing: waiting.closing, removal }) {
                    // Only here, after the commit returned, does anybody learn of it.
                    Ok(committed) => {
                        acknowledge(batches, committed);
                        // Who went away meanwhile finds it in the audit log.
                        if let Some(removed) = removed {
                            let _ = removed.send(());
                        }
                    }
                    // Those who wait are dropped after the hook returned, which it does only in tests.
                    Err(cause) => return self.fail(&cause),
                }
            }
            if waiting.closing {
                return;
            }
        }
    }

    /// Whether the end of the process is worth a commit of its own: blocks of the audit log have no signature.
    const fn signs(&self, closing: bool) -> bool {
        closing && self.end.audit.wants_checkpoint()
    }

    fn commit(
        &mut self,
        batches: &[(Prepared, Option<oneshot::Sender<Committed>>)],
        besides: &Besides,
    ) -> Result<Vec<Committed>, Cause> {
        let Self { database, authenticator, sealer, end, gauges, reserve, .. } = self;
        reserve.iter().for_each(|reserve| reserve.release_if_short());
        let batches_only = batches.iter().map(|(batch, _)| batch);
        let write = || end.commit(database, authenticator, sealer, batches_only, besides);
        let since = Instant::now();
        // A panic in here leaves the same doubt as an error.
        let committed =
            catch_unwind(AssertUnwindSafe(write)).map_err(|_| Cause::Panicked)?.map_err(Cause::of)?;
        let size = batches.len() as u64;
        gauges.figures.committed(size, since.elapsed());
        gauges.commits.fetch_add(1, Ordering::Relaxed);
        gauges.riding.store(0, Ordering::Relaxed);
        gauges.batches.fetch_add(size, Ordering::Relaxed);
        gauges.largest_group.fetch_max(size, Ordering::Relaxed);
        gauges.high_water.store(end.high_water.0, Ordering::Release);
        Ok(committed)
    }

    /// Nothing is tried again: after a failed sync the kernel may call pages clean that never reached
    /// the disk, so a second success would prove nothing.
    fn fail(self, cause: &Cause) {
        self.gauges.failed.store(true, Ordering::Release);
        if let Some(lock) = &self.lock {
            lock.mark_failed();
        }
        let path = self.path.display();
        let advice = match cause {
            Cause::Full(_) => {
                "The disk is full. Free space for at least another journal of this size and start again: \
                 the journal is rewritten and recovers, and the record of what was under way will say \
                 unknown."
            }
            Cause::Failed(_) | Cause::Panicked => {
                "Check the disk and start again: the journal is rewritten and recovers."
            }
        };
        self.fatal.call(format!(
            "proofport: writing the journal {path} failed: {cause}. Nothing that was waiting was \
             acknowledged. {advice}"
        ));
    }
}

fn acknowledge(batches: Vec<(Prepared, Option<oneshot::Sender<Committed>>)>, committed: Vec<Committed>) {
    for ((_, ack), committed) in batches.into_iter().zip(committed) {
        if let Some(ack) = ack {
            // Who went away meanwhile finds it in the journal.
            let _ = ack.send(committed);
        }
    }
}
