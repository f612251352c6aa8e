//! Verifies a log from its bytes alone: no key but the public ones in it, no clock, no journal, no vault. This
//! file, `bytes.rs`, `form.rs`, `note.rs`, `kinds.rs`, `dispatches.rs` and `report.rs` are all that a verification runs.
//!
//! One pass, in constant memory but for invocations that have no end yet: a payload is hashed as it goes by.

use super::bytes::{Counted, Stop};
use super::dispatches::Dispatches;
use super::form::{
    self, BEFORE_ALL, BEGINNING, Body, Hash, Header, LENGTHS, Listed, LogId, Origin, Tag, Unread,
};
use super::kinds;
use super::note::{self, Also, PublicKey};
use super::report::{Finding, Head, Report, Signing, Unreadable, Wrong};
use sha2::{Digest as _, Sha256};
use std::io::{self, BufRead, BufReader, Read};

/// How much is read at once.
const BUFFER: usize = 256 * 1024;

/// After so many findings nothing more is read.
pub(super) const MOST_FINDINGS: usize = 1000;

/// What is known beforehand, from elsewhere.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    /// Blocks that must be in the log.
    pub heads: Vec<Head>,
    /// A key that must sign in it.
    pub key: Option<PublicKey>,
}

/// Reads one part of a log after the other.
pub struct Verifier {
    expected: Expected,
    at: Option<At>,
    report: Report,
    dispatches: Dispatches,
    /// What it lists of events, to be compared with the records.
    listing: Option<Sha256>,
    /// Whether something was found that makes the rest meaningless.
    stopped: bool,
    /// The file that is read.
    file: InFile,
}

/// What is known of the file that is read.
#[derive(Clone, Copy, Default)]
struct InFile {
    /// Its first block; 0: none was read.
    first: u64,
    /// Whether it is another one than the first, and has not reached what goes on where the one before ended.
    again: bool,
    /// The hash of the block before, while it repeats what the one before holds.
    known: Option<Hash>,
}

/// The place that was reached.
#[derive(Clone, Copy)]
struct At {
    log: LogId,
    segment: u64,
    block: u64,
    hash: Hash,
    previous: Hash,
    last_event: u64,
    at: u64,
    key: [u8; 32],
    key_id: [u8; 4],
}

impl Verifier {
    /// A verifier that has read nothing.
    #[must_use]
    pub fn new(expected: Expected) -> Self {
        let report = Report {
            findings: Vec::new(),
            first_block: 0,
            before: BEFORE_ALL,
            head: Head { block: 0, hash: BEFORE_ALL },
            first_event: 1,
            last_event: 0,
            older_events: None,
            segments: 0,
            checkpoints: 0,
            keys: Vec::new(),
            signed_through: 0,
            removed_through: 0,
            open: Vec::new(),
            unsettled: 0,
        };
        Self {
            expected,
            at: None,
            report,
            dispatches: Dispatches::default(),
            listing: None,
            stopped: false,
            file: InFile::default(),
        }
    }

    /// Reads an exported file. A second one must go on where the first ended, or begin before that and have the
    /// same blocks up to there: every export ends in a segment that goes on. After a finding that makes the
    /// rest meaningless, nothing more is read.
    ///
    /// # Errors
    /// When it can't be read, or is no export of a version that is known here.
    pub fn export(&mut self, from: impl Read) -> Result<(), Unreadable> {
        if self.stopped {
            return Ok(());
        }
        let mut from = Counted { from: BufReader::with_capacity(BUFFER, from), offset: 0, file: true };
        let mut beginning = [0; BEGINNING.len()];
        match from.read_exact(&mut beginning) {
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => return Err(error.into()),
            Ok(()) if &beginning == BEGINNING => {}
            Ok(()) | Err(_) => return Err(Unreadable::NotAnExport),
        }
        self.file = InFile { first: 0, again: self.at.is_some(), known: None };
        loop {
            let offset = from.offset;
            let read = match self.read(&mut from) {
                Ok(false) if !self.stopped => continue,
                Ok(_) => return Ok(()),
                Err(stop) => stop,
            };
            return match read {
                Stop::Wrong(wrong) => {
                    self.find(self.next(), Some(offset), wrong);
                    self.stopped = true;
                    Ok(())
                }
                Stop::Unreadable(unreadable) => Err(unreadable),
            };
        }
    }

    /// Reads the next block of a journal.
    ///
    /// # Errors
    /// As [`Verifier::export`].
    pub(crate) fn stored(&mut self, block: &[u8]) -> Result<(), Unreadable> {
        if self.stopped {
            return Ok(());
        }
        let mut from = Counted { from: block, offset: 0, file: false };
        let whole = from.lengths().and_then(|lengths| {
            self.block(&mut from, lengths)?;
            if from.from.is_empty() { Ok(()) } else { Err(Wrong::Form.into()) }
        });
        match whole {
            Ok(()) => Ok(()),
            Err(Stop::Wrong(wrong)) => {
                self.find(self.next(), None, wrong);
                self.stopped = true;
                Ok(())
            }
            Err(Stop::Unreadable(unreadable)) => Err(unreadable),
        }
    }

    /// Has it keep a digest of what is listed of every batch.
    pub(crate) fn listing(mut self) -> Self {
        self.listing = Some(Sha256::new());
        self
    }

    /// The digest of what was listed.
    pub(crate) fn listed(&self) -> Option<Hash> {
        self.listing.clone().map(|listing| listing.finalize().into())
    }

    /// What was found. The rest of what is expected is looked at here.
    #[must_use]
    pub fn finish(mut self) -> Report {
        let (first, last) = (self.report.first_block, self.report.head.block);
        if !self.stopped {
            let open: Vec<_> = self.expected.heads.iter().map(|head| head.block).collect();
            for expected in open {
                if expected > last {
                    self.find(last, None, Wrong::EndsBefore { expected });
                } else if expected.saturating_add(1) < first {
                    self.find(first, None, Wrong::BeginsAfter { expected });
                }
            }
            let keys = &self.report.keys;
            let other = self.expected.key.as_ref().filter(|key| !keys.iter().any(|one| one.key == **key));
            if other.is_some() {
                self.find(first, None, Wrong::OtherKey);
            }
        }
        self.report.open = self.dispatches.open();
        self.report.unsettled = self.dispatches.unsettled();
        self.report
    }

    /// The number of the block that is due.
    fn next(&self) -> u64 {
        self.at.as_ref().map_or(1, |at| at.block.saturating_add(1))
    }

    fn find(&mut self, block: u64, offset: Option<u64>, what: Wrong) {
        if self.report.findings.len() < MOST_FINDINGS {
            self.report.findings.push(Finding { block, offset, what });
        }
        self.stopped |= self.report.findings.len() >= MOST_FINDINGS;
    }

    /// Reads a block, or the end of a file: then it says true.
    fn read(&mut self, from: &mut Counted<impl BufRead>) -> Result<bool, Stop> {
        let lengths = from.lengths()?;
        let (header, payload) = form::lengths(lengths);
        if header != 0 {
            return self.block(from, lengths).map(|()| false);
        }
        let Some(at) = &self.at else { return Err(Wrong::Beginning.into()) };
        if self.file.known.is_some() {
            // It ends before the one that was read before it.
            return Err(Wrong::EndsBefore { expected: at.block }.into());
        }
        let text = note::text(at.log, at.block, &at.hash, Also::ExportFrom(self.file.first));
        let note = from.note(payload)?;
        if !note::is_signed(&note, at.log, &text, &[&at.key]) {
            return Err(Wrong::End.into());
        }
        if !from.from.fill_buf()?.is_empty() {
            return Err(Wrong::AfterTheEnd.into());
        }
        self.report.signed_through = at.block;
        Ok(true)
    }

    fn block(&mut self, from: &mut Counted<impl BufRead>, lengths: [u8; LENGTHS]) -> Result<(), Stop> {
        let offset = from.offset - LENGTHS as u64;
        let (header_length, payload) = form::lengths(lengths);
        let mut hash = form::hasher();
        hash.update(lengths);
        let header = from.bytes(header_length)?;
        hash.update(&header);
        let block = self.next();
        let header = Header::decode(&header).map_err(|unread| match unread {
            Unread::Version(version) => Stop::Unreadable(Unreadable::Version { block, version }),
            Unread::Kind(kind) => Stop::Unreadable(Unreadable::EventKind { block, kind }),
            Unread::Form => Stop::Wrong(Wrong::Form),
        })?;
        let keeps = match &header.body {
            Body::Checkpoint | Body::Key { .. } | Body::Removed { .. } => true,
            Body::Segment { .. } | Body::Events(_) => false,
        };
        let note = if keeps { from.note(payload)? } else { Vec::new() };
        if keeps {
            hash.update(&note);
        } else {
            from.hash(payload, &mut hash)?;
        }
        let hash: Hash = hash.finalize().into();
        if self.file.first == 0 {
            self.file.first = header.block;
        }
        if self.repeats(&header, &hash)? {
            return Ok(());
        }
        self.follows(&header, &hash)?;
        self.take(header, hash, &note, from.file.then_some(offset))
    }

    /// Whether this is a block that the file before holds, too: the last one of it has the same hash, which
    /// vouches for those before.
    fn repeats(&mut self, header: &Header, hash: &Hash) -> Result<bool, Wrong> {
        let Some(at) = self.at.filter(|at| self.file.again && header.block <= at.block) else {
            return Ok(false);
        };
        if self.file.known.is_some_and(|known| known != header.previous) {
            return Err(Wrong::Link);
        }
        if header.block < at.block {
            self.file.known = Some(*hash);
            return Ok(true);
        }
        if *hash != at.hash {
            return Err(Wrong::Fork);
        }
        self.file = InFile { again: false, known: None, ..self.file };
        Ok(true)
    }

    /// Whether this is the block that is due.
    fn follows(&self, header: &Header, hash: &Hash) -> Result<(), Wrong> {
        let Some(at) = &self.at else { return Ok(()) };
        let expected = at.block.saturating_add(1);
        if header.block == at.block {
            return Err(match (*hash == at.hash, header.previous == at.previous) {
                (true, _) => Wrong::Repeated,
                (false, true) => Wrong::Fork,
                (false, false) => Wrong::OutOfOrder { found: header.block },
            });
        }
        if header.block < expected {
            return Err(Wrong::OutOfOrder { found: header.block });
        }
        if header.block > expected {
            return Err(Wrong::Missing { found: header.block });
        }
        if header.previous != at.hash {
            return Err(Wrong::Link);
        }
        if header.first_event != at.last_event.saturating_add(1) {
            return Err(Wrong::Events);
        }
        if header.at < at.at {
            return Err(Wrong::Time);
        }
        Ok(())
    }

    fn take(&mut self, header: Header, hash: Hash, note: &[u8], offset: Option<u64>) -> Result<(), Stop> {
        let Header { segment, block, first_event, last_event, at, key_id, previous, body } = header;
        let mut now = match (self.at, &body) {
            (None, Body::Segment { log, origin, key, .. }) => {
                let first = matches!(origin, Origin::New | Origin::Upgraded);
                let begins = (block, segment, previous) == (1, 1, BEFORE_ALL);
                let fits = if first { begins } else { block > 1 && segment > 1 && previous != BEFORE_ALL };
                if !fits || *origin == Origin::New && first_event != 1 || first_event == 0 {
                    return Err(Wrong::Beginning.into());
                }
                self.report.older_events = first.then_some(first_event - 1);
                (self.report.first_block, self.report.before) = (block, previous);
                (self.report.first_event, self.report.last_event) = (first_event, first_event - 1);
                let at = At {
                    log: *log,
                    segment,
                    block: 0,
                    hash: previous,
                    previous,
                    last_event: first_event - 1,
                    at,
                    key: *key,
                    key_id: note::key_id(*log, key),
                };
                self.signs(block, &at);
                at
            }
            (None, _) => return Err(Wrong::Beginning.into()),
            (Some(now), _) => now,
        };
        let begins = self.report.segments == 0 || matches!(body, Body::Segment { .. });
        let due =
            if begins && self.report.segments > 0 { now.segment.saturating_add(1) } else { now.segment };
        if segment != due {
            return Err(Wrong::Segment.into());
        }
        if key_id != now.key_id {
            return Err(Wrong::Key.into());
        }
        let listed: u64 = match &body {
            Body::Events(batches) => batches.iter().map(|batch| batch.kinds.len() as u64).sum(),
            Body::Segment { .. } | Body::Checkpoint | Body::Key { .. } | Body::Removed { .. } => 0,
        };
        let is_events = matches!(body, Body::Events(_));
        let follows = first_event.checked_add(listed);
        if follows.is_none() || follows != last_event.checked_add(1) || is_events && listed == 0 {
            return Err(Wrong::Events.into());
        }
        match body {
            Body::Segment { log, origin, key, .. } => {
                if log != now.log {
                    return Err(Wrong::OtherLog.into());
                }
                if key != now.key {
                    return Err(Wrong::Key.into());
                }
                let again = matches!(origin, Origin::New | Origin::Upgraded);
                if again && self.report.segments > 0 {
                    return Err(Wrong::Beginning.into());
                }
                if origin != Origin::Rotated {
                    self.dispatches.another_process();
                }
                self.report.segments += 1;
            }
            Body::Events(batches) => self.events(first_event, block, &batches, offset),
            Body::Checkpoint => {
                let text = note::text(now.log, now.block, &now.hash, Also::Nothing);
                if !note::is_signed(note, now.log, &text, &[&now.key]) {
                    return Err(Wrong::Checkpoint.into());
                }
                self.report.checkpoints += 1;
                self.report.signed_through = now.block;
            }
            Body::Key { key } => {
                let text = note::text(now.log, now.block, &now.hash, Also::Key(key));
                if !note::is_signed(note, now.log, &text, &[&now.key, &key]) {
                    return Err(Wrong::KeyChange.into());
                }
                self.report.signed_through = now.block;
                (now.key, now.key_id) = (key, note::key_id(now.log, &key));
                self.signs(block.saturating_add(1), &now);
            }
            Body::Removed { through, .. } => {
                if through >= block || !note.is_empty() {
                    return Err(Wrong::Form.into());
                }
                self.report.removed_through = self.report.removed_through.max(through);
            }
        }
        let now = At { segment, block, hash, previous, last_event, at, ..now };
        (self.report.head, self.report.last_event) = (Head { block, hash }, last_event);
        self.at = Some(now);
        self.compare(block, &hash, &previous, offset);
        Ok(())
    }

    fn events(&mut self, first_event: u64, block: u64, batches: &[Listed], offset: Option<u64>) {
        let mut event = first_event;
        for Listed { tag, kinds } in batches {
            if let Some(listing) = &mut self.listing {
                list(listing, event, *tag, kinds.iter().map(|kind| kinds::number(*kind)));
            }
            for kind in kinds {
                self.dispatches.take(*tag, *kind, event, block);
                event += 1;
            }
        }
        for what in self.dispatches.wrong() {
            self.find(block, offset, what);
        }
    }

    fn signs(&mut self, from: u64, at: &At) {
        let key = PublicKey { log: at.log, bytes: at.key };
        self.report.keys.push(Signing { from, key });
    }

    /// Compares with what is expected of this block, and of the one before where that is not here.
    fn compare(&mut self, block: u64, hash: &Hash, previous: &Hash, offset: Option<u64>) {
        let first = self.report.first_block == block;
        let other = self.expected.heads.iter().any(|expected| {
            let here = expected.block == block && expected.hash != *hash;
            let before = first && Some(expected.block) == block.checked_sub(1) && expected.hash != *previous;
            here || before
        });
        if other {
            self.find(block, offset, Wrong::OtherHead);
        }
    }
}

/// Adds one batch to a digest of what is listed.
pub(crate) fn list(listing: &mut Sha256, event: u64, tag: Tag, kinds: impl Iterator<Item = u8>) {
    listing.update(event.to_be_bytes());
    listing.update(tag.0);
    let kinds: Vec<u8> = kinds.collect();
    listing.update((kinds.len() as u64).to_be_bytes());
    listing.update(kinds);
}
