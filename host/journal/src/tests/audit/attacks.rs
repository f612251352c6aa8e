//! Somebody who has the file and not the key.

use super::text::Parts;
use super::{
    Home, dispatched, ended, exported, finds, opened, options, story, take, verified, verified_with,
};
use crate::audit::form::{Body, Listed};
use crate::audit::note::{self, Also};
use crate::{Expected, Head, PublicKey, Wrong};
use ed25519_dalek::SigningKey;
use proofport_core::event::EventKind;

/// The host's, which attackers don't have, and theirs.
fn keys() -> (SigningKey, SigningKey) {
    (SigningKey::from_bytes(&[9; 32]), SigningKey::from_bytes(&[66; 32]))
}

fn export() -> Vec<u8> {
    exported(&story(&Home::new()))
}

#[test]
fn every_flipped_bit_is_seen() {
    let export = export();
    for at in 0..export.len() {
        for bit in 0..8 {
            let mut export = export.clone();
            export[at] ^= 1 << bit;
            let report = verified_with(Expected::default(), &[&export]);
            assert!(
                report.is_err() || report.is_ok_and(|report| !report.is_verified()),
                "byte {at}, bit {bit}"
            );
        }
    }
}

#[test]
fn every_truncation_is_seen() {
    let export = export();
    for length in 0..export.len() {
        let report = verified_with(Expected::default(), &[&export[..length]]);
        assert!(report.is_err() || report.is_ok_and(|report| !report.is_verified()), "{length} bytes");
    }
    let longer = [&export[..], b"x"].concat();
    finds(&verified(&longer), 10, Wrong::AfterTheEnd);
    // At the end of a block, and with the signature of a checkpoint for an end.
    let mut parts = Parts::of(&export);
    let checkpoint = parts.blocks[7].clone();
    parts.blocks.truncate(7);
    parts.end.clear();
    finds(&verified(&parts.join()), 8, Wrong::Cut);
    let (header, _, note) = crate::audit::form::parts(&checkpoint).unwrap();
    assert_eq!(header.body, Body::Checkpoint);
    parts.end = [&[0; 4][..], &u32::try_from(note.len()).unwrap().to_be_bytes(), note].concat();
    finds(&verified(&parts.join()), 8, Wrong::End);
}

#[test]
fn removed_reordered_and_repeated_blocks_are_seen() {
    let check = |change: &dyn Fn(&mut Vec<Vec<u8>>), block: u64, what: Wrong| {
        let mut parts = Parts::of(&export());
        change(&mut parts.blocks);
        finds(&verified(&parts.join()), block, what);
    };
    for at in 1..8 {
        let found = at as u64 + 2;
        check(&|blocks| drop(blocks.remove(at)), at as u64 + 1, Wrong::Missing { found });
        check(&|blocks| blocks.swap(at, at + 1), at as u64 + 1, Wrong::Missing { found });
        check(&|blocks| blocks.insert(at, blocks[at].clone()), at as u64 + 2, Wrong::Repeated);
        check(
            &|blocks| blocks.insert(at + 1, blocks[at - 1].clone()),
            at as u64 + 2,
            Wrong::OutOfOrder { found: at as u64 },
        );
    }
    check(&|blocks| drop(blocks.remove(0)), 1, Wrong::Beginning);
    check(&|blocks| drop(blocks.pop()), 9, Wrong::End);
    check(&|blocks| blocks.clear(), 1, Wrong::Beginning);

    // The same with numbers and links that fit: the checkpoint knows better, or the end.
    for at in 1..8 {
        let mut parts = Parts::of(&export());
        parts.blocks.remove(at);
        parts.chain(at, None);
        let report = verified(&parts.join());
        assert!(!report.is_verified(), "{at}");
    }
}

#[test]
fn blocks_that_were_altered_and_signed_with_another_key_are_seen() {
    let (_, theirs) = keys();
    // A dispatch is taken out of what is listed, and everything behind it is made to fit.
    let mut parts = Parts::of(&export());
    parts.change(2, |header| {
        let Body::Events(batches) = &mut header.body else { panic!("no events") };
        assert_eq!(batches[0].kinds, [EventKind::JobAccepted, EventKind::DispatchStarted]);
        batches[0].kinds[1] = EventKind::Stopped;
    });
    let id = parts.header(3).key_id;
    parts.chain(3, None);
    finds(&verified(&parts.join()), 4, Wrong::Checkpoint);
    parts.chain(3, Some(&theirs));
    finds(&verified(&parts.join()), 4, Wrong::Key);
    // It names the host's key and is signed with another one.
    parts.change(3, |header| header.key_id = id);
    finds(&verified(&parts.join()), 4, Wrong::Checkpoint);
    // A change of keys that only the new one signs.
    let mut parts = Parts::of(&export());
    let (mut header, log) = (parts.header(8), parts.log());
    let key = theirs.verifying_key().to_bytes();
    header.body = Body::Key { key };
    header.last_event = header.first_event - 1;
    let text = note::text(log, 8, &header.previous, Also::Key(key));
    for signers in [&[&theirs][..], &[&theirs, &theirs]] {
        let note = note::sign(log, &text, signers);
        parts.blocks[8] = [header.encode(note.len()), note].concat();
        parts.sign_end(&theirs);
        finds(&verified(&parts.join()), 9, Wrong::KeyChange);
    }
}

#[test]
fn a_log_that_is_signed_anew_from_its_beginning_is_another_log() {
    let (ours, theirs) = keys();
    let export = export();
    let before = verified(&export);
    let mut parts = Parts::of(&export);
    parts.blocks.truncate(6);
    parts.chain(0, Some(&theirs));
    let forged = parts.join();
    // By itself it is a log. Whoever noted a head or the key knows better.
    assert!(verified(&forged).is_verified());
    let log = Parts::of(&export).log();
    let public = |key: &SigningKey| PublicKey { log, bytes: key.verifying_key().to_bytes() };
    let expected = Expected { heads: Vec::new(), key: Some(public(&ours)) };
    finds(&verified_with(expected.clone(), &[&forged]).unwrap(), 1, Wrong::OtherKey);
    assert!(verified_with(expected, &[&export]).unwrap().is_verified());
    let expected = |head: Head| Expected { heads: vec![head], key: None };
    let report = verified_with(expected(before.head), &[&forged]).unwrap();
    finds(&report, 6, Wrong::EndsBefore { expected: before.head.block });
    let early = Head { block: 1, hash: crate::audit::form::hash(&Parts::of(&export).blocks[0]) };
    finds(&verified_with(expected(early), &[&forged]).unwrap(), 1, Wrong::OtherHead);
}

/// The same journal goes on in two ways, as under two writers.
#[test]
fn forks_are_seen() {
    let home = Home::new();
    story(&home).close().unwrap();
    let common = std::fs::read(&home.path).unwrap();
    let go_on = |of: u8| {
        std::fs::write(&home.path, &common).unwrap();
        let journal = opened(&home, options(3, u64::MAX));
        take(&journal, 3, vec![ended()]);
        take(&journal, of, vec![dispatched()]);
        exported(&journal)
    };
    let (one, other) = (go_on(4), go_on(5));
    let (head, fork) = (verified(&one).head, verified(&other).head);
    assert_eq!(head.block, fork.block);
    // Each is whole. The head of one is not in the other.
    let report = verified_with(Expected { heads: vec![head], key: None }, &[&other]).unwrap();
    finds(&report, head.block, Wrong::OtherHead);
    // Both in one file.
    let (mut parts, others) = (Parts::of(&one), Parts::of(&other));
    let at = parts.blocks.iter().zip(&others.blocks).take_while(|(one, other)| one == other).count();
    parts.blocks.insert(at + 1, others.blocks[at].clone());
    finds(&verified(&parts.join()), at as u64 + 2, Wrong::Fork);
}

/// What is listed in the clear is what the checks go by, so it is bound to the sealed body and to the chain.
#[test]
fn what_is_listed_can_not_be_changed_alone() {
    let mut parts = Parts::of(&export());
    parts.change(2, |header| {
        let Body::Events(batches) = &mut header.body else { panic!("no events") };
        batches.push(Listed { tag: batches[0].tag, kinds: vec![EventKind::ResultDelivered] });
    });
    finds(&verified(&parts.join()), 3, Wrong::Events);
    parts.change(2, |header| header.last_event += 1);
    finds(&verified(&parts.join()), 4, Wrong::Link);
}

/// A file that is wrong in each of its events is no way to fill the memory of whoever verifies it.
#[test]
fn so_many_findings_are_enough() {
    let home = Home::new();
    let journal = opened(&home, options(100, u64::MAX));
    take(&journal, 1, vec![dispatched(); 1200]);
    let last = journal.audit_head().unwrap().unwrap().0.block;
    take(&journal, 2, vec![ended()]);
    let report = verified(&exported(&journal));
    assert_eq!((report.findings.len(), report.head.block), (1000, last));
}
