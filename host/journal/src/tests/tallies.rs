//! The tallies of failures, and how journals without them get the table.

use super::unsettled::with_version;
use super::{Home, append, batch, digest, host_event, id};
use crate::tables::FAILURES;
use crate::{Batch, Journal, JournalError};
use proofport_core::failures::{Mark, Tally};
use proofport_core::id::RequestId;
use proofport_core::time::UnixMillis;
use redb::Database;

const FAILED: Mark = Mark::Failed { within_seconds: 10 };

fn take(journal: &Journal, of: u8, second: u64, whose: &str, mark: Mark) {
    let tally = Some((digest(whose), mark));
    append(journal, Batch { at: UnixMillis(second * 1000), tally, ..batch(of, &["x"]) });
}

fn tally(since: u64, count: u32, last: RequestId) -> Option<Tally> {
    Some(Tally { since: UnixMillis(since * 1000), count, last })
}

/// `loops` failed twice; `worked` succeeded after a failure; `anew` failed in two windows.
fn filled() -> Home {
    let home = Home::new();
    let journal = home.open();
    take(&journal, 1, 1, "loops", FAILED);
    take(&journal, 2, 1, "worked", FAILED);
    take(&journal, 3, 2, "loops", FAILED);
    take(&journal, 2, 3, "worked", Mark::Succeeded);
    take(&journal, 4, 3, "never failed", Mark::Succeeded);
    take(&journal, 5, 4, "anew", FAILED);
    take(&journal, 6, 14, "anew", FAILED);
    check(&journal, "when it was filled");
    journal.close().unwrap();
    home
}

fn check(journal: &Journal, case: &str) {
    let got = |whose: &str| journal.tally(&digest(whose)).unwrap();
    assert_eq!(got("loops"), tally(1, 2, id(3)), "{case}");
    assert_eq!(got("worked"), None, "{case}");
    assert_eq!(got("never failed"), None, "{case}");
    assert_eq!(got("anew"), tally(14, 1, id(6)), "{case}");
    journal.verify().unwrap();
}

fn mark_failed(home: &Home) {
    std::fs::write(home.path.with_extension("redb.lock"), "failed \n").unwrap();
}

type Failures<'a> = redb::Table<'a, &'static [u8; 32], &'static [u8; 28]>;

/// Somebody who can write the file but has no key.
fn alter(home: &Home, change: impl FnOnce(&mut Failures<'_>)) {
    let database = Database::open(&home.path).unwrap();
    let transaction = database.begin_write().unwrap();
    change(&mut transaction.open_table(FAILURES).unwrap());
    transaction.commit().unwrap();
}

#[test]
fn a_tally_outlasts_every_way_of_opening() {
    let case = |case: &str, change: fn(&Home)| {
        let home = filled();
        change(&home);
        let journal = home.open();
        check(&journal, case);
        take(&journal, 7, 15, "loops", FAILED);
        assert_eq!(journal.tally(&digest("loops")).unwrap(), tally(15, 1, id(7)), "{case}");
    };
    case("as it was closed", |_| {});
    case("rewritten", mark_failed);
}

/// Somebody who gives a session its budget back, or takes it away, is found out.
#[test]
fn an_altered_tally_does_not_verify() {
    let check = |change: fn(&mut Failures<'_>)| {
        let home = filled();
        alter(&home, change);
        let verified = home.open().verify();
        assert!(matches!(verified, Err(JournalError::Tampered { .. })), "{verified:?}");
    };
    check(|failures| drop(failures.remove(digest("loops").as_bytes()).unwrap()));
    check(|failures| drop(failures.insert(digest("loops").as_bytes(), &[0; 28]).unwrap()));
    check(|failures| drop(failures.insert(digest("worked").as_bytes(), &[0; 28]).unwrap()));
}

/// Of the time before there were tallies nothing is held against anybody.
#[test]
fn a_journal_of_an_earlier_version_gets_the_table() {
    for version in [1_u64, 2] {
        for rewritten in [false, true] {
            let home = Home::new();
            let journal = home.open();
            append(&journal, batch(1, &["before"]));
            journal.close().unwrap();
            let database = Database::open(&home.path).unwrap();
            let transaction = database.begin_write().unwrap();
            assert!(transaction.delete_table(FAILURES).unwrap());
            transaction.commit().unwrap();
            drop(database);
            with_version(&home, version, false);
            if rewritten {
                mark_failed(&home);
            }
            let journal = home.open();
            assert_eq!(journal.tally(&digest("loops")).unwrap(), None, "{version} {rewritten}");
            take(&journal, 2, 1, "loops", FAILED);
            assert_eq!(journal.tally(&digest("loops")).unwrap(), tally(1, 1, id(2)), "{version} {rewritten}");
            journal.verify().unwrap();
        }
    }
}

#[test]
fn the_hosts_own_events_fail_at_nothing() {
    let home = Home::new();
    let tally = Some((digest("loops"), FAILED));
    let batch = Batch { tally, ..Batch::new(None, UnixMillis(1000), vec![host_event(1)]) };
    let appended = super::block_on(home.open().append(batch));
    assert!(matches!(appended, Err(JournalError::NoInvocation)), "{appended:?}");
}
