//! Heads that somebody noted elsewhere.

use super::{Home, exported, finds, story, verified, verified_with};
use crate::{Expected, Head, Wrong};

#[test]
fn expected_heads_are_found_or_missed() {
    let home = Home::new();
    let journal = story(&home);
    let older = exported(&journal);
    super::take(&journal, 3, vec![super::ended()]);
    let newer = exported(&journal);
    let (old, new) = (verified(&older).head, verified(&newer).head);
    let check = |file: &[u8], head: Head, expected: Option<(u64, Wrong)>| {
        let report = verified_with(Expected { heads: vec![head], key: None }, &[file]).unwrap();
        match expected {
            None => assert!(report.is_verified(), "{report:?}"),
            Some((block, what)) => finds(&report, block, what),
        }
    };
    check(&newer, new, None);
    check(&newer, old, None);
    check(&older, new, Some((old.block, Wrong::EndsBefore { expected: new.block })));
    let wrong = Head { hash: new.hash, ..old };
    check(&newer, wrong, Some((old.block, Wrong::OtherHead)));
    check(&older, wrong, Some((old.block, Wrong::OtherHead)));
    check(
        &newer,
        Head { block: u64::MAX, ..new },
        Some((new.block, Wrong::EndsBefore { expected: u64::MAX })),
    );
    // Before the first block there is nothing, whose hash is zeros.
    check(&newer, Head { block: 0, hash: [0; 32] }, None);
    check(&newer, Head { block: 0, ..new }, Some((1, Wrong::OtherHead)));
}

#[test]
fn heads_are_read_as_they_are_written() {
    let head = Head { block: 17, hash: [0xAB; 32] };
    assert_eq!(head.to_string(), format!("17:{}", "ab".repeat(32)));
    assert_eq!(Head::parse(&head.to_string()).unwrap(), head);
    assert_eq!(Head::parse(&head.to_string().to_uppercase()).unwrap(), head);
    for text in ["", "17", "17:", "x:abab", "-1:abab", &format!("17:{}", "ab".repeat(31)), "17:zz"] {
        assert!(Head::parse(text).is_err(), "{text}");
    }
}
