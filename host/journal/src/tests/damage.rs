use super::{CANARY, Home, append, batch, body, digest, id, options, texts};
use crate::keys::Authenticator;
use crate::record::{self, Place, Record};
use crate::tables::{self, BODIES, HEADS, INTENTS, OPEN, RECORDS};
use crate::{Batch, BodyKind, Journal, JournalError, JournalKeys};
use proofport_core::time::UnixMillis;
use redb::{Database, ReadableDatabase as _, ReadableTable as _, WriteTransaction};
use std::process::Command;
use zeroize::Zeroizing;

/// Records at 1 (id 1), 2–3 (id 2), 4 (id 1), 5 (id 3), with bodies at 1 and 5.
fn filled() -> Home {
    let home = Home::new();
    let journal = home.open();
    let first = Batch {
        bodies: vec![body(BodyKind::Input, "first-body")],
        intents: vec![(digest("first"), id(1))],
        open: Some(true),
        ..batch(1, &["alpha"])
    };
    append(&journal, first);
    append(&journal, batch(2, &["beta", "gamma"]));
    append(&journal, batch(1, &["delta"]));
    append(&journal, Batch { bodies: vec![body(BodyKind::Input, "last-body")], ..batch(3, &["epsilon"]) });
    journal.verify().unwrap();
    journal.close().unwrap();
    home
}

/// Somebody who can write the file but has no key.
fn alter(home: &Home, change: impl FnOnce(&WriteTransaction)) -> Journal {
    let database = Database::open(&home.path).unwrap();
    let transaction = database.begin_write().unwrap();
    change(&transaction);
    transaction.commit().unwrap();
    drop(database);
    home.open()
}

#[track_caller]
fn tampered<T: std::fmt::Debug>(result: Result<T, JournalError>, at: u64) {
    let Err(JournalError::Tampered { seq }) = result else { panic!("{result:?}") };
    assert_eq!(seq, at);
}

fn rewrite_record(transaction: &WriteTransaction, seq: u64, change: impl FnOnce(&mut Vec<u8>)) {
    let mut records = transaction.open_table(RECORDS).unwrap();
    let mut bytes = records.get(seq).unwrap().unwrap().value().to_vec();
    change(&mut bytes);
    records.insert(seq, bytes.as_slice()).unwrap();
}

#[test]
fn every_flipped_byte_of_a_record_is_seen() {
    let authenticator = Authenticator::new(&[7; 32]);
    let place = Place {
        first_seq: 4,
        last_seq: 5,
        previous: 1,
        at: UnixMillis(1000),
        high_water: UnixMillis(2000),
        invocation: Some(id(1)),
    };
    let json = record::encode_payload(&batch(1, &["alpha", "beta"]), &[]).unwrap();
    let encrypted = record::encrypt_payload(&authenticator, &json).unwrap();
    // And as earlier versions stored it.
    for payload in [encrypted, json] {
        every_flip(&authenticator, &record::encode(&authenticator, &place, &[9; 32], &payload).0);
    }
}

fn every_flip(authenticator: &Authenticator, bytes: &[u8]) {
    let events = |seq, bytes: &[u8]| Record::verified(authenticator, seq, bytes)?.recorded();
    assert_eq!(texts(&events(4, bytes).unwrap()), [(4, "alpha".to_owned()), (5, "beta".to_owned())]);
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut bytes = bytes.to_vec();
            bytes[at] ^= 1 << bit;
            tampered(events(4, &bytes), 4);
        }
        tampered(events(4, &bytes[..at]), 4);
    }
    tampered(events(3, bytes), 3);
    let other = Authenticator::new(&[8; 32]);
    assert!(Record::verified(&other, 4, bytes).is_err());
}

#[test]
fn a_changed_record_is_seen_wherever_it_is_read() {
    let home = filled();
    let journal = alter(&home, |transaction| rewrite_record(transaction, 1, |bytes| bytes[80] ^= 1));
    tampered(journal.history(&id(1)), 1);
    tampered(journal.body(&id(1), BodyKind::Input), 1);
    tampered(journal.invocations(9), 1);
    tampered(journal.verify(), 1);
    assert_eq!(journal.history(&id(2)).unwrap().len(), 2, "others are not touched");
}

#[test]
fn a_changed_byte_in_the_file_is_seen() {
    let home = filled();
    let mut file = std::fs::read(&home.path).unwrap();
    let database = Database::open(&home.path).unwrap();
    let records = database.begin_read().unwrap().open_table(RECORDS).unwrap();
    let needle = records.get(1).unwrap().unwrap().value().to_vec();
    drop(database);
    let places: Vec<_> =
        (0..file.len() - needle.len()).filter(|at| file[*at..].starts_with(&needle)).collect();
    assert!(!places.is_empty());
    // A byte of the ciphertext.
    places.iter().for_each(|at| file[at + needle.len() - 20] ^= 1);
    std::fs::write(&home.path, file).unwrap();
    tampered(home.open().history(&id(1)), 1);
}

#[test]
fn removed_moved_and_forged_records_are_seen() {
    let check = |at: u64, change: &dyn Fn(&WriteTransaction)| {
        let home = filled();
        let journal = alter(&home, change);
        tampered(journal.verify(), at);
    };
    let take = |transaction: &WriteTransaction, seq: u64| {
        transaction.open_table(RECORDS).unwrap().remove(seq).unwrap().unwrap().value().to_vec()
    };
    let put = |transaction: &WriteTransaction, seq: u64, bytes: &[u8]| {
        transaction.open_table(RECORDS).unwrap().insert(seq, bytes).unwrap();
    };
    // Removed: the next one doesn't follow its predecessor.
    check(2, &|transaction| drop(take(transaction, 1)));
    check(4, &|transaction| drop(take(transaction, 2)));
    // Swapped.
    check(1, &|transaction| {
        let (first, second) = (take(transaction, 1), take(transaction, 2));
        put(transaction, 1, &second);
        put(transaction, 2, &first);
    });
    // Repeated somewhere else.
    check(3, &|transaction| {
        let first = take(transaction, 1);
        put(transaction, 1, &first);
        put(transaction, 3, &first);
    });
    check(2, &|transaction| rewrite_record(transaction, 2, |bytes| bytes.truncate(20)));
}

#[test]
fn an_authentic_record_of_another_past_is_seen() {
    // The same journal goes on in two ways; then a record of the one is put into the other. It is
    // authentic, it fits by number and by invocation, and only what comes after it knows better.
    let home = Home::new();
    let journal = home.open();
    append(&journal, batch(1, &["common"]));
    drop(journal);
    let common = std::fs::read(&home.path).unwrap();
    let journal = home.open();
    append(&journal, batch(1, &["refused"]));
    drop(journal);
    let database = Database::open(&home.path).unwrap();
    let transaction = database.begin_write().unwrap();
    let other = transaction.open_table(RECORDS).unwrap().get(2).unwrap().unwrap().value().to_vec();
    drop(transaction);
    drop(database);
    std::fs::write(&home.path, common).unwrap();
    let journal = home.open();
    append(&journal, batch(1, &["charged"]));
    append(&journal, batch(1, &["settled"]));
    drop(journal);
    let journal = alter(&home, |transaction| rewrite_record(transaction, 2, |bytes| *bytes = other));
    tampered(journal.verify(), 3);
}

#[test]
fn bodies_of_one_invocation_and_kind_can_not_be_exchanged() {
    let home = Home::new();
    let journal = home.open();
    for text in ["first", "second"] {
        append(&journal, Batch { bodies: vec![body(BodyKind::Response, text)], ..batch(1, &["x"]) });
    }
    drop(journal);
    let journal = alter(&home, |transaction| {
        let mut bodies = transaction.open_table(BODIES).unwrap();
        let first = bodies.get((1, 0)).unwrap().unwrap().value().to_vec();
        bodies.insert((2, 0), first.as_slice()).unwrap();
    });
    tampered(journal.body(&id(1), BodyKind::Response), 2);
    tampered(journal.verify(), 2);
}

#[test]
fn altered_indexes_are_seen_by_a_whole_verification() {
    let check = |change: &dyn Fn(&WriteTransaction)| {
        let home = filled();
        let journal = alter(&home, change);
        assert!(matches!(journal.verify(), Err(JournalError::Tampered { .. })));
        journal
    };
    // A head set back hides the end of a history.
    let journal = check(&|transaction| {
        transaction.open_table(HEADS).unwrap().insert(&id(1).as_bytes()[..], 1).unwrap();
    });
    assert_eq!(texts(&journal.history(&id(1)).unwrap()), [(1, "alpha".to_owned())]);
    drop(journal);
    // A head that points to another's record, or to nothing.
    let journal = check(&|transaction| {
        transaction.open_table(HEADS).unwrap().insert(&id(1).as_bytes()[..], 2).unwrap();
    });
    tampered(journal.history(&id(1)), 2);
    drop(journal);
    let journal = check(&|transaction| {
        transaction.open_table(HEADS).unwrap().insert(&id(1).as_bytes()[..], 99).unwrap();
    });
    tampered(journal.history(&id(1)), 99);
    drop(journal);
    check(&|transaction| {
        transaction.open_table(HEADS).unwrap().remove(&id(3).as_bytes()[..]).unwrap();
    });
    check(&|transaction| {
        transaction
            .open_table(INTENTS)
            .unwrap()
            .remove(&tables::intent_key(&Authenticator::new(&[7; 32]), &digest("first"), &id(1)))
            .unwrap();
    });
    check(&|transaction| {
        transaction
            .open_table(INTENTS)
            .unwrap()
            .insert(&tables::intent_key(&Authenticator::new(&[7; 32]), &digest("first"), &id(2)), ())
            .unwrap();
    });
    check(&|transaction| {
        transaction.open_table(OPEN).unwrap().remove(id(1).as_bytes()).unwrap();
    });
    check(&|transaction| {
        transaction.open_table(OPEN).unwrap().insert(id(2).as_bytes(), ()).unwrap();
    });
}

#[test]
fn altered_bodies_are_seen() {
    let check = |change: &dyn Fn(&WriteTransaction)| {
        let home = filled();
        let journal = alter(&home, change);
        tampered(journal.body(&id(1), BodyKind::Input), 1);
        assert!(matches!(journal.verify(), Err(JournalError::Tampered { .. })));
    };
    check(&|transaction| {
        transaction.open_table(BODIES).unwrap().remove((1, 0)).unwrap();
    });
    check(&|transaction| {
        let mut bodies = transaction.open_table(BODIES).unwrap();
        let other = bodies.get((5, 0)).unwrap().unwrap().value().to_vec();
        bodies.insert((1, 0), other.as_slice()).unwrap();
    });
    check(&|transaction| {
        let mut bodies = transaction.open_table(BODIES).unwrap();
        let mut bytes = bodies.get((1, 0)).unwrap().unwrap().value().to_vec();
        bytes[40] ^= 1;
        bodies.insert((1, 0), bytes.as_slice()).unwrap();
    });
}

#[test]
fn a_changed_last_record_stops_the_opening() {
    let home = filled();
    let database = Database::open(&home.path).unwrap();
    let transaction = database.begin_write().unwrap();
    rewrite_record(&transaction, 5, |bytes| bytes[70] ^= 1);
    transaction.commit().unwrap();
    drop(database);
    tampered(Journal::open(&home.path, home.keys(), options()), 5);
}

#[test]
fn other_files_are_named_for_what_they_are() {
    let home = filled();
    let whole = std::fs::read(&home.path).unwrap();
    let check = |bytes: &[u8], expected: &str| {
        std::fs::write(&home.path, bytes).unwrap();
        let error = Journal::open(&home.path, home.keys(), options()).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains(home.path.to_str().unwrap()), "{error}");
    };
    check(b"", "is not a Proofport journal");
    check(b"hello, this is a text", "is not a Proofport journal");
    for length in [9, 100, 511, 512, 4096, 5000, whole.len() / 2, whole.len() - 1] {
        check(&whole[..length], "is damaged");
    }
    std::fs::remove_file(&home.path).unwrap();
    drop(Database::create(&home.path).unwrap());
    let bytes = std::fs::read(&home.path).unwrap();
    check(&bytes, "is not a Proofport journal");

    std::fs::write(&home.path, whole).unwrap();
    let keys = JournalKeys { event_mac: Zeroizing::new([8; 32]), ..home.keys() };
    let error = Journal::open(&home.path, keys, options()).unwrap_err();
    assert!(matches!(error, JournalError::OtherVault { .. }), "{error}");
}

const CHILD: &str = "PROOFPORT_TEST_DAMAGED_JOURNAL_PATH";

/// Runs as a process of its own when the variable names a journal; otherwise there is nothing to do.
#[test]
fn child_that_reads_what_is_damaged() {
    let Ok(path) = std::env::var(CHILD) else { return };
    let journal = Journal::open(path.as_ref(), Home::new().locked_keys(), options()).unwrap();
    for of in 1..=3 {
        match journal.history(&id(of)) {
            Ok(history) => println!("child: {of} {:?}", texts(&history)),
            Err(_) => println!("child: {of} refused"),
        }
    }
    println!("child: verified {}", journal.verify().is_ok());
}

/// What another process reads in the file: one line for each invocation, and whether all verified. redb
/// trusts its pages, and a panic in one of its destructors ends the process.
fn read_by_a_child(home: &Home) -> (Vec<String>, bool) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tests::damage::child_that_reads_what_is_damaged", "--nocapture"])
        .env(CHILD, &home.path)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("child: ")).collect();
    let histories = lines.iter().filter(|line| !line.starts_with("verified"));
    (histories.map(|line| (*line).to_owned()).collect(), lines.contains(&"verified true"))
}

#[test]
fn damage_anywhere_never_shows_something_else() {
    let home = filled();
    let whole = std::fs::read(&home.path).unwrap();
    let (expected, verified) = read_by_a_child(&home);
    assert!(verified && expected.len() == 3, "{expected:?}");
    let used: Vec<usize> = (0..whole.len()).filter(|at| whole[*at] != 0).collect();
    let mut seen = 0;
    for at in used.iter().step_by(used.len() / 150 + 1) {
        let mut bytes = whole.clone();
        bytes[*at] ^= 0x10;
        std::fs::write(&home.path, bytes).unwrap();
        let (histories, verified) = read_by_a_child(&home);
        for (history, expected) in histories.iter().zip(&expected) {
            // Shortened at its end is what only the whole verification can see.
            let shortened = expected.starts_with(history.trim_end_matches(']'));
            let fine = history == expected || history.ends_with("refused") || (shortened && !verified);
            assert!(fine, "byte {at}: {history}");
        }
        assert!(!verified || histories == expected, "byte {at}: {histories:?}");
        seen += usize::from(!verified);
    }
    assert!(seen > 0, "the flips hit nothing");
}

#[test]
fn errors_carry_no_bodies() {
    let home = Home::new();
    let journal = home.open();
    append(&journal, Batch { bodies: vec![body(BodyKind::Input, CANARY)], ..batch(1, &["x"]) });
    drop(journal);
    let journal = alter(&home, |transaction| {
        transaction.open_table(BODIES).unwrap().remove((1, 0)).unwrap();
    });
    let error = journal.body(&id(1), BodyKind::Input).unwrap_err();
    assert!(!format!("{error} {error:?} {journal:?}").contains(CANARY));
}
