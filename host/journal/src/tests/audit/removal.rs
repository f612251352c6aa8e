//! What is taken out, by whose word, and what becomes of it when the host ends in between.

use super::super::block_on;
use super::super::unsettled::mark_failed;
use super::{Home, exported, opened, options, said, take, verified, verified_with};
use crate::{Batch, Expected, Export, Held, Journal, RemoveError, Removed, Then};
use proofport_core::time::UnixMillis;
use serde_json::json;

fn remove(journal: &Journal, held: Held) -> Result<Removed, RemoveError> {
    block_on(journal.remove_exported_audit(held))
}

/// A segment for each commit.
fn segments(home: &Home, of: std::ops::RangeInclusive<u8>) -> Journal {
    let journal = opened(home, options(100, 1));
    of.for_each(|of| take(&journal, of, vec![said("x")]));
    journal
}

/// Each segment is taken out in a commit of its own (`seams.rs` counts them), so that a host may end between any
/// two. What it leaves then is what an earlier export's removal leaves.
#[test]
fn what_a_removal_left_is_taken_out_later() {
    let home = Home::new();
    let journal = segments(&home, 1..=2);
    let early = Held::by(exported(&journal).as_slice()).unwrap();
    (3..=5).for_each(|of| take(&journal, of, vec![said("x")]));
    let export = exported(&journal);
    let all = Held::by(export.as_slice()).unwrap();
    // What a host does that ends after the first segment.
    let Removed { first: 1, last } = remove(&journal, early).unwrap() else { panic!("the first") };
    journal.verify().unwrap();
    drop(journal);
    mark_failed(&home);
    let journal = opened(&home, options(100, 1));
    let report = verified(&exported(&journal));
    assert!(report.is_verified() && report.first_block == last + 1, "{report:?}");
    let rest = remove(&journal, all).unwrap();
    assert!(rest.first == last + 1 && rest.last > rest.first, "{rest:?}");
    journal.verify().unwrap();
    let newer = exported(&journal);
    let report = verified_with(Expected::default(), &[&export, &newer]).unwrap();
    assert!(report.is_verified() && report.first_block == 1, "{report:?}");
    let error = remove(&journal, all).unwrap_err();
    assert!(matches!(error, RemoveError::NothingToRemove), "{error}");
}

/// The word of a command that verified no file is worth what the journal itself knows.
#[test]
fn a_word_about_another_log_takes_nothing_out() {
    let home = Home::new();
    let journal = segments(&home, 1..=3);
    let (head, _) = journal.audit_head().unwrap().unwrap();
    let zeros = "0".repeat(64);
    let hash = head.to_string().split_once(':').unwrap().1.to_owned();
    for (first, head) in [
        (1, format!("{}:{zeros}", head.block)),
        (1, format!("{}:{hash}", head.block - 1)),
        (1, format!("{}:{hash}", head.block + 1)),
        (1, format!("{}:{hash}", u64::MAX)),
        (1, format!("0:{zeros}")),
        (2, head.to_string()),
        (u64::MAX, head.to_string()),
    ] {
        let held: Held = serde_json::from_value(json!({ "first": first, "head": head })).unwrap();
        let error = remove(&journal, held).unwrap_err();
        assert!(matches!(error, RemoveError::OtherLog), "{first} {head}: {error}");
    }
    assert_eq!(verified(&exported(&journal)).first_block, 1);
    journal.verify().unwrap();
}

/// Whoever writes the file goes on with the next host.
#[test]
fn an_export_goes_on_over_a_restart() {
    let home = Home::new();
    let mut journal = segments(&home, 1..=4);
    let (mut file, mut from, mut parts) = (Vec::new(), Export::default(), 0);
    let exported = loop {
        let part = journal.export_audit_part(from).unwrap();
        file.extend(part.bytes);
        parts += 1;
        match part.then {
            Then::More(next) => from = next,
            Then::End(exported) => break exported,
        }
        if parts <= 3 {
            drop(journal);
            journal = segments(&home, 5..=5);
        }
    };
    assert!(parts > 3, "{parts}");
    let expected = Expected { heads: vec![exported.head], key: Some(exported.key) };
    let report = verified_with(expected, &[&file]).unwrap();
    assert!(report.is_verified() && report.head == exported.head, "{report:?}");
}

/// One commit, of more than belongs into one block.
#[test]
fn a_large_group_is_cut_into_blocks() {
    let home = Home::new();
    let journal = home.open();
    let long = "x".repeat(300_000);
    for of in 1..=20 {
        journal.ride_along(Batch::new(Some(super::id(of)), UnixMillis(1), vec![said(&long), said("y")]));
    }
    take(&journal, 21, vec![said("z")]);
    let commits = journal.stats().commits;
    let report = verified(&exported(&journal));
    assert!(report.is_verified() && report.last_event == 41, "{report:?}");
    assert!(report.head.block > commits + 2, "{commits} commits: {report:?}");
    journal.verify().unwrap();
    drop(journal);
    home.open().verify().unwrap();
}
