//! Every call that changed a disk, in order.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file, whatever its name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub(crate) usize);

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A file.
    File(FileId),
    /// A folder.
    Folder,
}

/// A call that changed something. Paths are relative to the disk's root.
#[derive(Clone, Debug)]
pub enum Call {
    /// Bytes were written there.
    Write {
        /// Into which file.
        file: FileId,
        /// From which byte on.
        offset: u64,
        /// What.
        bytes: Arc<[u8]>,
    },
    /// A file was made longer or shorter.
    SetLen {
        /// Which.
        file: FileId,
        /// Its new length.
        len: u64,
    },
    /// A file was synced.
    Sync(FileId),
    /// Syncing a file failed. What was not on disk may be lost, and no later sync brings it there.
    SyncFailed(FileId),
    /// Names of one folder got another meaning, or none; all of them at once.
    Names(Vec<(PathBuf, Option<Entry>)>),
    /// The names of a folder were synced.
    SyncFolder(PathBuf),
}

/// What was on disk at first, and what was done since.
#[derive(Clone, Debug, Default)]
pub struct History {
    pub(crate) files: Vec<Arc<[u8]>>,
    pub(crate) names: BTreeMap<PathBuf, Entry>,
    pub(crate) calls: Vec<Call>,
    next_file: usize,
}

impl History {
    /// Begins with the files and folders that are there, as if they were synced.
    ///
    /// # Panics
    /// When they can't be read.
    #[must_use]
    pub fn found(root: &Path) -> Self {
        let mut history = Self::default();
        history.find(root, root);
        history
    }

    fn find(&mut self, root: &Path, folder: &Path) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_owned();
            if path.is_dir() {
                self.names.insert(name, Entry::Folder);
                self.find(root, &path);
            } else {
                self.files.push(std::fs::read(&path).unwrap().into());
                let file = self.new_file();
                self.names.insert(name, Entry::File(file));
            }
        }
    }

    /// The same until a moment.
    #[must_use]
    pub fn until(&self, moment: usize) -> Self {
        Self { calls: self.calls[..moment].to_vec(), ..self.clone() }
    }

    /// How many calls there were: the latest moment. Moment 0 is before the first call.
    #[must_use]
    pub fn now(&self) -> usize {
        self.calls.len()
    }

    /// The calls.
    #[must_use]
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// The file that has this name, relative to the disk's root, synced or not.
    #[must_use]
    pub fn file(&self, path: &Path) -> Option<FileId> {
        match self.current_names().get(path) {
            Some(Entry::File(file)) => Some(*file),
            Some(Entry::Folder) | None => None,
        }
    }

    /// Whether a sync of this file failed since it was last empty.
    #[must_use]
    pub fn is_doubtful(&self, file: FileId) -> bool {
        let last = self.calls.iter().rev().find_map(|call| match call {
            Call::SyncFailed(failed) if *failed == file => Some(true),
            Call::SetLen { file: emptied, len: 0 } if *emptied == file => Some(false),
            Call::Write { .. }
            | Call::SetLen { .. }
            | Call::Sync(_)
            | Call::SyncFailed(_)
            | Call::Names(_)
            | Call::SyncFolder(_) => None,
        });
        last.unwrap_or(false)
    }

    pub(crate) fn new_file(&mut self) -> FileId {
        self.next_file += 1;
        FileId(self.next_file - 1)
    }

    /// What the names mean to whoever looks, synced or not.
    pub(crate) fn current_names(&self) -> BTreeMap<PathBuf, Entry> {
        let mut names = self.names.clone();
        for call in &self.calls {
            if let Call::Names(changes) = call {
                rename(&mut names, changes);
            }
        }
        names
    }
}

pub(crate) fn rename(names: &mut BTreeMap<PathBuf, Entry>, changes: &[(PathBuf, Option<Entry>)]) {
    for (path, entry) in changes {
        match entry {
            Some(entry) => drop(names.insert(path.clone(), *entry)),
            None => drop(names.remove(path)),
        }
    }
}
