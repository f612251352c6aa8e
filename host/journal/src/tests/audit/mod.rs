//! The audit log as cases: what is written verifies, and what anybody does to it is seen.

mod attacks;
mod bodies;
mod golden;
mod heads;
mod journal;
mod laws;
mod removal;
mod seams;
mod text;

use super::unsettled::{ended, settled};
use super::{Home, append, host_event, id, said};
use crate::audit::AuditOptions;
use crate::{Batch, Expected, Finding, Journal, Options, Report, Unreadable, Verifier, Wrong};
use proofport_core::digest::Digest;
use proofport_core::event::{Dispatch, Event};
use proofport_core::evidence::PeerIdentity;
use proofport_core::time::UnixMillis;

fn dispatched() -> Event {
    Event::DispatchStarted(Dispatch {
        generation: 1,
        request: Digest::of_bytes(b"request"),
        peer: PeerIdentity { name: "peer.example".to_owned(), certificate: None },
        key: None,
        at: UnixMillis(1000),
        follows: None,
    })
}

/// Small numbers, so that a short log has everything.
fn options(checkpoint_blocks: u32, segment_bytes: u64) -> Options {
    Options { audit: AuditOptions { checkpoint_blocks, segment_bytes }, ..super::options() }
}

fn opened(home: &Home, options: Options) -> Journal {
    Journal::open(&home.path, home.keys(), options).unwrap()
}

fn take(journal: &Journal, of: u8, events: Vec<Event>) {
    append(journal, Batch::new(Some(id(of)), UnixMillis(1000), events));
}

/// 1 is settled, 2 is recorded as unknown, 3 is open at the head. A checkpoint after every third block.
fn story(home: &Home) -> Journal {
    let journal = opened(home, options(3, u64::MAX));
    append(&journal, Batch::new(None, UnixMillis(900), vec![host_event(1)]));
    take(&journal, 1, vec![said("accepted"), dispatched()]);
    take(&journal, 1, vec![ended(), settled()]);
    take(&journal, 2, vec![dispatched()]);
    take(&journal, 2, vec![ended()]);
    take(&journal, 3, vec![said("accepted"), dispatched()]);
    journal
}

fn exported(journal: &Journal) -> Vec<u8> {
    let mut bytes = Vec::new();
    let exported = journal.export_audit(&mut bytes).unwrap();
    assert_eq!(exported.bytes, bytes.len() as u64);
    assert_eq!(Some((exported.head, exported.key)), journal.audit_head().unwrap());
    bytes
}

fn verified(bytes: &[u8]) -> Report {
    verified_with(Expected::default(), &[bytes]).unwrap()
}

fn verified_with(expected: Expected, files: &[&[u8]]) -> Result<Report, Unreadable> {
    let mut verifier = Verifier::new(expected);
    files.iter().try_for_each(|file| verifier.export(*file))?;
    Ok(verifier.finish())
}

/// That exactly this is found, at this block.
#[track_caller]
fn finds(report: &Report, block: u64, what: Wrong) {
    let found: Vec<_> = report.findings.iter().map(|Finding { block, what, .. }| (*block, *what)).collect();
    assert_eq!(found, [(block, what)], "{report:?}");
}

#[test]
fn what_was_written_verifies() {
    let home = Home::new();
    let journal = story(&home);
    let report = verified(&exported(&journal));
    assert!(report.is_verified(), "{report:?}");
    // A segment's beginning, six blocks of events, and a checkpoint after every third of these.
    assert_eq!((report.first_block, report.head.block, report.segments, report.checkpoints), (1, 9, 1, 2));
    assert_eq!((report.first_event, report.last_event, report.older_events), (1, 9, Some(0)));
    assert_eq!(report.signed_through, report.head.block, "the end of a file is signed");
    let open: Vec<_> = report.open.iter().map(|open| (open.event, open.block)).collect();
    assert_eq!(open, [(9, 9)], "open at the head");
    assert_eq!(report.unsettled, 1);
    assert_eq!(report.head, journal.audit_head().unwrap().unwrap().0);
    assert_eq!(journal.verify_audit(Expected::default()).unwrap().head, report.head);

    // Closing signs what has no signature yet, and is worth a commit only then.
    drop(journal);
    let journal = home.open();
    let report = journal.verify_audit(Expected::default()).unwrap();
    assert_eq!((report.head.block, report.checkpoints, report.signed_through), (10, 3, 9));
    drop(journal);
    let journal = home.open();
    assert_eq!(
        journal.audit_head().unwrap().unwrap().0,
        report.head,
        "nothing was written, nothing is signed"
    );
    journal.verify().unwrap();
}

#[test]
fn a_group_is_one_block() {
    let home = Home::new();
    let journal = home.open();
    for of in 1..=20 {
        journal.ride_along(Batch::new(Some(id(of)), UnixMillis(1), vec![said("x"), said("y")]));
    }
    take(&journal, 21, vec![said("z")]);
    let report = verified(&exported(&journal));
    assert!(report.is_verified(), "{report:?}");
    // A few may have been taken before the others came.
    assert!(report.head.block <= 3 && report.last_event == 41, "{report:?}");
    journal.verify().unwrap();
}

#[test]
fn nothing_is_exported_of_nothing() {
    let home = Home::new();
    let journal = home.open();
    assert_eq!(journal.audit_head().unwrap(), None);
    assert!(matches!(journal.export_audit(&mut Vec::new()), Err(crate::ExportError::Nothing)));
    assert!(journal.verify_audit(Expected::default()).unwrap().is_verified());
}
