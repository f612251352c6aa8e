//! The files around the database: creation, the lock, and the rewrite after a failed commit.

use crate::disk::{Disk, Found};
use crate::error::JournalError;
use crate::keys::Authenticator;
use crate::tables;
use crate::upgrade;
use crate::verify;
use redb::backends::FileBackend;
use redb::{Builder, Database, DatabaseError, StorageError};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::FileExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const MAGIC: &[u8; 9] = b"redb\x1A\x0A\xA9\x0D\x0A";
const SERVING: &[u8; 8] = b"serving\n";
const FAILED: &[u8; 8] = b"failed \n";

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// The folder that holds this file.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        Some(_) | None => Path::new("."),
    }
}

/// Makes the names in the folder of this file durable.
pub(crate) fn sync_folder(disk: &dyn Disk, path: &Path) -> Result<(), JournalError> {
    let folder = folder_of(path);
    disk.sync_folder(folder).map_err(JournalError::io("sync the folder", folder))
}

/// The file beside the journal that one process holds for as long as it has the journal, also while
/// the journal's own file is replaced. It also says whether a commit failed: the bytes for that are
/// there beforehand, so that writing them needs no space on a disk that just refused some. They need
/// not reach the disk. The mark is for the page cache, which after a failed sync may show what the disk
/// doesn't have; if the machine went down in between, that cache is gone, and so is the danger.
pub(crate) struct LockFile {
    path: PathBuf,
    file: File,
    disk: Arc<dyn Disk>,
}

impl LockFile {
    pub(crate) fn take(journal: &Path, disk: Arc<dyn Disk>) -> Result<Self, JournalError> {
        let path = beside(journal, ".lock");
        let file = disk.create(&path, Found::Kept).map_err(JournalError::io("open", &path))?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => JournalError::AlreadyOpen { path: journal.to_owned() },
            TryLockError::Error(source) => JournalError::io("lock", &path)(source),
        })?;
        let lock = Self { path, file, disk };
        if lock.read().map_err(JournalError::io("read", &lock.path))? != FAILED {
            lock.write(SERVING).map_err(JournalError::io("write", &lock.path))?;
        }
        Ok(lock)
    }

    fn read(&self) -> Result<Vec<u8>, std::io::Error> {
        let mut bytes = Vec::new();
        (&self.file).take(8).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn write(&self, state: &[u8]) -> Result<(), std::io::Error> {
        self.disk.write(&self.path, &self.file, 0, state)?;
        self.disk.sync(&self.path, &self.file)
    }

    pub(crate) fn failed(&self) -> bool {
        let mut state = [0; 8];
        self.file.read_exact_at(&mut state, 0).is_ok_and(|()| &state == FAILED)
    }

    /// As well as it can be done: the disk may take nothing any more.
    pub(crate) fn mark_failed(&self) {
        let _ = self.write(FAILED);
    }

    fn clear(&self, journal: &Path) -> Result<(), JournalError> {
        self.write(SERVING).map_err(JournalError::io("write the lock file of", journal))
    }
}

impl Drop for LockFile {
    /// Closing alone would not do: a child process between fork and exec has the same open file, and
    /// would keep the lock for that moment.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

/// Makes the journal if there is none, and rewrites it if a commit failed when it was last open.
pub(crate) fn prepare(
    path: &Path,
    lock: &LockFile,
    authenticator: &Authenticator,
    cache_bytes: usize,
    disk: &dyn Disk,
) -> Result<(), JournalError> {
    let exists = path.try_exists().map_err(JournalError::io("look for", path))?;
    if !exists {
        replace(path, disk, |new_path, new| {
            let database = open_beside(new_path, new, cache_bytes, path, disk)?;
            tables::initialise(&database, authenticator).map_err(storage)?;
            close_database(database, path)
        })?;
    } else {
        // Whoever gave the file its name may have died before the name was on disk. Without it a power
        // loss would take everything that is acknowledged from here on.
        sync_folder(disk, path)?;
    }
    if lock.failed() {
        if exists {
            tracing::warn!("a commit failed when the journal was last open; rewriting it");
            replace(path, disk, |new_path, new| {
                undamaged(path, || rewrite(path, new_path, new, authenticator, cache_bytes, disk))
            })?;
        }
        lock.clear(path)?;
    }
    Ok(())
}

fn rewrite(
    path: &Path,
    new_path: &Path,
    new: File,
    authenticator: &Authenticator,
    cache_bytes: usize,
    disk: &dyn Disk,
) -> Result<(), JournalError> {
    let old = open_beside(path, open_file(path)?, cache_bytes, path, disk)?;
    let version = tables::check(&old, authenticator, path)?;
    let database = open_beside(new_path, new, cache_bytes, path, disk)?;
    tables::copy_all(&old, version, &database).map_err(storage)?;
    upgrade::to_newest(&database, version, authenticator)?;
    verify::whole(&database, authenticator)?;
    // Closing syncs, too. Dropping would swallow a failure, and the sync that follows would prove nothing.
    close_database(database, path)
}

/// Fills a new file beside the journal, syncs it, and gives it the journal's name.
fn replace(
    path: &Path,
    disk: &dyn Disk,
    fill: impl FnOnce(&Path, File) -> Result<(), JournalError>,
) -> Result<(), JournalError> {
    let new_path = beside(path, ".new");
    let new = disk.create(&new_path, Found::Emptied).map_err(JournalError::io("create", &new_path))?;
    let keep = new.try_clone().map_err(JournalError::io("create", &new_path))?;
    fill(&new_path, new)?;
    disk.sync(&new_path, &keep).map_err(JournalError::io("sync", &new_path))?;
    disk.rename(&new_path, path).map_err(JournalError::io("put in place", path))?;
    sync_folder(disk, path)
}

/// Opens the journal's file, and refuses one that is no database before redb looks at it.
pub(crate) fn open_file(path: &Path) -> Result<File, JournalError> {
    let mut file =
        OpenOptions::new().read(true).write(true).open(path).map_err(JournalError::io("open", path))?;
    let mut magic = Vec::new();
    (&mut file).take(MAGIC.len() as u64).read_to_end(&mut magic).map_err(JournalError::io("read", path))?;
    if magic == MAGIC { Ok(file) } else { Err(JournalError::NotAJournal { path: path.to_owned() }) }
}

pub(crate) fn file_backend(file: File, path: &Path) -> Result<FileBackend, JournalError> {
    FileBackend::new(file).map_err(|error| refused(error, path))
}

/// redb trusts its pages and may panic on damaged ones; that is an error of the file, and the host ends
/// only where a destructor of redb panics on top.
pub(crate) fn undamaged<T>(
    path: &Path,
    read: impl FnOnce() -> Result<T, JournalError>,
) -> Result<T, JournalError> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| {
        Err(JournalError::Corrupt { path: path.to_owned(), what: "its pages".to_owned() })
    })
}

/// Opens a database, or initialises an empty one.
pub(crate) fn open_database(
    cache_bytes: usize,
    path: &Path,
    open: impl FnOnce(&Builder) -> Result<Database, DatabaseError>,
) -> Result<Database, JournalError> {
    let mut builder = Builder::new();
    builder.set_cache_size(cache_bytes);
    undamaged(path, || open(&builder).map_err(|error| refused(error, path)))
}

/// Opens the database in a file that is the journal, or will be.
fn open_beside(
    file_path: &Path,
    file: File,
    cache_bytes: usize,
    journal: &Path,
    disk: &dyn Disk,
) -> Result<Database, JournalError> {
    let backend = file_backend(file, journal)?;
    open_database(cache_bytes, journal, |builder| disk.database(builder, file_path, backend))
}

/// Closes a database and says whether that went well, which dropping it doesn't.
pub(crate) fn close_database(database: Database, path: &Path) -> Result<(), JournalError> {
    database.close().map_err(|error| refused(error, path))
}

fn refused(error: DatabaseError, path: &Path) -> JournalError {
    let path = path.to_owned();
    if let DatabaseError::DatabaseAlreadyOpen = error {
        return JournalError::AlreadyOpen { path };
    }
    if let DatabaseError::Storage(StorageError::Io(source)) = error {
        let damage = matches!(source.kind(), ErrorKind::UnexpectedEof | ErrorKind::InvalidData);
        return match damage {
            true => JournalError::Corrupt { path, what: source.to_string() },
            false => JournalError::io("open", &path)(source),
        };
    }
    JournalError::Corrupt { path, what: error.to_string() }
}

pub(crate) fn storage(error: redb::Error) -> JournalError {
    JournalError::Storage(Box::new(error))
}
