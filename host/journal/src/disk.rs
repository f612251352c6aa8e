//! The file system below the journal: every call that changes it.

use redb::backends::FileBackend;
use redb::{Builder, Database, DatabaseError};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _};
use std::path::Path;

/// What the journal asks of the file system. Reading the files beside the database goes past it, so
/// whatever takes the place of one of these must leave real files behind. What isn't replaced is done
/// by the operating system; only tests replace anything: to watch, or to make a call fail.
///
/// Every change of a file goes through here, so that a test can take the power away after any of them.
pub trait Disk: Send + Sync {
    /// How many bytes an unprivileged process can still take where this folder is.
    ///
    /// # Errors
    /// When the file system doesn't say.
    fn free(&self, folder: &Path) -> io::Result<u64> {
        let facts = rustix::fs::statvfs(folder)?;
        Ok(facts.f_bavail.saturating_mul(facts.f_frsize))
    }

    /// Opens the database in this file, or initialises an empty one. A backend that stands between must
    /// pass on the lock methods.
    ///
    /// # Errors
    /// When redb refuses the file, or reading or writing it fails.
    fn database(&self, builder: &Builder, path: &Path, file: FileBackend) -> Result<Database, DatabaseError> {
        let _ = path;
        builder.create_with_backend(file)
    }

    /// Opens a file, for reading also, that only the owner may use.
    ///
    /// # Errors
    /// When it can't be opened, or is there and must not be.
    fn create(&self, path: &Path, found: Found) -> io::Result<File> {
        let mut how = OpenOptions::new();
        how.read(true).write(true).mode(0o600);
        match found {
            Found::Kept => how.create(true).truncate(false),
            Found::Emptied => how.create(true).truncate(true),
            Found::Refused => how.create_new(true),
        };
        how.open(path)
    }

    /// Makes the file this long, with blocks of its own.
    ///
    /// # Errors
    /// When there is no space.
    fn allocate(&self, path: &Path, file: &File, bytes: u64) -> io::Result<()> {
        let _ = path;
        match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, bytes) {
            Ok(()) => Ok(()),
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => fill(file, bytes),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes all of these bytes there.
    ///
    /// # Errors
    /// When there is no space, or writing fails; then some of them may be written.
    fn write(&self, path: &Path, file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let _ = path;
        file.write_all_at(bytes, offset)
    }

    /// Returns when the file's bytes and length are on disk. Its name may not be.
    ///
    /// # Errors
    /// When they may not be on disk. A later success doesn't say that they are.
    fn sync(&self, path: &Path, file: &File) -> io::Result<()> {
        let _ = path;
        file.sync_all()
    }

    /// Gives a file another name in the same folder, in place of the file that has it.
    ///
    /// # Errors
    /// When that fails; then nothing was done.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    /// Removes a file.
    ///
    /// # Errors
    /// When it isn't there, or can't be removed.
    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    /// Makes a folder that only the owner may use.
    ///
    /// # Errors
    /// When it is there, or can't be made.
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        DirBuilder::new().mode(0o700).create(path)
    }

    /// Removes a folder and what is in it.
    ///
    /// # Errors
    /// When it isn't there, or something can't be removed; then the rest may be.
    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_dir_all(path)
    }

    /// Returns when the names in this folder are on disk.
    ///
    /// # Errors
    /// When they may not be.
    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }
}

/// What becomes of a file that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// It is opened with its bytes.
    Kept,
    /// It is opened, and its bytes are gone.
    Emptied,
    /// It is an error.
    Refused,
}

/// The operating system's.
pub(crate) struct LocalDisk;

impl Disk for LocalDisk {}

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
