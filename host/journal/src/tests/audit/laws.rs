//! Whether everything that was dispatched has an end.

use super::{Home, dispatched, ended, exported, finds, opened, options, said, settled, take, verified};
use crate::Wrong;
use crate::audit::Tag;
use crate::audit::form::{Body, parts};

/// The tag of the first invocation in a block of an export.
fn tag_in(export: &[u8], block: usize) -> Tag {
    let blocks = super::text::Parts::of(export).blocks;
    let (header, ..) = parts(&blocks[block - 1]).unwrap();
    let Body::Events(batches) = header.body else { panic!("{header:?}") };
    batches[0].tag
}

#[test]
fn a_dispatch_that_the_next_process_leaves_without_an_end_is_found() {
    let home = Home::new();
    let journal = opened(&home, options(100, u64::MAX));
    take(&journal, 1, vec![said("x"), dispatched()]);
    take(&journal, 2, vec![dispatched()]);
    drop(journal);
    // The next process dispatches before it recorded what became of the first.
    let journal = opened(&home, options(100, u64::MAX));
    take(&journal, 2, vec![ended()]);
    take(&journal, 3, vec![said("x")]);
    assert_eq!(verified(&exported(&journal)).open.len(), 1, "open, and nothing is wrong yet");
    take(&journal, 3, vec![dispatched()]);
    let export = exported(&journal);
    let report = verified(&export);
    // Segment, two blocks, checkpoint at the close; segment, and the third block of the second process.
    finds(&report, 8, Wrong::DispatchWithoutEnd { event: 2, tag: tag_in(&export, 2) });
    assert_eq!(report.open.iter().map(|open| open.event).collect::<Vec<_>>(), [6]);
    // It is the host that broke a law: the log is whole, and so is the journal.
    journal.verify().unwrap();
    assert_eq!(journal.verify_audit(crate::Expected::default()).unwrap().findings.len(), 1);
}

#[test]
fn ends_of_every_kind_are_ends() {
    let home = Home::new();
    let journal = opened(&home, options(2, u64::MAX));
    take(&journal, 1, vec![dispatched(), ended(), settled()]);
    take(&journal, 2, vec![dispatched()]);
    drop(journal);
    let journal = opened(&home, options(2, u64::MAX));
    // Recovery first, then another attempt at the same.
    take(&journal, 2, vec![ended()]);
    take(&journal, 2, vec![dispatched()]);
    take(&journal, 2, vec![ended(), settled()]);
    let report = verified(&exported(&journal));
    assert!(report.is_verified() && report.open.is_empty() && report.unsettled == 0, "{report:?}");
}

#[test]
fn two_attempts_at_once_are_found() {
    let home = Home::new();
    let journal = opened(&home, options(100, u64::MAX));
    take(&journal, 1, vec![dispatched()]);
    take(&journal, 1, vec![said("x"), dispatched()]);
    finds(&verified(&exported(&journal)), 3, Wrong::DispatchTwice { event: 3, before: 1 });
}

/// A full segment is the same process's: what is under way may have its end in the next one.
#[test]
fn a_dispatch_may_end_across_the_seam_of_segments() {
    let home = Home::new();
    let journal = opened(&home, options(100, 1));
    take(&journal, 1, vec![dispatched()]);
    take(&journal, 2, vec![dispatched()]);
    take(&journal, 1, vec![ended()]);
    let report = verified(&exported(&journal));
    assert!(report.is_verified() && report.segments == 3 && report.open.len() == 1, "{report:?}");
}
