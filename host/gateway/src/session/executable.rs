//! Which program a process runs: the digest of exactly the file that it was started from.

use super::proc;
use proofport_core::digest::Digest;
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The largest executable that is told from another, in bytes.
const LARGEST: u64 = 4 * 1024 * 1024 * 1024;

/// How many digests are remembered.
const MOST: usize = 256;

/// A file that changed later than this before it was read may change again with the same time.
const SETTLED: Duration = Duration::from_secs(2);

/// The longest path that is kept, in bytes.
const LONGEST_PATH: usize = 1024;

/// A file's content as far as the file system tells.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Version {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// A program that a process runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Executable {
    /// Its digest.
    pub(crate) digest: Digest,
    /// Where it lay, as far as that is text.
    pub(crate) path: String,
}

/// Digests of executables; each version of a file is read once.
#[derive(Default)]
pub(crate) struct Executables {
    known: Mutex<HashMap<Version, Digest>>,
}

impl Executables {
    /// What the process with this number runs. Whoever asks sees to it that the number still is the same
    /// process's afterwards.
    ///
    /// # Errors
    /// When it is gone, or belongs to somebody whose processes can't be looked at.
    pub(crate) fn of_process(&self, pid: u32) -> io::Result<Executable> {
        let link = proc::executable(pid);
        let digest = self.digest(File::open(&link)?)?;
        Ok(Executable { digest, path: shown(&std::fs::read_link(&link)?) })
    }

    /// The digest of a file's content.
    pub(crate) fn digest(&self, mut file: File) -> io::Result<Digest> {
        let before = SystemTime::now();
        let version = version(&file)?;
        if let Some(known) = self.lock().get(&version) {
            return Ok(*known);
        }
        let mut hash = Sha256::new();
        let mut left = LARGEST;
        let mut buffer = vec![0; 1 << 16];
        loop {
            match file.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => {
                    left = left.checked_sub(read as u64).ok_or(io::ErrorKind::FileTooLarge)?;
                    hash.update(buffer.get(..read).unwrap_or_default());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let digest = Digest::from_bytes(hash.finalize().into());
        if version.is_settled(before) {
            let mut known = self.lock();
            if known.len() >= MOST {
                known.clear();
            }
            known.insert(version, digest);
        }
        Ok(digest)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Version, Digest>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Version {
    /// Whether a later change is sure to show in its times.
    fn is_settled(&self, now: SystemTime) -> bool {
        let changed =
            u64::try_from(self.changed.0).ok().map(|seconds| UNIX_EPOCH + Duration::from_secs(seconds));
        changed.is_some_and(|changed| now.duration_since(changed).is_ok_and(|age| age > SETTLED))
    }
}

fn version(file: &File) -> io::Result<Version> {
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok(Version {
        device: found.dev(),
        inode: found.ino(),
        size: found.size(),
        modified: (found.mtime(), found.mtime_nsec()),
        changed: (found.ctime(), found.ctime_nsec()),
    })
}

fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    let cut = (0..=LONGEST_PATH.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.get(..cut).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_has_another_digest() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        let executables = Executables::default();
        for content in ["one", "two", "one"] {
            std::fs::write(&path, content).unwrap();
            let digest = executables.digest(File::open(&path).unwrap()).unwrap();
            assert_eq!(digest, Digest::of_bytes(content.as_bytes()));
        }
        assert!(executables.lock().is_empty(), "a file that was written just now is not remembered");
    }

    #[test]
    fn this_process_runs_its_own_executable() {
        let executables = Executables::default();
        let own = std::env::current_exe().unwrap();
        let found = executables.of_process(std::process::id()).unwrap();
        assert_eq!(found.digest, Digest::of_bytes(&std::fs::read(&own).unwrap()));
        assert_eq!(found.path, own.to_str().unwrap());
    }

    #[test]
    fn a_long_path_is_cut_between_characters() {
        let check = |text: &str, expected: usize| assert_eq!(shown(Path::new(text)).len(), expected);
        check("/bin/x", 6);
        check(&"a".repeat(LONGEST_PATH + 9), LONGEST_PATH);
        check(&format!("a{}", "é".repeat(LONGEST_PATH)), LONGEST_PATH - 1);
    }
}
