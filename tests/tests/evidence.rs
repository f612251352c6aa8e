//! The long fault runs' code, with small numbers.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects by panicking"
)]

use proofport_tests::evidence::{faults, kills};
use std::path::Path;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_peer_that_fails_at_random_makes_no_claim_false() {
    let counts = faults::run(160, 7).await;
    assert!(counts.is_sound(), "{counts:#?}");
    assert_eq!(counts.calls, 160);
    // A refusal to connect and a clean success are never unknown.
    for failure in ["None", "Refused"] {
        assert!(!counts.claims[failure].contains_key("unknown"), "{counts:#?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_killed_at_random_do_nothing_twice() {
    let counts = kills::run(12, 7, Path::new(env!("CARGO_BIN_EXE_crash-host"))).await;
    assert!(counts.is_sound(), "{counts:#?}");
    assert_eq!(counts.kills, 12);
}
