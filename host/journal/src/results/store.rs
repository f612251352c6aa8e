//! The folder of contents: where files are, how many bytes they have, who is writing.

use super::{Keep, Swept};
use crate::disk::{Disk, Found};
use crate::error::JournalError;
use crate::files;
use crate::room::Reserve;
use proofport_core::id::RequestId;
use std::collections::HashSet;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const FOLDER: &str = "results";
const MARKER: &str = "complete";
const NEW_MARKER: &str = "complete.new";

pub(crate) struct Store {
    folder: PathBuf,
    /// The most bytes of all contents.
    limit: u64,
    reserve: Arc<Reserve>,
    disk: Arc<dyn Disk>,
    books: Mutex<Books>,
}

struct Books {
    /// What all files have, and what was charged for those that are being written.
    bytes: u64,
    /// Contents that somebody writes or removes.
    claimed: HashSet<RequestId>,
}

/// What a sweep found of one content.
enum Fate {
    Kept,
    Incomplete(u64),
    Unwanted(u64),
}

impl Store {
    /// Finds what is stored. The folder is made with the first content.
    pub(crate) fn find(
        journal: &Path,
        limit: u64,
        reserve: Arc<Reserve>,
        disk: Arc<dyn Disk>,
    ) -> Result<Self, JournalError> {
        let folder = files::folder_of(journal).join(FOLDER);
        let books = Mutex::new(Books { bytes: 0, claimed: HashSet::new() });
        let store = Self { folder, limit, reserve, disk, books };
        let mut bytes = 0_u64;
        for id in store.ids()? {
            bytes = bytes.saturating_add(measure(&store.folder_of(&id))?);
        }
        store.books().bytes = bytes;
        Ok(store)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.books().bytes
    }

    pub(super) fn folder_of(&self, id: &RequestId) -> PathBuf {
        self.folder.join(id.to_string())
    }

    pub(super) fn chunk_path(&self, id: &RequestId, number: u32) -> PathBuf {
        self.folder_of(id).join(format!("{number:08}.chunk"))
    }

    pub(super) fn marker_path(&self, id: &RequestId) -> PathBuf {
        self.folder_of(id).join(MARKER)
    }

    /// Only one at a time writes or removes a content.
    pub(super) fn claim(&self, id: &RequestId) -> Result<(), JournalError> {
        match self.books().claimed.insert(*id) {
            true => Ok(()),
            false => Err(JournalError::ContentBusy { path: self.folder_of(id) }),
        }
    }

    pub(super) fn give_up(&self, id: &RequestId) {
        self.books().claimed.remove(id);
    }

    pub(super) fn exclusively<T>(
        &self,
        id: &RequestId,
        work: impl FnOnce() -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        self.claim(id)?;
        let done = work();
        self.give_up(id);
        done
    }

    /// Makes the folder of a content. Its name is durable when this returns.
    pub(super) fn make_folder(&self, id: &RequestId) -> Result<(), JournalError> {
        for folder in [self.folder.clone(), self.folder_of(id)] {
            match self.disk.make_folder(&folder) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(JournalError::writing("create", &folder)(error)),
            }
            files::sync_folder(&*self.disk, &folder)?;
        }
        Ok(())
    }

    /// Writes a new file and syncs it. The bytes are charged before, and stay charged if this fails
    /// after that; `charged` says how much.
    pub(super) fn put(&self, path: &Path, bytes: &[u8], charged: &mut u64) -> Result<(), JournalError> {
        self.charge(bytes.len() as u64, path)?;
        *charged += bytes.len() as u64;
        let file = self.disk.create(path, Found::Refused).map_err(JournalError::writing("create", path))?;
        self.disk.write(path, &file, 0, bytes).map_err(JournalError::writing("write", path))?;
        self.disk.sync(path, &file).map_err(JournalError::writing("sync", path))
    }

    /// Writes the marker of a content whose chunks are on disk, and with it completes the content.
    pub(super) fn complete(
        &self,
        id: &RequestId,
        marker: &[u8],
        charged: &mut u64,
    ) -> Result<(), JournalError> {
        let (new, path) = (self.folder_of(id).join(NEW_MARKER), self.marker_path(id));
        // The chunks' names are durable before there can be a marker.
        files::sync_folder(&*self.disk, &path)?;
        self.put(&new, marker, charged)?;
        self.disk.rename(&new, &path).map_err(JournalError::writing("put in place", &path))?;
        files::sync_folder(&*self.disk, &path)
    }

    fn charge(&self, bytes: u64, path: &Path) -> Result<(), JournalError> {
        let no_room = || JournalError::NoRoom { path: path.to_owned() };
        if !self.reserve.admits(bytes) {
            return Err(no_room());
        }
        let mut books = self.books();
        let total = books.bytes.checked_add(bytes).filter(|total| *total <= self.limit);
        books.bytes = total.ok_or_else(no_room)?;
        Ok(())
    }

    /// Removes the files of a content that the caller has claimed, and says how many bytes they had.
    /// `charged` is what was charged for them where that may differ from what they have.
    ///
    /// The marker goes first, durably: a crash then leaves an incomplete content and no damaged one.
    pub(super) fn remove(&self, id: &RequestId, charged: Option<u64>) -> Result<u64, JournalError> {
        let folder = self.folder_of(id);
        let before = match charged {
            Some(charged) => charged,
            None => measure(&folder)?,
        };
        let removed = self.remove_files(id, &folder);
        let after = measure(&folder).unwrap_or(before);
        let freed = before.saturating_sub(after);
        let mut books = self.books();
        books.bytes = books.bytes.saturating_sub(freed);
        removed.map(|()| freed)
    }

    fn remove_files(&self, id: &RequestId, folder: &Path) -> Result<(), JournalError> {
        let marker = self.marker_path(id);
        match self.disk.remove(&marker) {
            Ok(()) => files::sync_folder(&*self.disk, &marker)?,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(JournalError::io("remove", &marker)(error)),
        }
        match self.disk.remove_folder(folder) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(JournalError::io("remove", folder)(error)),
        }
    }

    pub(super) fn sweep(&self, keep: impl Fn(&RequestId) -> Keep) -> Result<Swept, JournalError> {
        let mut swept = Swept::default();
        let mut first_error = None;
        for id in self.ids()? {
            match self.exclusively(&id, || self.sweep_one(&id, &keep)) {
                Ok(Fate::Kept) => swept.kept += 1,
                Ok(Fate::Incomplete(bytes)) => {
                    swept.incomplete += 1;
                    swept.bytes_freed += bytes;
                }
                Ok(Fate::Unwanted(bytes)) => {
                    swept.unwanted += 1;
                    swept.bytes_freed += bytes;
                }
                Err(JournalError::ContentBusy { .. }) => {}
                Err(error) => drop(first_error.get_or_insert(error)),
            }
        }
        first_error.map_or(Ok(swept), Err)
    }

    fn sweep_one(&self, id: &RequestId, keep: &impl Fn(&RequestId) -> Keep) -> Result<Fate, JournalError> {
        let marker = self.marker_path(id);
        let complete = marker.try_exists().map_err(JournalError::io("look for", &marker))?;
        if !complete {
            return self.remove(id, None).map(Fate::Incomplete);
        }
        match keep(id) {
            Keep::Keep => Ok(Fate::Kept),
            Keep::Remove => self.remove(id, None).map(Fate::Unwanted),
        }
    }

    /// Whose contents there are, complete or not. What has another name is not ours, and stays.
    fn ids(&self) -> Result<Vec<RequestId>, JournalError> {
        let failed = |error| JournalError::io("list", &self.folder)(error);
        let entries = match std::fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry.map_err(failed)?;
            let is_folder = entry.file_type().map_err(failed)?.is_dir();
            match entry.file_name().to_str().map(RequestId::parse) {
                Some(Ok(id)) if is_folder => found.push(id),
                Some(_) | None => tracing::warn!("the folder of results has an entry that is none"),
            }
        }
        Ok(found)
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The bytes of a folder's files; 0 where there is none.
fn measure(folder: &Path) -> Result<u64, JournalError> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(JournalError::io("list", folder)(error)),
    };
    let bytes = |entry: io::Result<std::fs::DirEntry>| Ok(entry?.metadata()?.len());
    entries.map(bytes).sum::<io::Result<u64>>().map_err(JournalError::io("measure", folder))
}
