//! What records say is in the file for nobody without the key, and journals from before go on.

use super::unsettled::{ended, mark_failed, proves_version, settled, with_version};
use super::{Home, append, batch, digest, host_event, id, texts};
use crate::{Batch, Journal, JournalError};
use proofport_core::time::UnixMillis;

const WORDS: [&str; 3] = ["where-it-went", "SECRET_CHANGED", "TRANSPORT_OBSERVED"];

fn filled() -> Home {
    let home = Home::new();
    let journal = home.open();
    let first = Batch { intents: vec![(digest("intent"), id(1))], ..batch(1, &[WORDS[0], "beta"]) };
    append(&journal, first);
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

fn holds(journal: &Journal, more: &[(u64, &str)]) {
    let expected = [&[(1, WORDS[0]), (2, "beta"), (5, "gamma")], more].concat();
    let expected: Vec<_> = expected.into_iter().map(|(seq, text)| (seq, text.to_owned())).collect();
    assert_eq!(texts(&journal.history(&id(1)).unwrap()), expected);
    assert_eq!(journal.unsettled_invocations().unwrap(), [id(2)]);
    assert_eq!(journal.intents(&digest("intent")).unwrap(), [id(1)]);
    journal.verify().unwrap();
}

#[test]
fn the_file_shows_nobody_what_happened() {
    let home = filled();
    assert_eq!(found(&home), [""; 0]);
    // Whoever guesses a call has its digest, and finds out nothing by it.
    let file = std::fs::read(&home.path).unwrap();
    assert!(!file.windows(32).any(|window| window == digest("intent").as_bytes()));
    holds(&home.open(), &[]);
    with_version(&home, 4, false);
    assert_eq!(found(&home).len(), WORDS.len(), "these words are in a record");
}

#[test]
fn a_journal_from_before_goes_on_and_keeps_its_audit_log() {
    for rewritten in [false, true] {
        let home = filled();
        let head = home.open().audit_head().unwrap();
        assert!(head.is_some());
        with_version(&home, 4, false);
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

/// Somebody kept a copy from when the journal was of an older version, and with it the proof of that.
#[test]
fn nobody_puts_an_older_versions_proof_back() {
    for version in 1..=4 {
        let home = filled();
        proves_version(&home, version);
        let opened = Journal::open(&home.path, home.keys(), super::options());
        assert!(matches!(opened, Err(JournalError::Tampered { .. })), "{version}: {opened:?}");
    }
}
