//! What redb gets for a watched file.

use crate::disk::Watched;
use crate::history::FileId;
use proofport_journal::{FileBackend, StorageBackend};
use redb::BackendError;
use std::io;
use std::ops::Bound;

#[derive(Debug)]
pub(crate) struct Backend {
    pub(crate) disk: Watched,
    pub(crate) id: FileId,
    pub(crate) file: FileBackend,
}

type Edge = Bound<u64>;

impl StorageBackend for Backend {
    fn len(&self) -> io::Result<u64> {
        self.disk.state().ask(true)?;
        self.file.len()
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.disk.state().ask(true)?;
        self.file.read(offset, out)
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.disk.state();
        state.ask(false)?;
        self.file.set_len(len)?;
        state.set_len(self.id, len);
        Ok(())
    }
    fn sync_data(&self) -> io::Result<()> {
        self.disk.state().sync(self.id)
    }
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut state = self.disk.state();
        let asked = state.ask(false);
        let data = if asked.is_ok() { data } else { &data[..data.len() / 2] };
        self.file.write(offset, data)?;
        state.write(self.id, offset, data);
        asked
    }
    fn close(&self) -> io::Result<()> {
        self.file.close()
    }
    fn try_lock_range(&self, start: Edge, end: Edge) -> Result<bool, BackendError> {
        self.file.try_lock_range(start, end)
    }
    fn try_lock_shared_range(&self, start: Edge, end: Edge) -> Result<bool, BackendError> {
        self.file.try_lock_shared_range(start, end)
    }
    fn lock_range(&self, start: Edge, end: Edge) -> Result<(), BackendError> {
        self.file.lock_range(start, end)
    }
    fn lock_shared_range(&self, start: Edge, end: Edge) -> Result<(), BackendError> {
        self.file.lock_shared_range(start, end)
    }
    fn unlock_range(&self, start: Edge, end: Edge) -> Result<(), BackendError> {
        self.file.unlock_range(start, end)
    }
    fn query_lock_range(&self, start: Edge, end: Edge) -> Result<bool, BackendError> {
        self.file.query_lock_range(start, end)
    }
}
