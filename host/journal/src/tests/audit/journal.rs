//! The log in its journal: who can write the file but has no key, and journals that are older than it.

use super::super::unsettled::{mark_failed, with_version};
use super::{Home, dispatched, ended, exported, opened, options, said, story, take, verified};
use crate::tables::AUDIT;
use crate::{Expected, Journal, JournalError};
use redb::{Database, ReadableDatabase as _, ReadableTable as _, TableDefinition, WriteTransaction};

const ABOUT: TableDefinition<'static, &'static str, &'static [u8]> = TableDefinition::new("about");

fn alter(home: &Home, change: impl FnOnce(&WriteTransaction)) {
    let database = Database::open(&home.path).unwrap();
    let transaction = database.begin_write().unwrap();
    change(&transaction);
    transaction.commit().unwrap();
}

fn stored(home: &Home, block: u64) -> Vec<u8> {
    let database = Database::open(&home.path).unwrap();
    let transaction = database.begin_read().unwrap();
    transaction.open_table(AUDIT).unwrap().get(block).unwrap().unwrap().value().to_vec()
}

fn head(home: &Home) -> Vec<u8> {
    let database = Database::open(&home.path).unwrap();
    let transaction = database.begin_read().unwrap();
    transaction.open_table(ABOUT).unwrap().get("audit").unwrap().unwrap().value().to_vec()
}

#[test]
fn an_altered_log_is_not_gone_on_with() {
    let check = |change: &dyn Fn(&Home)| {
        let home = Home::new();
        drop(story(&home));
        change(&home);
        let opened = Journal::open(&home.path, home.keys(), options(3, u64::MAX));
        assert!(matches!(opened, Err(JournalError::Tampered { .. })), "{opened:?}");
    };
    // The last block: another, none, or one more.
    check(&|home| {
        let mut last = stored(home, 10);
        last[40] ^= 1;
        alter(home, |transaction| {
            drop(transaction.open_table(AUDIT).unwrap().insert(10, &last[..]).unwrap())
        });
    });
    check(&|home| {
        alter(home, |transaction| drop(transaction.open_table(AUDIT).unwrap().remove(10).unwrap()))
    });
    check(&|home| {
        let last = stored(home, 10);
        alter(home, |transaction| {
            drop(transaction.open_table(AUDIT).unwrap().insert(11, &last[..]).unwrap())
        });
    });
    // All of it, with or without where it stands.
    check(&|home| {
        alter(home, |transaction| transaction.open_table(AUDIT).unwrap().retain(|_, _| false).unwrap())
    });
    check(&|home| {
        alter(home, |transaction| {
            transaction.delete_table(AUDIT).unwrap();
            transaction.open_table(AUDIT).unwrap();
            drop(transaction.open_table(ABOUT).unwrap().remove("audit").unwrap());
        });
    });
}

/// The log and where it stands were true once, and the records went on.
#[test]
fn a_log_that_was_set_back_is_seen() {
    let home = Home::new();
    drop(story(&home));
    let (before, last) = (head(&home), 10);
    let journal = opened(&home, options(3, u64::MAX));
    take(&journal, 3, vec![ended()]);
    drop(journal);
    alter(&home, |transaction| {
        transaction.open_table(AUDIT).unwrap().retain(|block, _| block <= last).unwrap();
        transaction.open_table(ABOUT).unwrap().insert("audit", &before[..]).unwrap();
    });
    let opened = Journal::open(&home.path, home.keys(), options(3, u64::MAX));
    assert!(matches!(opened, Err(JournalError::Tampered { .. })), "{opened:?}");
}

#[test]
fn damage_further_back_does_not_verify() {
    let check = |change: &dyn Fn(&WriteTransaction)| {
        let home = Home::new();
        drop(story(&home));
        alter(&home, change);
        let journal = opened(&home, options(3, u64::MAX));
        assert!(matches!(journal.verify(), Err(JournalError::Tampered { .. })));
        assert!(!journal.verify_audit(Expected::default()).unwrap().is_verified());
    };
    check(&|transaction| drop(transaction.open_table(AUDIT).unwrap().remove(4).unwrap()));
    check(&|transaction| drop(transaction.open_table(AUDIT).unwrap().remove(1).unwrap()));
    check(&|transaction| {
        let mut blocks = transaction.open_table(AUDIT).unwrap();
        let mut block = blocks.get(3).unwrap().unwrap().value().to_vec();
        let last = block.len() - 1;
        block[last] ^= 1;
        blocks.insert(3, &block[..]).unwrap();
    });
}

/// A number that says that the journal is older would have the log begun anew.
#[test]
fn nobody_without_the_key_makes_a_journal_older() {
    for version in 1_u64..=4 {
        let home = Home::new();
        drop(story(&home));
        alter(&home, |transaction| {
            let mut about = transaction.open_table(ABOUT).unwrap();
            about.insert("proofport.journal", &version.to_be_bytes()[..]).unwrap();
        });
        let error = Journal::open(&home.path, home.keys(), options(3, u64::MAX)).unwrap_err();
        assert!(matches!(error, JournalError::Tampered { .. }), "{version}: {error}");
    }
}

#[test]
fn an_older_journal_begins_its_log_where_it_is() {
    let check = |version: u64, rewritten: bool| {
        let home = Home::new();
        drop(story(&home));
        // As it was before there was a log.
        alter(&home, |transaction| {
            transaction.delete_table(AUDIT).unwrap();
            drop(transaction.open_table(ABOUT).unwrap().remove("audit").unwrap());
        });
        with_version(&home, version, version == 1);
        if rewritten {
            mark_failed(&home);
        }
        let journal = opened(&home, options(3, u64::MAX));
        assert_eq!(journal.audit_head().unwrap(), None, "with the next commit, and not before");
        journal.verify().unwrap();
        drop(journal);
        let journal = opened(&home, options(3, u64::MAX));
        // Something that was dispatched before, and something new.
        take(&journal, 3, vec![ended()]);
        take(&journal, 4, vec![said("x"), dispatched()]);
        let report = verified(&exported(&journal));
        assert!(report.is_verified(), "{report:?}");
        assert_eq!((report.first_block, report.first_event, report.older_events), (1, 10, Some(9)));
        assert_eq!(report.open.iter().map(|open| open.event).collect::<Vec<_>>(), [12]);
        journal.verify().unwrap();
    };
    for version in 1..=3 {
        check(version, false);
        check(version, true);
    }
}

/// What the log lists is what the records hold, or the journal is not whole.
#[test]
fn records_and_log_agree() {
    let home = Home::new();
    let journal = opened(&home, options(100, u64::MAX));
    take(&journal, 1, vec![said("x"), ended()]);
    take(&journal, 2, vec![ended(), said("x")]);
    drop(journal);
    let (first, second) = (stored(&home, 2), stored(&home, 3));
    // The same log without the journal's own proof of where it stands is never believed; with it, the bytes
    // can't be other ones. So what remains is a record without its place in the log.
    assert_ne!(first, second);
    alter(&home, |transaction| {
        let mut blocks = transaction.open_table(AUDIT).unwrap();
        blocks.insert(2, &second[..]).unwrap();
    });
    let journal = opened(&home, options(100, u64::MAX));
    assert!(matches!(journal.verify(), Err(JournalError::Tampered { .. })));
}
