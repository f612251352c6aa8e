//! Who reads a body, and who doesn't.

use super::super::{CANARY, body};
use super::{Home, append, dispatched, ended, exported, host_event, id, opened, options, said, settled};
use crate::{AuditEntry, Batch, BodyKind, NotOpened, open_export};
use age::secrecy::ExposeSecret as _;
use proofport_core::event::Event;
use proofport_core::secret::Secret;
use proofport_core::time::UnixMillis;

fn operator(home: &Home) -> Secret {
    Secret::new(home.operator.to_string().expose_secret().as_bytes().to_vec())
}

/// Three segments, with a restart between the second and the third.
fn written(home: &Home) -> (Vec<u8>, Vec<Vec<Event>>) {
    let batches = vec![
        vec![host_event(3)],
        vec![said(CANARY), dispatched()],
        vec![ended(), settled()],
        vec![said("last")],
    ];
    let journal = opened(home, options(2, 1));
    append(&journal, Batch::new(None, UnixMillis(7), batches[0].clone()));
    let bodies = vec![body(BodyKind::Input, CANARY)];
    append(&journal, Batch { bodies, ..Batch::new(Some(id(1)), UnixMillis(8), batches[1].clone()) });
    drop(journal);
    let journal = opened(home, options(2, u64::MAX));
    append(&journal, Batch::new(Some(id(1)), UnixMillis(9), batches[2].clone()));
    journal.ride_along(Batch::new(Some(id(1)), UnixMillis(10), batches[3].clone()));
    drop(journal);
    (exported(&home.open()), batches)
}

#[test]
fn the_operator_reads_what_happened() {
    let home = Home::new();
    let (export, batches) = written(&home);
    let mut found = Vec::new();
    open_export(&export[..], &operator(&home), |entry| found.push(entry)).unwrap();
    let events: Vec<_> = found.iter().map(|entry| entry.events.clone()).collect();
    assert_eq!(events, batches);
    let places: Vec<_> = found
        .iter()
        .map(|AuditEntry { first_event, invocation, at, .. }| (*first_event, *invocation, at.0))
        .collect();
    assert_eq!(places, [(1, None, 7), (2, Some(id(1)), 8), (4, Some(id(1)), 9), (6, Some(id(1)), 10)]);
}

#[test]
fn nobody_else_does() {
    let home = Home::new();
    let (export, _) = written(&home);
    let other =
        Secret::new(age::x25519::Identity::generate().to_string().expose_secret().as_bytes().to_vec());
    // Not even the vault, whose identity opens bodies.
    for identity in [home.identity(), other] {
        let opened = open_export(&export[..], &identity, |entry| panic!("{entry:?}"));
        assert!(matches!(opened, Err(NotOpened::OtherRecipient { block: 1, .. })), "{opened:?}");
    }
    let none = open_export(&export[..], &Secret::new(b"# nothing\n".to_vec()), |entry| panic!("{entry:?}"));
    assert!(matches!(none, Err(NotOpened::BadIdentity)), "{none:?}");
    // What stands in the clear names nobody and holds nothing.
    let shows = |what: &[u8]| export.windows(what.len()).any(|window| window == what);
    assert!(!shows(CANARY.as_bytes()) && !shows(b"peer.example") && !shows(b"JobAccepted"));
    assert!(!shows(id(1).as_bytes()) && !shows(id(1).to_string().as_bytes()));
}

#[test]
fn altered_bodies_do_not_open() {
    let home = Home::new();
    let (export, _) = written(&home);
    let mut parts = super::text::Parts::of(&export);
    let last = parts.blocks[1].len() - 1;
    parts.blocks[1][last] ^= 1;
    let opened = open_export(&parts.join()[..], &operator(&home), |_| ());
    assert!(matches!(opened, Err(NotOpened::Altered { block: 2 })), "{opened:?}");
    // What is listed in the clear belongs to it.
    let mut parts = super::text::Parts::of(&export);
    parts.change(1, |header| header.at += 1);
    let opened = open_export(&parts.join()[..], &operator(&home), |_| ());
    assert!(matches!(opened, Err(NotOpened::Altered { block: 2 })), "{opened:?}");
}
