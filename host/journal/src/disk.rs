//! What may meet a full disk: the few calls on the file system that tests make fail.

use std::fs::File;
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

/// The file system below the files beside the journal.
pub(crate) trait Disk: Send + Sync {
    /// How many bytes an unprivileged process can still take where this folder is.
    fn free(&self, folder: &Path) -> io::Result<u64>;
    /// Makes the file this long, with blocks of its own.
    fn allocate(&self, file: &File, bytes: u64) -> io::Result<()>;
    /// Appends all of these bytes.
    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<()>;
    /// Returns when the file's bytes are on disk.
    fn sync(&self, file: &File) -> io::Result<()>;
}

/// The real one.
pub(crate) struct LocalDisk;

impl Disk for LocalDisk {
    fn free(&self, folder: &Path) -> io::Result<u64> {
        let facts = rustix::fs::statvfs(folder)?;
        Ok(facts.f_bavail.saturating_mul(facts.f_frsize))
    }

    fn allocate(&self, file: &File, bytes: u64) -> io::Result<()> {
        match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, bytes) {
            Ok(()) => Ok(()),
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => fill(file, bytes),
            Err(error) => Err(error.into()),
        }
    }

    fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<()> {
        file.write_all(bytes)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }
}

/// For file systems that can't allocate without writing. The bytes are random, since one that
/// compresses would give zeros no room at all.
pub(crate) fn fill(mut file: &File, bytes: u64) -> io::Result<()> {
    let mut block = vec![0; 64 * 1024];
    let mut left = bytes;
    while left > 0 {
        getrandom::fill(&mut block).map_err(io::Error::other)?;
        let size = usize::try_from(left).unwrap_or(block.len()).min(block.len());
        file.write_all(&block[..size])?;
        left -= size as u64;
    }
    file.sync_data()
}

/// Whether an error says that there is no space, or none for this user.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}
