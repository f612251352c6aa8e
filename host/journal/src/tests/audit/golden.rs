//! An export that was written once and must verify for ever, byte for byte: whoever changes the form in
//! `audit/` makes a new version of it and keeps reading this one.
//!
//! `UPDATE_GOLDEN=1` writes a new one where a version has none.

use super::text::Parts;
use super::{
    Home, append, dispatched, ended, exported, host_event, id, options, said, settled, take, verified,
    verified_with,
};
use crate::audit::form;
use crate::{
    AuditKeys, Batch, Expected, Head, Journal, JournalKeys, PublicKey, Report, Signing, open_export,
};
use proofport_core::digest::Digest;
use proofport_core::secret::Secret;
use proofport_core::time::UnixMillis;
use std::path::PathBuf;
use zeroize::Zeroizing;

/// Noted when it was written.
const DIGEST: &str = "sha256:dc5bb896645705f1e87855e5683f7882b28eb7e21456f6ae642f2a4ea52a348b";
const HEAD: &str = "17:0d21a9e70c164b60e995e183260d16fd69bcc216fc36a4c186d3f9b5ee0477e7";
const KEYS: [(u64, &str); 2] = [
    (
        1,
        "proofport.audit/a5010521f5eb410310ed7cdf08902779+04bacf24+AYqI4910CfGV/VLbLTy6XXLKZwm/HZQSG/N0iAG0D29c",
    ),
    (
        15,
        "proofport.audit/a5010521f5eb410310ed7cdf08902779+2b4a7152+AYE5dw6ofRdfVqNUZsNMfszLjYqRtO43ol32D1uPybOU",
    ),
];

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/tests/audit/golden-1.audit")
}

/// The operator's identity, beside the export.
fn identity() -> String {
    std::fs::read_to_string(path().with_extension("identity.txt")).unwrap()
}

/// Two processes, five segments, a change of keys, an unknown, and something open at the head.
fn write() {
    use age::secrecy::ExposeSecret as _;
    let operator = age::x25519::Identity::generate();
    let home = Home::new();
    let keys = |seeds: &[u8]| JournalKeys {
        audit: AuditKeys {
            seeds: seeds.iter().map(|seed| Zeroizing::new([*seed; 32])).collect(),
            recipient: operator.to_public().to_string(),
        },
        ..home.keys()
    };
    let journal = Journal::open(&home.path, keys(&[1]), options(2, 800)).unwrap();
    append(&journal, Batch::new(None, UnixMillis(1_700_000_000_000), vec![host_event(1)]));
    take(&journal, 1, vec![said("accepted"), dispatched()]);
    take(&journal, 1, vec![ended(), settled()]);
    take(&journal, 2, vec![said("accepted"), dispatched()]);
    drop(journal);
    let journal = Journal::open(&home.path, keys(&[1, 2]), options(2, u64::MAX)).unwrap();
    take(&journal, 2, vec![ended()]);
    take(&journal, 3, vec![said("accepted"), dispatched()]);
    let text = operator.to_string().expose_secret().to_owned();
    std::fs::write(path().with_extension("identity.txt"), format!("# for a test\n{text}\n")).unwrap();
    let export = exported(&journal);
    println!("{:?}", verified(&export));
    std::fs::write(path(), export).unwrap();
}

#[test]
fn the_first_version_verifies_for_ever() {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        write();
    }
    let export = std::fs::read(path()).unwrap();
    assert_eq!(Digest::of_bytes(&export).to_string(), DIGEST, "the checked-in bytes are never changed");
    let keys = KEYS.map(|(from, key)| Signing { from, key: PublicKey::parse(key).unwrap() });
    for Signing { key, .. } in &keys {
        let expected = Expected { heads: vec![Head::parse(HEAD).unwrap()], key: Some(key.clone()) };
        let report = verified_with(expected, &[&export]).unwrap();
        let expected = Report {
            findings: Vec::new(),
            first_block: 1,
            before: [0; 32],
            head: Head::parse(HEAD).unwrap(),
            first_event: 1,
            last_event: 10,
            older_events: Some(0),
            segments: 5,
            checkpoints: 5,
            keys: keys.to_vec(),
            signed_through: Head::parse(HEAD).unwrap().block,
            removed_through: 0,
            open: report.open.clone(),
            unsettled: 1,
        };
        assert_eq!(report, expected);
        assert_eq!(report.open.iter().map(|open| open.event).collect::<Vec<_>>(), [10]);
    }
    // What is read is written as the same bytes.
    for block in Parts::of(&export).blocks {
        let (header, clear, payload) = form::parts(&block).unwrap();
        assert_eq!(header.encode(payload.len()), clear);
    }
    let mut found = Vec::new();
    let identity = Secret::new(identity().into_bytes());
    open_export(&export[..], &identity, |entry| found.push((entry.invocation, entry.at.0, entry.events)))
        .unwrap();
    let expected = [
        (None, 1_700_000_000_000, vec![host_event(1)]),
        (Some(id(1)), 1000, vec![said("accepted"), dispatched()]),
        (Some(id(1)), 1000, vec![ended(), settled()]),
        (Some(id(2)), 1000, vec![said("accepted"), dispatched()]),
        (Some(id(2)), 1000, vec![ended()]),
        (Some(id(3)), 1000, vec![said("accepted"), dispatched()]),
    ];
    assert_eq!(found, expected);
}
