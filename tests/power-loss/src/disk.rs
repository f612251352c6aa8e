//! A disk that writes down what is done to it.

use crate::backend::Backend;
use crate::fault::Plan;
use crate::history::{Call, Entry, FileId, History, rename};
use proofport_journal::{Disk, FileBackend, Found};
use redb::{Builder, Database, DatabaseError};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Error};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A folder in which every call goes through to real files and is written down. Syncs are only written
/// down: what they are for is what a [`History`] knows, and a test is no slower than memory.
///
/// Clones watch the same folder together.
#[derive(Clone, Debug)]
pub struct Watched {
    root: PathBuf,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) history: History,
    names: BTreeMap<PathBuf, Entry>,
    /// How many calls there were, with those that read.
    asked: u64,
    plan: Option<Plan>,
    /// Whether syncs do what they say. A disk on which they don't shows that a test can fail.
    ignores_syncs: bool,
}

/// The operating system's.
struct Real;
impl Disk for Real {}

impl Watched {
    /// Watches a folder. What is there is on disk.
    #[must_use]
    pub fn folder(root: &Path) -> Self {
        Self::after(root, History::found(root))
    }

    /// Watches a folder in which a process died, and the machine did not: what was not synced is there,
    /// and can still be lost. The folder holds what [`crate::Loss::Nothing`] leaves of this history.
    #[must_use]
    pub fn after(root: &Path, history: History) -> Self {
        let names = history.current_names();
        let state = State { history, names, ..State::default() };
        Self { root: root.to_owned(), state: Arc::new(Mutex::new(state)) }
    }

    /// Makes calls fail from here on; none with `None`. The next call has the number [`Watched::asked`].
    pub fn plan(&self, plan: Option<Plan>) {
        self.state().plan = plan;
    }

    /// Makes syncs say that they succeeded, and do nothing: a broken disk, against which the journal can
    /// do nothing.
    pub fn ignore_syncs(&self) {
        self.state().ignores_syncs = true;
    }

    /// How many calls there were, with those that read.
    #[must_use]
    pub fn asked(&self) -> u64 {
        self.state().asked
    }

    /// The moment that it is: how many calls changed something.
    #[must_use]
    pub fn now(&self) -> usize {
        self.state().history.now()
    }

    /// What was done.
    #[must_use]
    pub fn history(&self) -> History {
        self.state().history.clone()
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn name(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.root).unwrap_or_else(|_| panic!("{path:?} is elsewhere")).to_owned()
    }

    fn file(&self, state: &State, path: &Path) -> FileId {
        match state.names.get(&self.name(path)) {
            Some(Entry::File(file)) => *file,
            other => panic!("{path:?} is {other:?}"),
        }
    }

    /// A change of names, which is done if it is to succeed.
    fn change<T>(
        &self,
        changes: Vec<(PathBuf, Option<Entry>)>,
        change: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        let mut state = self.state();
        state.ask(false)?;
        let done = change()?;
        state.rename(changes);
        Ok(done)
    }
}

impl State {
    /// Counts a call, and says whether it fails.
    pub(crate) fn ask(&mut self, reads: bool) -> Result<(), Error> {
        let call = self.asked;
        self.asked += 1;
        self.plan.and_then(|plan| plan.error(call, reads)).map_or(Ok(()), Err)
    }

    pub(crate) fn write(&mut self, file: FileId, offset: u64, bytes: &[u8]) {
        self.history.calls.push(Call::Write { file, offset, bytes: bytes.into() });
    }

    pub(crate) fn set_len(&mut self, file: FileId, len: u64) {
        self.history.calls.push(Call::SetLen { file, len });
    }

    pub(crate) fn sync(&mut self, file: FileId) -> io::Result<()> {
        if let Err(error) = self.ask(false) {
            self.history.calls.push(Call::SyncFailed(file));
            return Err(error);
        }
        if !self.ignores_syncs {
            self.history.calls.push(Call::Sync(file));
        }
        Ok(())
    }

    fn rename(&mut self, changes: Vec<(PathBuf, Option<Entry>)>) {
        rename(&mut self.names, &changes);
        self.history.calls.push(Call::Names(changes));
    }
}

impl Disk for Watched {
    fn free(&self, _: &Path) -> io::Result<u64> {
        Ok(u64::MAX)
    }

    fn database(&self, builder: &Builder, path: &Path, file: FileBackend) -> Result<Database, DatabaseError> {
        let id = self.file(&self.state(), path);
        builder.create_with_backend(Backend { disk: self.clone(), id, file })
    }

    fn create(&self, path: &Path, found: Found) -> io::Result<File> {
        let mut state = self.state();
        state.ask(false)?;
        let file = Real.create(path, found)?;
        let name = self.name(path);
        if state.names.contains_key(&name) {
            if found == Found::Emptied {
                let id = self.file(&state, path);
                state.set_len(id, 0);
            }
        } else {
            let id = state.history.new_file();
            state.rename(vec![(name, Some(Entry::File(id)))]);
        }
        Ok(file)
    }

    fn allocate(&self, path: &Path, file: &File, bytes: u64) -> io::Result<()> {
        let mut state = self.state();
        state.ask(false)?;
        file.set_len(bytes)?;
        let id = self.file(&state, path);
        state.set_len(id, bytes);
        Ok(())
    }

    fn write(&self, path: &Path, file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        let id = self.file(&state, path);
        let asked = state.ask(false);
        let bytes = if asked.is_ok() { bytes } else { &bytes[..bytes.len() / 2] };
        Real.write(path, file, offset, bytes)?;
        state.write(id, offset, bytes);
        asked
    }

    fn sync(&self, path: &Path, _: &File) -> io::Result<()> {
        let mut state = self.state();
        let id = self.file(&state, path);
        state.sync(id)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let id = self.file(&self.state(), from);
        let changes = vec![(self.name(from), None), (self.name(to), Some(Entry::File(id)))];
        self.change(changes, || Real.rename(from, to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.change(vec![(self.name(path), None)], || Real.remove(path))
    }

    fn make_folder(&self, path: &Path) -> io::Result<()> {
        self.change(vec![(self.name(path), Some(Entry::Folder))], || Real.make_folder(path))
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.ask(false)?;
        Real.remove_folder(path)?;
        let folder = self.name(path);
        // What is in a folder goes before it.
        let gone: Vec<_> =
            state.names.keys().filter(|name| name.starts_with(&folder)).rev().cloned().collect();
        gone.into_iter().for_each(|name| state.rename(vec![(name, None)]));
        Ok(())
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.ask(false)?;
        if !state.ignores_syncs {
            let folder = self.name(path);
            state.history.calls.push(Call::SyncFolder(folder));
        }
        Ok(())
    }
}
