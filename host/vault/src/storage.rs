//! Reading and replacing the file so that a crash leaves the old one or the new one, whole.

use crate::error::VaultError;
use crate::file::VaultFile;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// The largest file that is read, in bytes.
pub(crate) const LARGEST_FILE: u64 = 16 * 1024 * 1024;

fn failed(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> VaultError {
    let path = path.to_owned();
    move |source| VaultError::Io { doing, path, source }
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        Some(_) | None => Path::new("."),
    }
}

/// Held while the file is read, changed and replaced, so that two processes don't lose each other's
/// changes. The lock is a file beside the vault, since the vault's own is replaced.
pub(crate) struct Exclusive {
    file: File,
}

impl Exclusive {
    pub(crate) fn take(vault: &Path) -> Result<Self, VaultError> {
        let mut name = vault.as_os_str().to_owned();
        name.push(".lock");
        let path = PathBuf::from(name);
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&path)
            .map_err(failed("open the lock file", &path))?;
        file.lock().map_err(failed("lock", &path))?;
        Ok(Self { file })
    }
}

impl Drop for Exclusive {
    /// Closing alone would not do: a child process between fork and exec has the same open file, and
    /// would keep the lock for that moment.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

pub(crate) fn read(path: &Path) -> Result<VaultFile, VaultError> {
    let file = File::open(path).map_err(|source| match source.kind() == io::ErrorKind::NotFound {
        true => VaultError::NotFound { path: path.to_owned() },
        false => failed("open", path)(source),
    })?;
    let mut bytes = Vec::new();
    file.take(LARGEST_FILE + 1).read_to_end(&mut bytes).map_err(failed("read", path))?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(VaultError::NotAVault { path: path.to_owned() });
    }
    VaultFile::decode(&bytes, path)
}

/// Whether an existing file may be replaced.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    New,
    Existing,
}

/// Writes beside the target, syncs, renames over it, and syncs the folder, so that the new name is as
/// durable as the new bytes. Mode 0600 from the beginning.
pub(crate) fn write(path: &Path, file: &VaultFile, target: Target) -> Result<(), VaultError> {
    let bytes = file.encode()?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(VaultError::Full);
    }
    let folder = folder(path);
    let mut temporary = tempfile::Builder::new()
        .prefix(".vault-")
        .suffix(".tmp")
        .tempfile_in(folder)
        .map_err(failed("create a file beside", path))?;
    temporary.write_all(&bytes).map_err(failed("write beside", path))?;
    temporary.as_file().sync_all().map_err(failed("sync the file beside", path))?;
    match target {
        Target::New => temporary.persist_noclobber(path).map_err(|error| {
            match error.error.kind() == io::ErrorKind::AlreadyExists {
                true => VaultError::AlreadyExists { path: path.to_owned() },
                false => failed("create", path)(error.error),
            }
        })?,
        Target::Existing => temporary.persist(path).map_err(|error| failed("replace", path)(error.error))?,
    };
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed("sync the folder of", path))
}
