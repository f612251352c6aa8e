//! The handle: opening, appending, closing.

use crate::audit::{AuditOptions, Chain, Removal, Signers};
use crate::batch::{Batch, Committed};
use crate::disk::{Disk, LocalDisk};
use crate::error::JournalError;
use crate::fatal::FatalHook;
use crate::figures::CommitFigures;
use crate::files::{self, LockFile};
use crate::group::{End, Prepared};
use crate::keys::{Authenticator, JournalKeys};
use crate::results::Store;
use crate::room::{Reserve, Room};
use crate::seal::{Opener, Sealer};
use crate::tables;
use crate::upgrade;
use crate::writer::{Gauges, Order, Writer};
use proofport_core::secret::Secret;
use proofport_core::time::UnixMillis;
use redb::backends::FileBackend;
use redb::{Builder, Database, DatabaseError, StorageBackend};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// How the journal runs.
pub struct Options {
    /// The most memory for cached pages, in bytes. It fills as pages are used, not at the start.
    pub cache_bytes: usize,
    /// What ends the process when a commit fails.
    pub on_fatal: FatalHook,
    /// The size of the file that is kept in reserve for settling what is under way when the disk is
    /// full, in bytes; 0 for none, and then [`Journal::room`] is always enough.
    pub reserve_bytes: u64,
    /// The most bytes of all contents together, as stored.
    pub max_content_bytes_total: u64,
    /// How the audit log is written.
    pub audit: AuditOptions,
}

impl Default for Options {
    /// 64 MiB of cache, the process exits, 64 MiB in reserve, 4 GiB of contents, and the audit log as
    /// [`AuditOptions`] has it.
    fn default() -> Self {
        Self {
            cache_bytes: 64 * 1024 * 1024,
            on_fatal: FatalHook::exit(),
            reserve_bytes: 64 * 1024 * 1024,
            max_content_bytes_total: 4 * 1024 * 1024 * 1024,
            audit: AuditOptions::default(),
        }
    }
}

/// What is left of the options once the database is open.
struct Running {
    on_fatal: FatalHook,
    audit: AuditOptions,
}

impl Running {
    fn of(Options { on_fatal, audit, .. }: Options) -> Self {
        Self { on_fatal, audit }
    }
}

/// Counts since the journal was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Durable transactions.
    pub commits: u64,
    /// Batches in them, with those that rode along.
    pub appended_batches: u64,
    /// The most batches in one transaction.
    pub largest_group: u64,
    /// Batches that wait for a commit to ride along with; not durable yet.
    pub riding: u64,
}

/// A cheap handle to an open journal. The file is free again when the last handle is dropped.
#[derive(Clone)]
pub struct Journal {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    /// Present until this is dropped.
    database: Option<Arc<Database>>,
    pub(crate) path: PathBuf,
    pub(crate) authenticator: Authenticator,
    pub(crate) opener: Opener,
    pub(crate) sealer: Arc<Sealer>,
    pub(crate) signers: Arc<Signers>,
    gauges: Arc<Gauges>,
    orders: Sender<Order>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Held by who takes blocks out of the audit log.
    pub(crate) removing: tokio::sync::Mutex<()>,
    /// None on bare storage.
    pub(crate) beside: Option<Beside>,
    /// Released after the database is closed.
    lock: Option<Arc<LockFile>>,
}

/// What is kept in files beside the journal.
pub(crate) struct Beside {
    pub(crate) reserve: Arc<Reserve>,
    pub(crate) store: Store,
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal").field("path", &self.shared.path).finish_non_exhaustive()
    }
}

impl Journal {
    /// Opens the journal, or makes it. After a failed commit it is first rewritten to a new file.
    ///
    /// # Errors
    /// When another host has it, when it is another file or another vault's, damaged or altered at its
    /// end, or when the files can't be read or written.
    pub fn open(path: &Path, keys: JournalKeys, options: Options) -> Result<Self, JournalError> {
        Self::open_on(path, keys, options, Arc::new(LocalDisk))
    }

    /// How much space is kept in reserve beside the journal at this path, in bytes; 0: none.
    #[must_use]
    pub fn reserved(path: &Path) -> u64 {
        crate::room::found(path)
    }

    /// Like [`Journal::open`], with something between redb and the file: to count syncs or make them
    /// fail. What wraps must pass on the lock methods.
    ///
    /// # Errors
    /// As [`Journal::open`].
    pub fn open_wrapped<B: StorageBackend>(
        path: &Path,
        keys: JournalKeys,
        options: Options,
        wrap: impl FnOnce(FileBackend) -> B,
    ) -> Result<Self, JournalError> {
        let open = |builder: &Builder, file| builder.create_with_backend(wrap(file));
        Self::open_by(path, keys, options, Arc::new(LocalDisk), open)
    }

    /// Like [`Journal::open`], on a file system of which calls are watched or made to fail.
    ///
    /// # Errors
    /// As [`Journal::open`].
    pub fn open_on(
        path: &Path,
        keys: JournalKeys,
        options: Options,
        disk: Arc<dyn Disk>,
    ) -> Result<Self, JournalError> {
        let database = Arc::clone(&disk);
        let open = |builder: &Builder, file| database.database(builder, path, file);
        Self::open_by(path, keys, options, disk, open)
    }

    fn open_by(
        path: &Path,
        keys: JournalKeys,
        options: Options,
        disk: Arc<dyn Disk>,
        open: impl FnOnce(&Builder, FileBackend) -> Result<Database, DatabaseError>,
    ) -> Result<Self, JournalError> {
        let lock = LockFile::take(path, Arc::clone(&disk))?;
        let authenticator = Authenticator::new(&keys.event_mac);
        let reserve = Reserve::find(path, options.reserve_bytes, Arc::clone(&disk), lock.failed());
        files::prepare(path, &lock, &authenticator, options.cache_bytes, &*disk)?;
        let backend = files::file_backend(files::open_file(path)?, path)?;
        let database = files::open_database(options.cache_bytes, path, |builder| open(builder, backend))
            .inspect_err(|error| {
                // Opening writes too, so the same doubt applies.
                if matches!(error, JournalError::Io { .. }) {
                    lock.mark_failed();
                }
            })?;
        let reserve = Arc::new(reserve);
        // Only once the journal is open; until then the space may be needed for opening it.
        let _ = reserve.room();
        let store = Store::find(path, options.max_content_bytes_total, Arc::clone(&reserve), disk)?;
        let beside = Beside { reserve, store };
        Self::start(database, path.to_owned(), Some(lock), Some(beside), &keys, Running::of(options))
    }

    /// A journal on any storage, without the files beside it; empty storage is initialised.
    ///
    /// # Errors
    /// When the storage is in use, holds something else, or fails.
    pub fn open_with_backend(
        backend: impl StorageBackend,
        keys: JournalKeys,
        options: Options,
    ) -> Result<Self, JournalError> {
        let path = PathBuf::from("(storage backend)");
        let database =
            files::open_database(options.cache_bytes, &path, |builder| builder.create_with_backend(backend))?;
        if tables::is_empty(&database).map_err(files::storage)? {
            tables::initialise(&database, &Authenticator::new(&keys.event_mac)).map_err(files::storage)?;
        }
        Self::start(database, path, None, None, &keys, Running::of(options))
    }

    fn start(
        database: Database,
        path: PathBuf,
        lock: Option<LockFile>,
        beside: Option<Beside>,
        keys: &JournalKeys,
        Running { on_fatal, audit }: Running,
    ) -> Result<Self, JournalError> {
        let authenticator = Authenticator::new(&keys.event_mac);
        let signers = Arc::new(keys.audit.signers());
        let (database, end, epoch) = files::undamaged(&path, || {
            let version = tables::check(&database, &authenticator, &path)?;
            upgrade::to_newest(&database, version, &authenticator).inspect_err(|error| {
                // It writes, so the same doubt applies as after a commit.
                if matches!(error, JournalError::Storage(_)) {
                    lock.iter().for_each(LockFile::mark_failed);
                }
            })?;
            let chain = |state| Chain::new(state, &keys.audit, Arc::clone(&signers), audit);
            let end = End::read(&database, &authenticator, chain)?;
            let epoch = End::next_epoch(&database)?;
            Ok((database, end, epoch))
        })?;
        let sealer = Arc::new(Sealer::new(epoch, &keys.seal_recipient)?);
        let opener = Opener::new(keys.seal_identity.as_ref())?;
        let gauges = Arc::new(Gauges::default());
        gauges.high_water.store(end.high_water.0, Ordering::Release);
        let database = Arc::new(database);
        let lock = lock.map(Arc::new);
        let (orders, receiver) = mpsc::channel();
        let writer = Writer {
            database: Arc::clone(&database),
            path: path.clone(),
            lock: lock.clone(),
            authenticator: authenticator.clone(),
            sealer: Arc::clone(&sealer),
            end,
            gauges: Arc::clone(&gauges),
            reserve: beside.as_ref().map(|beside| Arc::clone(&beside.reserve)),
            fatal: on_fatal,
        };
        let thread = std::thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || writer.run(&receiver))
            .map_err(JournalError::io("start the writer of", &path))?;
        let thread = Mutex::new(Some(thread));
        let database = Some(database);
        let shared = Shared {
            database,
            path,
            authenticator,
            opener,
            sealer,
            signers,
            gauges,
            orders,
            thread,
            removing: tokio::sync::Mutex::new(()),
            beside,
            lock,
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Makes a batch durable. It is handed over when the returned future is first polled, and from then
    /// on it is written also if the future is dropped.
    ///
    /// # Errors
    /// When the batch is empty, too large or not an invocation's though it must be; when the journal is
    /// closed; [`JournalError::Failed`] when a commit failed, which ends the process.
    pub async fn append(&self, batch: Batch) -> Result<Committed, JournalError> {
        let prepared = Prepared::new(batch, &self.shared.sealer, &self.shared.authenticator)?;
        let (ack, done) = oneshot::channel();
        self.shared.order(Order::Append(prepared, ack))?;
        done.await.map_err(|_| self.shared.gone())
    }

    /// Queues a batch that is written with the next commit, or at the end, and never costs a commit of
    /// its own (but for a thousand waiting ones). Until then no reading shows it, and a crash loses it.
    pub fn ride_along(&self, batch: Batch) {
        let ordered = Prepared::new(batch, &self.shared.sealer, &self.shared.authenticator)
            .and_then(|prepared| self.shared.order(Order::RideAlong(prepared)));
        if let Err(error) = ordered {
            tracing::error!(%error, "a batch that was to ride along is lost");
        }
    }

    /// The latest time that any durable record has, over all restarts.
    #[must_use]
    pub fn high_water(&self) -> UnixMillis {
        UnixMillis(self.shared.gauges.high_water.load(Ordering::Acquire))
    }

    /// Counts since the journal was opened.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let Gauges { commits, batches, largest_group, riding, .. } = &*self.shared.gauges;
        Stats {
            commits: commits.load(Ordering::Relaxed),
            appended_batches: batches.load(Ordering::Relaxed),
            largest_group: largest_group.load(Ordering::Relaxed),
            riding: riding.load(Ordering::Relaxed),
        }
    }

    /// Commits by their size and duration, since the journal was opened.
    #[must_use]
    pub fn commit_figures(&self) -> CommitFigures {
        self.shared.gauges.figures.figures()
    }

    /// Whether new work may begin: whether there is space to settle it, whatever else fills the disk
    /// meanwhile. Gives the file in reserve back when space is short, and takes it again when there is
    /// enough, which blocks for the time of a sync. A journal on bare storage always has enough.
    #[must_use]
    pub fn room(&self) -> Room {
        self.shared.beside.as_ref().map_or(Room::Enough, |beside| beside.reserve.room())
    }

    /// Lets bodies be read, after the vault was unlocked.
    ///
    /// # Errors
    /// When it is no age X25519 identity.
    pub fn unlock_bodies(&self, identity: &Secret) -> Result<(), JournalError> {
        self.shared.opener.replace(Some(identity))
    }

    /// Forgets how to read bodies, when the vault is locked. They are still stored.
    pub fn lock_bodies(&self) {
        // Fails only on an identity that isn't one.
        let _ = self.shared.opener.replace(None);
    }

    /// Writes what waits and stops the writer, for every handle. The file is free when the last handle
    /// is dropped. Blocks for the time of a commit.
    ///
    /// # Errors
    /// When a commit failed.
    pub fn close(self) -> Result<(), JournalError> {
        self.shared.stop();
        match self.shared.gauges.failed.load(Ordering::Acquire) {
            true => Err(JournalError::Failed),
            false => Ok(()),
        }
    }
}

impl Shared {
    pub(crate) fn database(&self) -> Result<&Database, JournalError> {
        self.database.as_deref().ok_or(JournalError::Closed)
    }

    /// Has the writer take blocks out of the audit log.
    pub(crate) async fn remove_audit(&self, removal: Removal) -> Result<(), JournalError> {
        let (ack, done) = oneshot::channel();
        self.order(Order::RemoveAudit(removal, ack))?;
        done.await.map_err(|_| self.gone())
    }

    fn order(&self, order: Order) -> Result<(), JournalError> {
        self.orders.send(order).map_err(|_| self.gone())
    }

    fn gone(&self) -> JournalError {
        match self.gauges.failed.load(Ordering::Acquire) {
            true => JournalError::Failed,
            false => JournalError::Closed,
        }
    }

    fn stop(&self) {
        // Fails when the thread ended before.
        let _ = self.orders.send(Order::Close);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.stop();
        let Some(database) = self.database.take().and_then(Arc::into_inner) else { return };
        // Closing writes, too; nothing that was acknowledged depends on it, but what the page cache
        // shows afterwards may not be what the disk has.
        let closed = files::undamaged(&self.path, || files::close_database(database, &self.path));
        if let Err(error) = closed {
            tracing::error!(%error, "the journal was not closed cleanly");
            self.lock.iter().for_each(|lock| lock.mark_failed());
        }
    }
}
