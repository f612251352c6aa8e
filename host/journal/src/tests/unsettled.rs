//! The index of what no settlement ended, and how journals without it get one.

use super::{Home, append, id, options, said};
use crate::audit::State;
use crate::keys::Authenticator;
use crate::record::{self, BEFORE_ALL, Record};
use crate::tables::{self, INTENTS, RECORDS, UNSETTLED};
use crate::{Batch, Journal, JournalError};
use proofport_core::batch::ChildId;
use proofport_core::code::Code;
use proofport_core::contract::{Outcome, Source};
use proofport_core::event::{AttemptEnd, ChildFacts, Event, Settlement};
use proofport_core::evidence::{Cause, HttpEvidence};
use proofport_core::id::RequestId;
use proofport_core::time::UnixMillis;
use redb::{Database, ReadableDatabase as _, ReadableTable as _, TableDefinition};

pub(super) fn ended() -> Event {
    Event::AttemptEnded(AttemptEnd {
        generation: 1,
        outcome: Outcome::Unknown,
        code: Some(Code::OutcomeUnknown),
        source: Source::TransportObserved,
        evidence: HttpEvidence::nothing_seen(Cause::HostStopped).into(),
        above_ceiling: false,
        connector_fault: None,
        redirected: None,
        unmatched_children: 0,
        retry_after_seconds: None,
    })
}

pub(super) fn settled() -> Event {
    Event::OutcomeSettled(Settlement {
        outcome: Outcome::Committed,
        code: None,
        source: Source::OperatorAttested,
        repairable: false,
        retry_after_seconds: None,
        http_status: None,
        attested_reason: Some("seen".to_owned()),
        unknown_children: 0,
    })
}

fn take(journal: &Journal, of: u8, events: Vec<Event>) {
    append(journal, Batch::new(Some(id(of)), UnixMillis(1000), events));
}

fn listed(journal: &Journal) -> Vec<RequestId> {
    let mut found = journal.unsettled_invocations().unwrap();
    found.sort();
    journal.verify().unwrap();
    found
}

/// 1 is settled at once, 2 is not, 3 is settled later, 4 has no end at all, 5 ended twice.
fn filled() -> Home {
    let home = Home::new();
    let journal = home.open();
    take(&journal, 1, vec![ended(), settled()]);
    take(&journal, 2, vec![said("x"), ended(), said("y")]);
    take(&journal, 3, vec![ended()]);
    take(&journal, 4, vec![said("x")]);
    take(&journal, 5, vec![ended()]);
    assert_eq!(listed(&journal), [id(2), id(3), id(5)]);
    take(&journal, 3, vec![settled()]);
    take(&journal, 5, vec![ended()]);
    take(&journal, 2, vec![said("later")]);
    assert_eq!(listed(&journal), [id(2), id(5)]);
    journal.close().unwrap();
    home
}

pub(super) fn mark_failed(home: &Home) {
    std::fs::write(home.path.with_extension("redb.lock"), "failed \n").unwrap();
}

type Unsettled<'a> = redb::Table<'a, &'static [u8; 16], ()>;

/// Somebody who can write the file but has no key.
fn alter(home: &Home, change: impl FnOnce(&mut Unsettled<'_>)) {
    let database = Database::open(&home.path).unwrap();
    let transaction = database.begin_write().unwrap();
    change(&mut transaction.open_table(UNSETTLED).unwrap());
    transaction.commit().unwrap();
}

/// Makes of it what an earlier version wrote.
pub(super) fn with_version(home: &Home, version: u64, drop_index: bool) {
    if drop_index {
        let database = Database::open(&home.path).unwrap();
        let transaction = database.begin_write().unwrap();
        assert!(transaction.delete_table(UNSETTLED).unwrap());
        transaction.commit().unwrap();
    }
    if (1..5).contains(&version) {
        in_the_clear(home);
    }
    proves_version(home, version);
}

/// Has the file prove that it is of this version.
pub(super) fn proves_version(home: &Home, version: u64) {
    const ABOUT: TableDefinition<'static, &'static str, &'static [u8]> = TableDefinition::new("about");
    let database = Database::open(&home.path).unwrap();
    let transaction = database.begin_write().unwrap();
    let mut about = transaction.open_table(ABOUT).unwrap();
    about.insert("proofport.journal", &version.to_be_bytes()[..]).unwrap();
    about.insert("key", &Authenticator::new(&home.keys().event_mac).key_check(version)[..]).unwrap();
    drop(about);
    transaction.commit().unwrap();
}

/// What versions before the fifth wrote: what records say is stored as it is, and an index of intents that none
/// would find anything in.
fn in_the_clear(home: &Home) {
    let key = Authenticator::new(&home.keys().event_mac);
    let database = Database::open(&home.path).unwrap();
    let transaction = database.begin_write().unwrap();
    let (mut before, mut code) = (BEFORE_ALL, BEFORE_ALL);
    {
        let mut records = transaction.open_table(RECORDS).unwrap();
        let stored: Vec<_> = records
            .iter()
            .unwrap()
            .map(|entry| entry.map(|(seq, bytes)| (seq.value(), bytes.value().to_vec())).unwrap())
            .collect();
        for (seq, bytes) in stored {
            let record = Record::verified(&key, seq, &bytes).unwrap();
            let json = record.json().unwrap();
            let (bytes, next) = record::encode(&key, &record.place, &code, &json);
            (before, code) = (record.code, next);
            records.insert(seq, bytes.as_slice()).unwrap();
        }
        if let Some(head) = tables::audit_head(&database.begin_read().unwrap()).unwrap() {
            let state = State::decode(&head, &key, &before).unwrap();
            tables::write_audit_head(&transaction, &state.encode(&key, &code)).unwrap();
        }
        transaction.delete_table(INTENTS).unwrap();
        transaction.open_table(INTENTS).unwrap().insert(&[1; 48], ()).unwrap();
    }
    transaction.commit().unwrap();
}

/// Children of a batch that is settled may be unknown all the same.
#[test]
fn a_settlement_that_leaves_children_unknown_is_listed_until_none_is() {
    let home = Home::new();
    let journal = home.open();
    let Event::OutcomeSettled(settlement) = settled() else { unreachable!() };
    let partly = Event::OutcomeSettled(Settlement { unknown_children: 2, ..settlement });
    let child = |left: Option<u32>| {
        Event::ChildSettled(ChildFacts {
            index: 0,
            id: ChildId::parse("a").unwrap(),
            generation: 1,
            outcome: Outcome::Committed,
            code: None,
            source: Source::OperatorAttested,
            repairable: false,
            output: None,
            attested_reason: None,
            left_unknown: left,
        })
    };
    take(&journal, 1, vec![ended(), partly]);
    take(&journal, 1, vec![child(Some(1))]);
    take(&journal, 1, vec![child(None)]);
    assert_eq!(listed(&journal), [id(1)]);
    take(&journal, 1, vec![child(None), child(Some(0))]);
    assert_eq!(listed(&journal), []);
}

#[test]
fn the_index_is_there_after_every_way_of_opening() {
    let check = |case: &str, change: fn(&Home)| {
        let home = filled();
        change(&home);
        let journal = home.open();
        assert_eq!(listed(&journal), [id(2), id(5)], "{case}");
        // It is kept on from there.
        take(&journal, 5, vec![settled()]);
        take(&journal, 6, vec![ended()]);
        journal.close().unwrap();
        assert_eq!(listed(&home.open()), [id(2), id(6)], "{case}");
    };
    check("as it was closed", |_| {});
    check("rewritten", mark_failed);
    check("of the first version", |home| with_version(home, 1, true));
    check("of the first version, rewritten", |home| {
        with_version(home, 1, true);
        mark_failed(home);
    });
    check("of the first version, with an index of somebody's", |home| {
        alter(home, |unsettled| drop(unsettled.insert(id(1).as_bytes(), ()).unwrap()));
        with_version(home, 1, false);
    });
}

/// Whoever takes an entry out, or puts one in, is found out.
#[test]
fn an_altered_index_does_not_verify() {
    let check = |change: fn(&mut Unsettled<'_>)| {
        let home = filled();
        alter(&home, change);
        let verified = home.open().verify();
        assert!(matches!(verified, Err(JournalError::Tampered { .. })), "{verified:?}");
    };
    check(|unsettled| drop(unsettled.remove(id(2).as_bytes()).unwrap()));
    check(|unsettled| drop(unsettled.insert(id(1).as_bytes(), ()).unwrap()));
}

#[test]
fn a_version_that_is_not_known_is_refused() {
    for version in [0, 6, u64::MAX] {
        let home = filled();
        with_version(&home, version, false);
        let opened = Journal::open(&home.path, home.keys(), options());
        let Err(JournalError::UnsupportedVersion { found, .. }) = opened else { panic!("{opened:?}") };
        assert_eq!(found, version);
    }
}
