//! What records say is in the file for nobody without the key, and journals from before go on.

use super::unsettled::{ended, mark_failed, settled, with_version};
use super::{Home, append, batch, host_event, id, texts};
use crate::audit::State;
use crate::keys::Authenticator;
use crate::record::{self, BEFORE_ALL, Record};
use crate::tables::{self, RECORDS};
use crate::{Batch, Journal};
use proofport_core::time::UnixMillis;
use redb::{Database, ReadableDatabase as _, ReadableTable as _};

const WORDS: [&str; 3] = ["where-it-went", "SECRET_CHANGED", "TRANSPORT_OBSERVED"];

fn filled() -> Home {
    let home = Home::new();
    let journal = home.open();
    append(&journal, batch(1, &[WORDS[0], "beta"]));
    append(&journal, Batch::new(None, UnixMillis(1000), vec![host_event(7)]));
    append(&journal, Batch::new(Some(id(2)), UnixMillis(1000), vec![ended()]));
    append(&journal, batch(1, &["gamma"]));
    journal.close().unwrap();
    home
}

/// Which of the words somebody finds who reads the file.
fn found(home: &Home) -> Vec<&'static str> {
    let file = std::fs::read(&home.path).unwrap().to_ascii_uppercase();
    let is_there = |word: &&str| {
        let word = word.to_ascii_uppercase();
        file.windows(word.len()).any(|window| window == word.as_bytes())
    };
    WORDS.into_iter().filter(is_there).collect()
}

/// Makes of it what the fourth version wrote: what records say is stored as it is.
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
        let head = tables::audit_head(&database.begin_read().unwrap()).unwrap().unwrap();
        let state = State::decode(&head, &key, &before).unwrap();
        tables::write_audit_head(&transaction, &state.encode(&key, &code)).unwrap();
    }
    transaction.commit().unwrap();
    drop(database);
    with_version(home, 4, false);
}

fn holds(journal: &Journal, more: &[(u64, &str)]) {
    let expected = [&[(1, WORDS[0]), (2, "beta"), (5, "gamma")], more].concat();
    let expected: Vec<_> = expected.into_iter().map(|(seq, text)| (seq, text.to_owned())).collect();
    assert_eq!(texts(&journal.history(&id(1)).unwrap()), expected);
    assert_eq!(journal.unsettled_invocations().unwrap(), [id(2)]);
    journal.verify().unwrap();
}

#[test]
fn the_file_shows_nobody_what_happened() {
    let home = filled();
    assert_eq!(found(&home), [""; 0]);
    holds(&home.open(), &[]);
    in_the_clear(&home);
    assert_eq!(found(&home).len(), WORDS.len(), "these words are in a record");
}

#[test]
fn a_journal_from_before_goes_on_and_keeps_its_audit_log() {
    for rewritten in [false, true] {
        let home = filled();
        let head = home.open().audit_head().unwrap();
        assert!(head.is_some());
        in_the_clear(&home);
        if rewritten {
            mark_failed(&home);
        }
        let journal = home.open();
        assert_eq!(journal.audit_head().unwrap(), head);
        holds(&journal, &[]);
        append(&journal, batch(1, &["delta-is-new"]));
        holds(&journal, &[(6, "delta-is-new")]);
        journal.close().unwrap();
        let file = std::fs::read(&home.path).unwrap();
        assert!(!file.windows(12).any(|window| window == b"delta-is-new"));
        let journal = home.open();
        append(&journal, Batch::new(Some(id(2)), UnixMillis(1000), vec![settled()]));
        assert_eq!(journal.unsettled_invocations().unwrap(), []);
        journal.verify().unwrap();
    }
}
