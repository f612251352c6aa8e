//! What must hold of a journal that was opened after a crash.

use crate::book::{Book, Promise, Stored, id};
use crate::disk::Watched;
use crate::story::{Host, Open};
use proofport_core::id::RequestId;
use proofport_journal::{BodyKind, Journal, Recorded};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A journal that kept its promises.
pub struct Recovered {
    /// The open journal.
    pub open: Open,
    /// The numbers of the batches in it.
    pub present: BTreeSet<u32>,
    /// How many of them had been acknowledged before the crash.
    pub promised: u64,
}

/// Opens the journal that a crash at this moment left in the folder, and checks everything: it opens and
/// verifies; what was acknowledged is there and whole; everything else is there as a whole or not at all;
/// sequence numbers have no gap; indexes, bodies, contents and the latest time are those of the records.
///
/// # Panics
/// When anything of this is not so; `scene` says then which crash it was.
#[must_use]
pub fn recover(
    host: &Host,
    root: &Path,
    disk: &Watched,
    book: &Book,
    moment: usize,
    scene: &str,
) -> Recovered {
    let open = host.open(root, disk).unwrap_or_else(|error| panic!("{scene}: {error}"));
    let mut check = Check { journal: &open.journal, book, moment, scene, present: Vec::new() };
    check.records();
    check.promises();
    check.indexes();
    check.bodies();
    check.contents();
    let present: BTreeSet<u32> = check.present.iter().map(|batch| batch.number).collect();
    let promised = check.promised().count() as u64;
    assert!(open.fatal.try_recv().is_err(), "{scene}: a commit failed");
    Recovered { open, present, promised }
}

struct Check<'a> {
    journal: &'a Journal,
    book: &'a Book,
    moment: usize,
    scene: &'a str,
    /// In the order of the journal.
    present: Vec<&'a Promise>,
}

impl<'a> Check<'a> {
    fn read<T, E: std::fmt::Display>(&self, result: Result<T, E>) -> T {
        result.unwrap_or_else(|error| panic!("{}: {error}", self.scene))
    }

    /// Every event, in the order of the sequence, and whose it is.
    fn everything(&self) -> Vec<(Option<RequestId>, Recorded)> {
        let mut all = Vec::new();
        for id in self.read(self.journal.invocations(usize::MAX)) {
            all.extend(self.read(self.journal.history(&id)).into_iter().map(|event| (Some(id), event)));
        }
        all.extend(self.read(self.journal.host_events(usize::MAX)).into_iter().map(|event| (None, event)));
        all.sort_by_key(|(_, event)| event.seq);
        all
    }

    fn records(&mut self) {
        let verified = self.read(self.journal.verify());
        let scene = self.scene;
        let mut seq = 1;
        let mut rest = self.everything().into_iter().peekable();
        while let Some((_, first)) = rest.peek() {
            let (number, _) = Promise::of_event(&first.event);
            let batch = self.book.batches.iter().find(|batch| batch.number == number);
            let batch = batch.unwrap_or_else(|| panic!("{scene}: batch {number} was never written"));
            assert!(batch.seq.is_none_or(|told| told == seq), "{scene}: batch {number} moved to {seq}");
            for position in 0..batch.events {
                let (of, event) = rest.next().unwrap_or_else(|| panic!("{scene}: a part of batch {number}"));
                assert_eq!(event.seq, seq, "{scene}: a gap");
                let whole = event.event == batch.event(position) && event.at == batch.at();
                assert!(whole && of == batch.of.map(id), "{scene}: {event:?} at {position} of {number}");
                seq += 1;
            }
            self.present.push(batch);
        }
        assert_eq!(verified.last_seq, seq - 1, "{scene}: what verifies is not what is read");
        assert_eq!(verified.records, self.present.len() as u64, "{scene}");
        let numbers: BTreeSet<_> = self.present.iter().map(|batch| batch.number).collect();
        assert_eq!(numbers.len(), self.present.len(), "{scene}: a batch is there twice");
    }

    fn promised(&self) -> impl Iterator<Item = &'a Promise> {
        let moment = self.moment;
        self.book.batches.iter().filter(move |batch| batch.since.is_some_and(|since| since <= moment))
    }

    fn promises(&self) {
        let present: BTreeSet<_> = self.present.iter().map(|batch| batch.number).collect();
        for batch in self.promised() {
            assert!(present.contains(&batch.number), "{}: lost an acknowledged {batch:?}", self.scene);
        }
    }

    fn indexes(&self) {
        let (journal, scene) = (self.journal, self.scene);
        let mut open = BTreeSet::new();
        for batch in &self.present {
            match (batch.of, batch.open) {
                (Some(of), Some(true)) => drop(open.insert(id(of))),
                (Some(of), Some(false)) => drop(open.remove(&id(of))),
                (Some(_), None) | (None, _) => {}
            }
        }
        let found: BTreeSet<_> = self.read(journal.open_invocations()).into_iter().collect();
        assert_eq!(found, open, "{scene}: the open set");
        let latest = self.present.iter().map(|batch| batch.at()).max().unwrap_or_default();
        assert_eq!(journal.high_water(), latest, "{scene}: the latest time");
        for batch in self.book.batches.iter().filter(|batch| batch.intent) {
            let there = self.present.iter().any(|present| present.number == batch.number);
            let expected: Vec<_> = batch.of.filter(|_| there).map(id).into_iter().collect();
            assert_eq!(self.read(journal.intents(&batch.intent_key())), expected, "{scene}: {batch:?}");
        }
    }

    fn bodies(&self) {
        let mut newest: BTreeMap<(u8, BodyKind), Vec<u8>> = BTreeMap::new();
        for batch in &self.present {
            for (kind, len) in &batch.bodies {
                newest.insert((batch.of.unwrap(), *kind), batch.body(*kind, *len));
            }
        }
        let all: BTreeSet<_> = self.book.batches.iter().filter_map(|batch| batch.of).collect();
        for of in all {
            for kind in BodyKind::ALL {
                let found = self.read(self.journal.body(&id(of), *kind));
                let same =
                    found.as_ref().map(|bytes| &***bytes) == newest.get(&(of, *kind)).map(Vec::as_slice);
                assert!(same, "{}: {kind:?} of {of}", self.scene);
            }
        }
    }

    fn contents(&self) {
        let mut stored: BTreeMap<u8, Vec<&Stored>> = BTreeMap::new();
        self.book.contents.iter().for_each(|content| stored.entry(content.of).or_default().push(content));
        for (of, attempts) in stored {
            let found = self.read(self.journal.content(&id(of))).map(|content| {
                let chunks = 0..content.facts().chunks;
                chunks.flat_map(|number| self.read(content.chunk(number)).to_vec()).collect::<Vec<_>>()
            });
            let is = |attempt: &Stored| found.as_ref().is_some_and(|found| *found == attempt.bytes());
            let promised =
                attempts.iter().find(|content| content.since.is_some_and(|since| since <= self.moment));
            if let Some(promised) = promised {
                assert!(is(promised), "{}: lost {promised:?}", self.scene);
            }
            let whole = found.is_none() || attempts.iter().any(|attempt| is(attempt));
            assert!(whole, "{}: another content than {attempts:?}", self.scene);
        }
    }
}
