//! Whether there is room for new work, and the space that is kept for the end of old work.
//!
//! What was dispatched must still be settled when the disk is full. So a file of real blocks is kept
//! beside the journal while there is space, and removed when there is little: then the commits of what
//! is under way find the room that the file took. It is taken again when twice its size is free, so that
//! taking it doesn't make space short again.

use crate::disk::{Disk, Found};
use crate::files;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Whether new work may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// There is space for it, and for settling it.
    Enough,
    /// Only what is under way may go on.
    Short,
}

/// How many bytes the file in reserve beside this journal has; 0 where there is none.
pub(crate) fn found(journal: &Path) -> u64 {
    let file = std::fs::symlink_metadata(journal.with_extension("reserve"));
    file.ok().filter(std::fs::Metadata::is_file).map_or(0, |file| file.len())
}

/// The file in reserve.
pub(crate) struct Reserve {
    path: PathBuf,
    /// Its size; 0 where none is kept, and then room is never short.
    bytes: u64,
    disk: Arc<dyn Disk>,
    state: Mutex<State>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// The file has its blocks.
    Held,
    /// The file is not there.
    Released,
}

impl Reserve {
    /// Finds what an earlier process left, and gives it back at once where space is short or
    /// `needed_now`: opening writes, too, and rewriting takes the journal's size again.
    pub(crate) fn find(journal: &Path, bytes: u64, disk: Arc<dyn Disk>, needed_now: bool) -> Self {
        let path = journal.with_extension("reserve");
        let whole = std::fs::symlink_metadata(&path)
            .is_ok_and(|file| file.is_file() && file.len() == bytes && file.blocks() * 512 >= bytes);
        let reserve = Self { path, bytes, disk, state: Mutex::new(State::Held) };
        if bytes == 0 || needed_now || !whole {
            reserve.release(&mut reserve.lock());
        } else {
            reserve.release_if_short();
        }
        reserve
    }

    /// Whether new work may begin; releases the file or takes it again, as the free space asks for.
    pub(crate) fn room(&self) -> Room {
        if self.bytes == 0 {
            return Room::Enough;
        }
        let mut state = self.lock();
        let free = self.free();
        match *state {
            State::Held if free >= self.bytes => Room::Enough,
            State::Held => {
                self.release(&mut state);
                Room::Short
            }
            State::Released if free >= self.bytes.saturating_mul(2) => match self.take() {
                Ok(()) => {
                    *state = State::Held;
                    tracing::info!("space is kept in reserve");
                    Room::Enough
                }
                Err(error) => {
                    tracing::warn!(%error, "no space could be kept in reserve");
                    self.release(&mut state);
                    Room::Short
                }
            },
            State::Released => Room::Short,
        }
    }

    /// Before a commit: others may have filled the disk since room was asked for.
    pub(crate) fn release_if_short(&self) {
        let mut state = self.lock();
        if self.bytes > 0 && *state == State::Held && self.free() < self.bytes {
            self.release(&mut state);
        }
    }

    /// Whether so many bytes may be stored that no commit depends on. They may use neither the space
    /// that was released for commits, nor so much that it would have to be: a reserve's worth is left to
    /// the journal's own growth, their settlements first of all.
    pub(crate) fn admits(&self, bytes: u64) -> bool {
        let left = self.bytes.saturating_mul(2);
        self.bytes == 0 || self.room() == Room::Enough && self.free() >= left.saturating_add(bytes)
    }

    /// A file system that doesn't say counts as full.
    fn free(&self) -> u64 {
        let free = self.disk.free(files::folder_of(&self.path));
        free.unwrap_or_else(|error| {
            tracing::error!(%error, "the file system doesn't say how much space is free");
            0
        })
    }

    fn take(&self) -> io::Result<()> {
        let file = self.disk.create(&self.path, Found::Emptied)?;
        self.disk.allocate(&self.path, &file, self.bytes)?;
        self.disk.sync(&self.path, &file)
    }

    fn release(&self, state: &mut State) {
        *state = State::Released;
        match self.disk.remove(&self.path) {
            Ok(()) => {
                tracing::warn!("the space that was kept in reserve is released");
                // Some file systems give blocks back only once the removal is on disk.
                if let Err(error) = self.disk.sync_folder(files::folder_of(&self.path)) {
                    tracing::error!(%error, "the released space may not be free at once");
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => tracing::error!(%error, "the space in reserve could not be released"),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
