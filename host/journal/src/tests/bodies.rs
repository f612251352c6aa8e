use super::{CANARY, Home, append, batch, body, id, options, read};
use crate::{Batch, BodyKind, Journal, JournalError, JournalKeys};
use proofport_core::secret::Secret;

#[test]
fn bodies_come_back_and_are_not_on_disk() {
    let home = Home::new();
    let journal = home.open();
    let bodies = vec![body(BodyKind::Input, CANARY), body(BodyKind::Request, &format!("{CANARY}{CANARY}"))];
    append(&journal, Batch { bodies, ..batch(1, &["x"]) });
    append(&journal, Batch { bodies: vec![body(BodyKind::Input, "")], ..batch(2, &["x"]) });
    let check = |journal: &Journal| {
        assert_eq!(read(journal, 1, BodyKind::Input), Some(CANARY.to_owned()));
        assert_eq!(read(journal, 1, BodyKind::Request), Some(format!("{CANARY}{CANARY}")));
        assert_eq!(read(journal, 1, BodyKind::Result), None);
        assert_eq!(read(journal, 2, BodyKind::Input), Some(String::new()));
        assert_eq!(read(journal, 3, BodyKind::Input), None);
    };
    check(&journal);
    journal.close().unwrap();
    for entry in std::fs::read_dir(home.path.parent().unwrap()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(!bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes()));
        assert!(!bytes.windows(10).any(|window| window == b"AGE-SECRET"));
    }
    check(&home.open());
}

#[test]
fn the_newest_body_of_a_kind_counts() {
    let home = Home::new();
    let journal = home.open();
    let with = |texts: &[&str]| Batch {
        bodies: texts.iter().map(|text| body(BodyKind::Response, text)).collect(),
        ..batch(1, &["x"])
    };
    append(&journal, with(&["first"]));
    append(&journal, with(&["second", "third"]));
    append(&journal, Batch { bodies: vec![body(BodyKind::Result, "result")], ..batch(1, &["x"]) });
    append(&journal, batch(1, &["no body"]));
    assert_eq!(read(&journal, 1, BodyKind::Response), Some("third".to_owned()));
    assert_eq!(read(&journal, 1, BodyKind::Result), Some("result".to_owned()));
    journal.verify().unwrap();
}

#[test]
fn a_locked_host_stores_and_does_not_read() {
    let home = Home::new();
    let journal = Journal::open(&home.path, home.locked_keys(), options()).unwrap();
    append(&journal, Batch { bodies: vec![body(BodyKind::Result, CANARY)], ..batch(1, &["x"]) });
    assert!(journal.bodies_locked());
    let locked = |journal: &Journal| {
        let error = journal.body(&id(1), BodyKind::Result).unwrap_err();
        assert!(matches!(error, JournalError::BodiesLocked), "{error}");
    };
    locked(&journal);
    assert_eq!(journal.history(&id(1)).unwrap().len(), 1, "events are no bodies");
    assert!(matches!(journal.body(&id(1), BodyKind::Input), Ok(None)));

    journal.unlock_bodies(&home.identity()).unwrap();
    assert_eq!(read(&journal, 1, BodyKind::Result), Some(CANARY.to_owned()));
    journal.lock_bodies();
    locked(&journal);
    append(&journal, Batch { bodies: vec![body(BodyKind::Result, "more")], ..batch(1, &["x"]) });
    drop(journal);
    assert_eq!(read(&home.open(), 1, BodyKind::Result), Some("more".to_owned()));
}

#[test]
fn another_vaults_identity_opens_nothing() {
    let home = Home::new();
    let journal = home.open();
    append(&journal, Batch { bodies: vec![body(BodyKind::Result, CANARY)], ..batch(1, &["x"]) });
    journal.unlock_bodies(&Home::new().identity()).unwrap();
    let error = journal.body(&id(1), BodyKind::Result).unwrap_err();
    assert!(matches!(error, JournalError::OtherRecipient), "{error}");
}

#[test]
fn keys_that_are_none_are_refused() {
    let home = Home::new();
    let check = |keys: JournalKeys, expected: &str| {
        let error = Journal::open(&home.path, keys, options()).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    };
    check(JournalKeys { seal_recipient: "age1nothing".to_owned(), ..home.keys() }, "age X25519 recipient");
    let wrong = Some(Secret::new(b"AGE-SECRET-KEY-hunter2".to_vec()));
    check(JournalKeys { seal_identity: wrong, ..home.keys() }, "age X25519 identity");
    drop(home.open());
}

#[test]
fn an_epoch_is_stored_once_and_only_when_used() {
    use crate::tables::EPOCHS;
    use redb::{ReadableDatabase as _, ReadableTableMetadata as _};
    let home = Home::new();
    let check = |with_body: bool, expected: u64| {
        let journal = home.open();
        for _ in 0..3 {
            let bodies = if with_body { vec![body(BodyKind::Input, "x")] } else { vec![] };
            append(&journal, Batch { bodies, ..batch(1, &["x"]) });
        }
        let transaction = journal.shared.database().unwrap().begin_read().unwrap();
        assert_eq!(transaction.open_table(EPOCHS).unwrap().len().unwrap(), expected);
    };
    check(false, 0);
    check(true, 1);
    check(false, 1);
    check(true, 2);
}

#[test]
fn what_is_sealed_opens_in_its_own_slot_only() {
    use crate::seal::{OVERHEAD, Opener, Sealer, Slot};
    let home = Home::new();
    let sealer = Sealer::new(1, &home.keys().seal_recipient).unwrap();
    let opener = Opener::new(Some(&home.identity())).unwrap();
    let (one, other) = (id(1), id(2));
    let slots = [
        Slot::Body(&one, BodyKind::Input),
        Slot::Body(&one, BodyKind::Result),
        Slot::Body(&other, BodyKind::Input),
        Slot::Chunk(&one, 0),
        Slot::Chunk(&one, 1),
        Slot::Chunk(&other, 0),
        Slot::Marker(&one),
        Slot::Marker(&other),
    ];
    for (from, slot) in slots.into_iter().enumerate() {
        let sealed = sealer.seal(slot, CANARY.as_bytes()).unwrap();
        assert_eq!(sealed.len(), CANARY.len() + OVERHEAD);
        for (to, slot) in slots.into_iter().enumerate() {
            let opened = opener.open(slot, &sealed, |_| Ok(Some(sealer.wrapped.clone()))).unwrap();
            assert_eq!(opened.is_some(), from == to, "{from} as {to}");
        }
    }
}
