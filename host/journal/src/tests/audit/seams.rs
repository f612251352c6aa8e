//! Segments, keys, and what was taken out after it had been exported.

use super::super::block_on;
use super::text::Parts;
use super::{
    Home, dispatched, ended, exported, finds, opened, options, said, story, take, verified, verified_with,
};
use crate::{
    AuditKeys, Expected, Export, ExportError, Held, Journal, JournalError, JournalKeys, RemoveError, Removed,
    Then, Wrong,
};
use zeroize::Zeroizing;

fn with_seeds(home: &Home, seeds: &[u8]) -> JournalKeys {
    let seeds = seeds.iter().map(|seed| Zeroizing::new([*seed; 32])).collect();
    let keys = home.keys();
    JournalKeys { audit: AuditKeys { seeds, ..keys.audit }, ..keys }
}

fn remove(journal: &Journal, file: &[u8]) -> Result<Removed, RemoveError> {
    block_on(journal.remove_exported_audit(Held::by(file)?))
}

/// Case 27: rotating is no tampering, and a second writer is refused.
#[test]
fn a_log_verifies_across_its_seams() {
    let home = Home::new();
    let journal = opened(&home, options(100, 1));
    for of in 1..=4 {
        take(&journal, of, vec![said("x"), dispatched(), ended()]);
    }
    let second = Journal::open(&home.path, home.keys(), super::super::options());
    assert!(matches!(second, Err(JournalError::AlreadyOpen { .. })), "{second:?}");
    let report = verified(&exported(&journal));
    assert!(report.is_verified(), "{report:?}");
    // Each segment but the last is closed by a checkpoint.
    assert_eq!((report.segments, report.checkpoints, report.head.block), (4, 3, 11));
    assert_eq!(report.last_event, 12);
    journal.verify().unwrap();
    drop(journal);
    let journal = opened(&home, options(100, u64::MAX));
    take(&journal, 5, vec![said("x")]);
    let report = verified(&exported(&journal));
    assert!(report.is_verified() && report.segments == 5, "{report:?}");
}

#[test]
fn exported_segments_can_be_taken_out_and_the_chain_goes_on() {
    let home = Home::new();
    let journal = opened(&home, options(100, 1));
    take(&journal, 1, vec![said("x"), dispatched()]);
    take(&journal, 2, vec![said("x")]);
    take(&journal, 1, vec![ended()]);
    let older = exported(&journal);
    // Segments at blocks 1, 4, 7; the last one is being written.
    let before = journal.stats().commits;
    let removed = remove(&journal, &older).unwrap();
    assert_eq!(removed, Removed { first: 1, last: 6 });
    assert_eq!(journal.stats().commits - before, 2, "one for each, so that calls go on in between");
    journal.verify().unwrap();
    take(&journal, 3, vec![said("y")]);
    let newer = exported(&journal);
    let part = verified(&newer);
    assert!(part.is_verified(), "{part:?}");
    assert_eq!((part.first_block, part.removed_through, part.first_event), (7, 6, 4));
    assert_eq!(part.older_events, None);
    assert!(exported(&journal).windows(6).all(|window| window != b"canary"));
    // The heads of the part that was taken out are known at the seam.
    let seam = crate::Head { block: 6, hash: part.before };
    let expecting = |head| Expected { heads: vec![head], key: None };
    assert!(verified_with(expecting(seam), &[&older]).unwrap().is_verified());
    assert!(verified_with(expecting(seam), &[&newer]).unwrap().is_verified());
    let early = crate::Head { block: 3, ..seam };
    finds(&verified_with(expecting(early), &[&newer]).unwrap(), 7, Wrong::BeginsAfter { expected: 3 });

    // Both parts, one after the other, where the first ends before the second begins.
    let mut first = Parts::of(&older);
    first.blocks.truncate(6);
    first.sign_end(&ed25519_dalek::SigningKey::from_bytes(&[9; 32]));
    let report = verified_with(Expected::default(), &[&first.join(), &newer]).unwrap();
    assert!(report.is_verified() && report.first_block == 1 && report.open.is_empty(), "{report:?}");
    let report = verified_with(Expected::default(), &[&newer, &first.join()]).unwrap();
    assert!(!report.is_verified(), "in the wrong order");
    // As they were exported, each to its own end, the second has what the first ends with.
    let report = verified_with(Expected::default(), &[&older, &newer]).unwrap();
    assert!(report.is_verified() && report.first_block == 1, "{report:?}");
    assert_eq!(report.head, part.head);
    assert!(verified_with(Expected::default(), &[&older, &older, &newer]).unwrap().is_verified());
    let report = verified_with(Expected::default(), &[&newer, &older]).unwrap();
    assert!(!report.is_verified(), "in the wrong order");
    // What both hold must be the same.
    let mut other = Parts::of(&newer);
    other.change(2, |header| header.at += 1);
    let report = verified_with(Expected::default(), &[&older, &other.join()]).unwrap();
    assert!(!report.is_verified(), "{report:?}");

    // It goes on like that after a restart, and a rewrite.
    let (head, _) = journal.audit_head().unwrap().unwrap();
    drop(journal);
    super::super::unsettled::mark_failed(&home);
    let journal = opened(&home, options(100, 1));
    journal.verify().unwrap();
    assert_eq!(verified(&exported(&journal)).first_block, 7);
    assert!(journal.audit_head().unwrap().unwrap().0.block > head.block);
}

/// The parts of an export are of one file, whatever is recorded between them; unless it is taken out.
#[test]
fn an_export_goes_on_while_the_log_does() {
    let home = Home::new();
    let journal = opened(&home, options(100, 1));
    (1..=4).for_each(|of| take(&journal, of, vec![said("x")]));
    let older = exported(&journal);
    let begun = || {
        let part = journal.export_audit_part(Export::default()).unwrap();
        let Then::More(next) = part.then else { panic!("it has one part") };
        (part.bytes, next)
    };
    let (mut file, mut next) = begun();
    let exported = loop {
        if file.len() < 2000 {
            take(&journal, 5, vec![said("y")]);
        }
        let part = journal.export_audit_part(next).unwrap();
        file.extend(part.bytes);
        match part.then {
            Then::More(more) => next = more,
            Then::End(exported) => break exported,
        }
        assert!(file.len() < 100_000, "each part has a block at least");
    };
    assert_eq!(exported.bytes, file.len() as u64);
    let expected = Expected { heads: vec![exported.head], key: Some(exported.key) };
    let report = verified_with(expected, &[&file]).unwrap();
    assert!(report.is_verified() && report.head == exported.head, "{report:?}");
    let (_, next) = begun();
    remove(&journal, &older).unwrap();
    let error = journal.export_audit_part(next).err().unwrap();
    assert!(matches!(error, ExportError::Removed), "{error}");
}

#[test]
fn only_what_a_whole_export_holds_is_taken_out() {
    let check = |change: &dyn Fn(&mut Vec<u8>), expected: fn(&RemoveError) -> bool| {
        let home = Home::new();
        let journal = opened(&home, options(100, 1));
        for of in 1..=3 {
            take(&journal, of, vec![said("x")]);
        }
        let mut export = exported(&journal);
        change(&mut export);
        let before = journal.audit_head().unwrap();
        let error = remove(&journal, &export).unwrap_err();
        assert!(expected(&error), "{error}");
        assert_eq!(journal.audit_head().unwrap(), before, "nothing is written either");
        assert_eq!(verified(&exported(&journal)).first_block, 1);
    };
    check(&|export| export.truncate(export.len() - 1), |error| matches!(error, RemoveError::NotVerified(_)));
    check(&|export| export[300] ^= 1, |error| matches!(error, RemoveError::NotVerified(_)));
    check(&|export| *export = b"x".to_vec(), |error| matches!(error, RemoveError::Unreadable(_)));
    let other = || {
        let home = Home::new();
        let journal = opened(&home, options(100, 1));
        (1..=3).for_each(|of| take(&journal, of, vec![said("x")]));
        exported(&journal)
    };
    check(&|export| *export = other(), |error| matches!(error, RemoveError::OtherLog));
    // A single segment, which is being written.
    let home = Home::new();
    let journal = story(&home);
    let error = remove(&journal, &exported(&journal)).unwrap_err();
    assert!(matches!(error, RemoveError::NothingToRemove), "{error}");
}

#[test]
fn keys_change_by_the_old_ones_hand() {
    let home = Home::new();
    drop(story(&home));
    let journal = Journal::open(&home.path, with_seeds(&home, &[9, 8]), options(3, u64::MAX)).unwrap();
    assert_eq!(verified(&exported(&journal)).keys.len(), 1, "with the next commit, and not before");
    take(&journal, 3, vec![ended()]);
    let export = exported(&journal);
    let report = verified(&export);
    assert!(report.is_verified(), "{report:?}");
    let signing: Vec<_> = report.keys.iter().map(|signing| signing.from).collect();
    // Nine blocks and a checkpoint at the close, a segment, and the change.
    assert_eq!(signing, [1, 13]);
    assert_ne!(report.keys[0].key, report.keys[1].key);
    for signing in &report.keys {
        let expected = Expected { heads: Vec::new(), key: Some(signing.key.clone()) };
        assert!(verified_with(expected, &[&export]).unwrap().is_verified());
    }
    drop(journal);
    // It stays changed, also for who has only the new one, and does not go back by itself.
    let journal = Journal::open(&home.path, with_seeds(&home, &[8]), options(3, u64::MAX)).unwrap();
    take(&journal, 4, vec![said("x")]);
    assert_eq!(verified(&exported(&journal)).keys.len(), 2);
    journal.verify().unwrap();
    drop(journal);
    let opened = Journal::open(&home.path, with_seeds(&home, &[7]), options(3, u64::MAX));
    assert!(matches!(opened, Err(JournalError::NoAuditKey)), "{opened:?}");
}
