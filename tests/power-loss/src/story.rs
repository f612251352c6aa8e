//! A host's work on a journal, as far as the journal sees it.

use crate::book::{Book, Promise, Stored, id};
use crate::disk::Watched;
use crate::history::History;
use crate::image::Loss;
use crate::seeded::Seeded;
use age::secrecy::ExposeSecret as _;
use proofport_core::secret::Secret;
use proofport_journal::{AuditKeys, BodyKind, FatalHook, Journal, JournalError, JournalKeys, Options};
use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Mutex, MutexGuard, PoisonError};
use zeroize::Zeroizing;

/// What stays the same over all restarts of a host: the keys of its vault.
pub struct Host {
    identity: age::x25519::Identity,
}

/// A journal that a host has open.
pub struct Open {
    /// The journal.
    pub journal: Journal,
    /// What would have been said at the end of a process that can't go on.
    pub fatal: Receiver<String>,
}

impl Default for Host {
    fn default() -> Self {
        Self { identity: age::x25519::Identity::generate() }
    }
}

impl Host {
    /// Opens the journal in a watched folder, or makes it.
    ///
    /// # Errors
    /// As [`Journal::open`].
    pub fn open(&self, root: &Path, disk: &Watched) -> Result<Open, JournalError> {
        let identity = Secret::new(self.identity.to_string().expose_secret().as_bytes().to_vec());
        let keys = JournalKeys {
            event_mac: Zeroizing::new([7; 32]),
            seal_recipient: self.identity.to_public().to_string(),
            seal_identity: Some(identity),
            audit: AuditKeys {
                seeds: vec![Zeroizing::new([9; 32])],
                recipient: self.identity.to_public().to_string(),
            },
        };
        let (say, fatal) = mpsc::channel();
        let options = Options {
            cache_bytes: 1024 * 1024,
            on_fatal: FatalHook::new(move |line| drop(say.send(line))),
            reserve_bytes: 4096,
            ..Options::default()
        };
        let path = root.join("journal.redb");
        let journal = Journal::open_on(&path, keys, options, std::sync::Arc::new(disk.clone()))?;
        Ok(Open { journal, fatal })
    }

    /// Opens the journal in an empty folder, works and closes it.
    ///
    /// # Panics
    /// When something fails.
    #[must_use]
    pub fn story(&self, seed: u64, length: Length) -> Story {
        let root = folder();
        let disk = Watched::folder(root.path());
        let open = self.open(root.path(), &disk).unwrap();
        let desk = Desk::new(&open.journal, &disk, Book::default());
        desk.work(seed, length).unwrap();
        let book = desk.book();
        open.journal.close().unwrap();
        let history = disk.history();
        let written_down = history.power_loss(history.now(), Loss::Nothing, 0);
        let there = History::found(root.path()).power_loss(0, Loss::Nothing, 0);
        assert!(written_down == there, "a call on a file went past the watched disk");
        Story { history, book }
    }
}

/// How much a host does.
#[derive(Clone, Copy, Debug)]
pub struct Length {
    /// How many threads work at once.
    pub threads: u8,
    /// How many invocations each of them carries out.
    pub turns: u8,
}

/// A whole life of a journal.
#[derive(Clone, Debug)]
pub struct Story {
    /// What was done to the disk.
    pub history: History,
    /// What was written.
    pub book: Book,
}

/// Where batches are written, and noted once they are acknowledged.
pub struct Desk<'a> {
    journal: &'a Journal,
    disk: &'a Watched,
    book: Mutex<Book>,
}

impl<'a> Desk<'a> {
    /// A desk with what was written before.
    #[must_use]
    pub const fn new(journal: &'a Journal, disk: &'a Watched, book: Book) -> Self {
        Self { journal, disk, book: Mutex::new(book) }
    }

    /// What was written.
    #[must_use]
    pub fn book(self) -> Book {
        self.book.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn notes(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a number and notes what is going to be written.
    fn note(&self, of: Option<u8>, make: impl FnOnce(Promise) -> Promise) -> Promise {
        let mut book = self.notes();
        let promise = make(Promise::new(book.next_number(), of));
        book.batches.push(promise.clone());
        promise
    }

    /// Writes a batch, and notes the moment of its acknowledgement.
    ///
    /// # Errors
    /// As [`Journal::append`].
    pub fn append(&self, of: Option<u8>, make: impl FnOnce(Promise) -> Promise) -> Result<(), JournalError> {
        let promise = self.note(of, make);
        let committed = block_on(self.journal.append(promise.batch()))?;
        // Every call that is made later than this is later than the acknowledgement.
        let since = Some(self.disk.now());
        let mut book = self.notes();
        let noted = book.batches.iter_mut().find(|batch| batch.number == promise.number).unwrap();
        (noted.seq, noted.since) = (Some(committed.first_seq), since);
        Ok(())
    }

    fn ride_along(&self, of: u8) {
        let promise = self.note(Some(of), |promise| promise);
        self.journal.ride_along(promise.batch());
    }

    /// Stores a content, and notes the moment at which it was complete.
    fn content(&self, of: u8, attempt: u8, len: usize) -> Result<(), JournalError> {
        let place = {
            let mut book = self.notes();
            // An earlier one is going to be removed.
            book.contents
                .iter_mut()
                .filter(|content| content.of == of)
                .for_each(|earlier| earlier.since = None);
            book.contents.push(Stored { of, attempt, len, since: None });
            book.contents.len() - 1
        };
        let bytes = self.notes().contents[place].bytes();
        let mut writer = self.journal.begin_content(&id(of))?;
        writer.push(&bytes)?;
        writer.finish()?;
        let since = Some(self.disk.now());
        self.notes().contents[place].since = since;
        Ok(())
    }

    /// Carries out invocations, each with its acceptance, its dispatch and its settlement, on several
    /// threads that share commits.
    ///
    /// # Errors
    /// The first thread's that met one; each ends with its first.
    ///
    /// # Panics
    /// When a thread does.
    pub fn work(&self, seed: u64, Length { threads, turns }: Length) -> Result<(), JournalError> {
        std::thread::scope(|scope| {
            let work = |thread: u8| {
                let mut random = Seeded::new(seed ^ (u64::from(thread) << 32));
                (0..turns).try_for_each(|turn| self.invocation(1 + thread * turns + turn, &mut random))
            };
            let threads: Vec<_> = (0..threads).map(|thread| scope.spawn(move || work(thread))).collect();
            threads.into_iter().try_for_each(|thread| thread.join().unwrap())
        })
    }

    fn invocation(&self, of: u8, random: &mut Seeded) -> Result<(), JournalError> {
        // Small ones, some of several pages, and a few for which the file must grow.
        let mut len = || match random.below(8) {
            0 => 20_000 + random.below(60_000),
            1 | 2 => 3_000 + random.below(6_000),
            _ => random.below(600),
        };
        let (input, result, content) = (len(), len(), len());
        self.append(Some(of), |promise| Promise {
            events: 3,
            bodies: vec![(BodyKind::Input, input), (BodyKind::Request, input / 2)],
            intent: true,
            open: Some(true),
            ..promise
        })?;
        if of.is_multiple_of(2) {
            self.append(None, |promise| Promise { events: 2, ..promise })?;
        }
        // What can't be stored is no reason not to settle.
        if of % 3 == 1 {
            let _ = self.content(of, 1, content * 2 + 1);
        }
        let _ = self.content(of, 2, content * 4);
        self.append(Some(of), |promise| Promise {
            events: 4,
            bodies: vec![(BodyKind::Result, result), (BodyKind::Envelope, 300)],
            open: Some(false),
            ..promise
        })?;
        self.ride_along(of);
        Ok(())
    }
}

/// A folder in memory where the system has one: nothing here depends on a disk.
///
/// # Panics
/// When none can be made.
#[must_use]
pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}
