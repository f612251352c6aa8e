//! A file system that is as full as a test says.

use crate::disk::{Disk, LocalDisk};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

#[derive(Debug)]
pub(super) struct ScriptedDisk {
    /// What it says is free. It does not change by itself.
    pub(super) free: AtomicU64,
    pub(super) fail_free: AtomicBool,
    pub(super) fail_allocations: AtomicBool,
    /// A write stores half of its bytes and then meets the end of the disk.
    pub(super) fail_writes: AtomicBool,
    /// A sync meets an error of the device.
    pub(super) fail_syncs: AtomicBool,
}

impl ScriptedDisk {
    pub(super) fn with_free(free: u64) -> Self {
        Self {
            free: AtomicU64::new(free),
            fail_free: AtomicBool::new(false),
            fail_allocations: AtomicBool::new(false),
            fail_writes: AtomicBool::new(false),
            fail_syncs: AtomicBool::new(false),
        }
    }

    pub(super) fn set_free(&self, free: u64) {
        self.free.store(free, Ordering::SeqCst);
    }
}

fn full() -> io::Error {
    io::Error::new(ErrorKind::StorageFull, "the scripted disk is full")
}

impl Disk for ScriptedDisk {
    fn free(&self, _: &Path) -> io::Result<u64> {
        if self.fail_free.load(Ordering::SeqCst) {
            return Err(io::Error::other("the scripted disk does not say"));
        }
        Ok(self.free.load(Ordering::SeqCst))
    }

    fn allocate(&self, path: &Path, file: &File, bytes: u64) -> io::Result<()> {
        if self.fail_allocations.load(Ordering::SeqCst) {
            return Err(full());
        }
        LocalDisk.allocate(path, file, bytes)
    }

    fn write(&self, path: &Path, file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if self.fail_writes.load(Ordering::SeqCst) {
            LocalDisk.write(path, file, offset, &bytes[..bytes.len() / 2])?;
            return Err(full());
        }
        LocalDisk.write(path, file, offset, bytes)
    }

    fn sync(&self, path: &Path, file: &File) -> io::Result<()> {
        if self.fail_syncs.load(Ordering::SeqCst) {
            return Err(io::Error::other("the scripted disk is broken"));
        }
        LocalDisk.sync(path, file)
    }
}
