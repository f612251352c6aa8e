use super::{Home, append, batch, body, digest, host_event, id, options, said, texts};
use crate::{Batch, BodyKind, Journal, JournalError};
use proofport_core::time::UnixMillis;
use redb::backends::InMemoryBackend;
use std::os::unix::fs::PermissionsExt as _;

#[test]
fn everything_is_there_after_reopening() {
    let home = Home::new();
    let journal = home.open();
    let first = Batch {
        invocation: Some(id(1)),
        at: UnixMillis(5000),
        events: vec![said("a"), said("b")],
        bodies: vec![],
        intents: vec![(digest("intent"), id(1))],
        open: Some(true),
        tally: None,
    };
    append(&journal, first);
    append(&journal, batch(2, &["other"]));
    append(&journal, batch(1, &["c"]));
    journal.close().unwrap();

    let journal = home.open();
    let history = journal.history(&id(1)).unwrap();
    assert_eq!(texts(&history), [(1, "a".to_owned()), (2, "b".to_owned()), (4, "c".to_owned())]);
    assert_eq!(history.iter().map(|r| r.at.0).collect::<Vec<_>>(), [5000, 5000, 1000]);
    assert_eq!(journal.intents(&digest("intent")).unwrap(), [id(1)]);
    assert_eq!(journal.intents(&digest("another")).unwrap(), []);
    assert_eq!(journal.open_invocations().unwrap(), [id(1)]);
    assert!(journal.history(&id(9)).unwrap().is_empty());
    assert_eq!(append(&journal, batch(1, &["d"])).first_seq, 5, "the sequence goes on");
    assert_eq!(journal.history(&id(1)).unwrap().len(), 4);
    assert_eq!(journal.verify().unwrap().records, 4);
}

#[test]
fn time_never_goes_back() {
    let home = Home::new();
    let journal = home.open();
    assert_eq!(journal.high_water(), UnixMillis(0));
    let at = |at| Batch::new(Some(id(1)), UnixMillis(at), vec![said("x")]);
    append(&journal, at(7000));
    append(&journal, at(3000));
    assert_eq!(journal.high_water(), UnixMillis(7000));
    drop(journal);
    let journal = home.open();
    assert_eq!(journal.high_water(), UnixMillis(7000), "a restart resets nothing");
    append(&journal, at(4000));
    assert_eq!(journal.high_water(), UnixMillis(7000));
}

#[test]
fn the_open_set_and_intents_follow_the_batches() {
    let home = Home::new();
    let journal = home.open();
    let with =
        |of, open, intent: &str| Batch { open, intents: vec![(digest(intent), id(of))], ..batch(of, &["x"]) };
    append(&journal, with(1, Some(true), "same"));
    append(&journal, with(2, Some(true), "same"));
    assert_eq!(journal.intents(&digest("same")).unwrap(), [id(1), id(2)], "neither hides the other");
    assert_eq!(journal.open_invocations().unwrap(), [id(1), id(2)]);
    append(&journal, batch(1, &["still open"]));
    append(&journal, with(2, Some(false), "other"));
    append(&journal, with(3, Some(false), "never was"));
    assert_eq!(journal.open_invocations().unwrap(), [id(1)]);
    journal.verify().unwrap();
}

#[test]
fn lists_are_newest_first_and_host_events_stand_apart() {
    let home = Home::new();
    let journal = home.open();
    let host = |number| Batch::new(None, UnixMillis(1), vec![host_event(number), host_event(number + 1)]);
    append(&journal, host(10));
    for of in 1..=3 {
        append(&journal, batch(of, &["x"]));
    }
    append(&journal, host(20));
    append(&journal, batch(1, &["again"]));
    assert_eq!(journal.invocations(9).unwrap(), [id(3), id(2), id(1)]);
    assert_eq!(journal.invocations(2).unwrap(), [id(3), id(2)]);
    assert_eq!(journal.invocations(0).unwrap(), []);
    let host = |newest| -> Vec<_> {
        journal.host_events(newest).unwrap().into_iter().map(|r| (r.seq, r.event)).collect()
    };
    let all = [(1, host_event(10)), (2, host_event(11)), (6, host_event(20)), (7, host_event(21))];
    assert_eq!(host(9), all);
    assert_eq!(host(3), all[1..]);
    assert_eq!(host(1), all[3..]);
    assert_eq!(host(0), []);
}

#[test]
fn what_can_not_be_recorded_is_refused() {
    let home = Home::new();
    let journal = home.open();
    let check = |batch: Batch, expected: &str| {
        let error = super::block_on(journal.append(batch)).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    };
    check(batch(1, &[]), "at least one event");
    let host = || Batch::new(None, UnixMillis(1), vec![host_event(1)]);
    check(Batch { bodies: vec![body(BodyKind::Input, "x")], ..host() }, "belong to an invocation");
    check(Batch { open: Some(true), ..host() }, "belong to an invocation");
    let large = vec![crate::Body { kind: BodyKind::Result, bytes: vec![0; 64 * 1024 * 1024] }];
    check(Batch { bodies: large, ..batch(1, &["x"]) }, "larger than 64 MiB");
    assert_eq!(journal.stats().commits, 0);

    let other = journal.clone();
    journal.close().unwrap();
    let error = super::block_on(other.append(batch(1, &["x"]))).unwrap_err();
    assert!(matches!(error, JournalError::Closed), "{error}");
    other.ride_along(batch(1, &["x"]));
    assert!(other.history(&id(1)).unwrap().is_empty(), "reading goes on");
}

#[test]
fn the_files_are_private() {
    let home = Home::new();
    drop(home.open());
    let folder = home.path.parent().unwrap();
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        names.push(entry.file_name().into_string().unwrap());
    }
    names.sort();
    assert_eq!(names, ["journal.redb", "journal.redb.lock"]);
}

#[test]
fn any_storage_will_do() {
    let home = Home::new();
    let journal = Journal::open_with_backend(InMemoryBackend::new(), home.keys(), options()).unwrap();
    append(&journal, batch(1, &["x"]));
    assert_eq!(texts(&journal.history(&id(1)).unwrap()), [(1, "x".to_owned())]);
}
