//! Storage that counts, waits and fails on command.

use redb::backends::FileBackend;
use redb::{BackendError, StorageBackend};
use std::io;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};

#[derive(Debug, Default)]
pub(super) struct Probe {
    pub(super) syncs: AtomicU64,
    pub(super) writes: AtomicU64,
    /// How often the file was made larger; redb syncs once more for each.
    pub(super) grown: AtomicU64,
    pub(super) fail_syncs: AtomicBool,
    pub(super) fail_writes: AtomicBool,
    /// What fails says that the device is broken, and not that it is full.
    pub(super) broken: AtomicBool,
    gate: Mutex<Gate>,
    moved: Condvar,
}

#[derive(Debug, Default)]
struct Gate {
    closed: bool,
    somebody_waits: bool,
}

impl Probe {
    pub(super) fn close_gate(&self) {
        self.gate.lock().unwrap().closed = true;
    }

    pub(super) fn open_gate(&self) {
        self.gate.lock().unwrap().closed = false;
        self.moved.notify_all();
    }

    /// Returns when a sync stands before the closed gate.
    pub(super) fn wait_for_sync(&self) {
        let gate = self.gate.lock().unwrap();
        drop(self.moved.wait_while(gate, |gate| !gate.somebody_waits).unwrap());
    }

    fn pass(&self) {
        let mut gate = self.gate.lock().unwrap();
        gate.somebody_waits = gate.closed;
        self.moved.notify_all();
        let mut gate = self.moved.wait_while(gate, |gate| gate.closed).unwrap();
        gate.somebody_waits = false;
    }

    pub(super) fn syncs(&self) -> u64 {
        self.syncs.load(Ordering::SeqCst)
    }

    /// The syncs that were for commits and not for a larger file.
    pub(super) fn commit_syncs(&self) -> u64 {
        self.syncs() - self.grown.load(Ordering::SeqCst)
    }
}

#[derive(Debug)]
pub(super) struct Probed {
    pub(super) inner: FileBackend,
    pub(super) probe: Arc<Probe>,
}

impl Probe {
    fn refused(&self) -> io::Error {
        let broken = self.broken.load(Ordering::SeqCst);
        let kind = if broken { io::ErrorKind::Other } else { io::ErrorKind::StorageFull };
        io::Error::new(kind, "the probe refuses")
    }
}

type Edge = Bound<u64>;

impl StorageBackend for Probed {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.inner.read(offset, out)
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        if len > self.inner.len()? {
            self.probe.grown.fetch_add(1, Ordering::SeqCst);
        }
        self.inner.set_len(len)
    }
    fn sync_data(&self) -> io::Result<()> {
        self.probe.syncs.fetch_add(1, Ordering::SeqCst);
        self.probe.pass();
        if self.probe.fail_syncs.load(Ordering::SeqCst) {
            Err(self.probe.refused())
        } else {
            self.inner.sync_data()
        }
    }
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.probe.writes.fetch_add(1, Ordering::SeqCst);
        if self.probe.fail_writes.load(Ordering::SeqCst) {
            return Err(self.probe.refused());
        }
        self.inner.write(offset, data)
    }
    fn close(&self) -> io::Result<()> {
        self.inner.close()
    }
    fn try_lock_range(&self, start: Edge, end: Edge) -> Result<bool, BackendError> {
        self.inner.try_lock_range(start, end)
    }
    fn try_lock_shared_range(&self, start: Edge, end: Edge) -> Result<bool, BackendError> {
        self.inner.try_lock_shared_range(start, end)
    }
    fn lock_range(&self, start: Edge, end: Edge) -> Result<(), BackendError> {
        self.inner.lock_range(start, end)
    }
    fn lock_shared_range(&self, start: Edge, end: Edge) -> Result<(), BackendError> {
        self.inner.lock_shared_range(start, end)
    }
    fn unlock_range(&self, start: Edge, end: Edge) -> Result<(), BackendError> {
        self.inner.unlock_range(start, end)
    }
    fn query_lock_range(&self, start: Edge, end: Edge) -> Result<bool, BackendError> {
        self.inner.query_lock_range(start, end)
    }
}
