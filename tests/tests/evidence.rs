//! The long fault runs' code, with small numbers.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects by panicking"
)]

use proofport_tests::evidence::{agents, faults, http, kills, settle, ssh};
use std::path::Path;
use std::time::Duration;

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

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_failure_of_a_connection_makes_a_claim_false() {
    let counts = http::run(600, 7).await;
    assert!(counts.is_sound(), "{counts:#?}");
    assert!(counts.calls >= 600);
    for operation in ["once", "same", "keyed"] {
        assert!(counts.operations[operation] > 0, "{counts:#?}");
    }
    for protocol in ["http", "https", "h2"] {
        let rate = |failure: &str| counts.unknown_rate[&format!("{protocol} {failure}")];
        // What is proved is never unknown, and nothing else is ever known.
        for proved in ["none", "refused", "status 200", "status 403", "trusted hop, not forwarded"] {
            assert_eq!(rate(proved), 0.0, "{proved}\n{}", counts.table());
        }
        for lost in ["after effect, reset", "after effect, closed", "silent", "status 503", "untrusted hop"] {
            assert_eq!(rate(lost), 1.0, "{lost}\n{}", counts.table());
        }
    }
    assert_eq!(counts.unknown_rate["h2 REFUSED_STREAM"], 0.0, "{}", counts.table());
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_killed_at_random_do_nothing_twice() {
    let counts = kills::run(12, 7, Path::new(env!("CARGO_BIN_EXE_crash-host"))).await;
    assert!(counts.is_sound(), "{counts:#?}");
    assert_eq!(counts.kills, 12);
}

#[tokio::test(flavor = "multi_thread")]
async fn releases_over_a_connection_that_is_cut_are_made_once() {
    let counts = ssh::run(4, 7).await;
    assert!(counts.is_sound(), "{counts:#?}");
    assert!(counts.looks > 0, "{counts:#?}");
}

/// Every call of every contract is settled or waits for a person, whatever happens to requests and hosts.
#[tokio::test(flavor = "multi_thread")]
async fn every_record_is_settled_or_waits_and_says_what_the_peers_have() {
    let counts = settle::run(settle::Plan::of(150, 4, 7), Path::new(env!("CARGO_BIN_EXE_settle-host"))).await;
    assert!(counts.is_sound(), "{counts:#?}");
    assert_eq!((counts.kills, counts.total.invocations), (4, 150));
    assert_eq!(counts.contracts.len(), 8, "{}", counts.table());
}

/// No host can do anything about a way that sends on twice what no contract covers: the counts see it.
#[tokio::test(flavor = "multi_thread")]
async fn second_effects_are_seen() {
    let plan = settle::Plan { repeats_anything: true, percent: 90, ..settle::Plan::of(60, 0, 7) };
    let counts = settle::run(plan, Path::new(env!("CARGO_BIN_EXE_settle-host"))).await;
    let duplicates = |contract: &str| counts.contracts[contract].duplicates;
    assert!(duplicates("none") + duplicates("keyed, marked none") > 0, "{counts:#?}");
    assert_eq!(duplicates("keyed, in a header") + duplicates("keyed, in the request"), 0, "{counts:#?}");
    assert!(!counts.is_sound());
}

/// Agents go away and come back, people approve and deny, the host is killed: nothing is lost or done twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn agents_at_one_host_lose_nothing() {
    let duration = Duration::from_secs(8);
    let counts = agents::run(agents::Plan { agents: 12, duration, kills: 2, seed: 7 }).await;
    assert!(counts.is_sound(), "{counts:#?}");
    assert_eq!(counts.kills, 2);
    for told in ["Made", "Declined", "Denied"] {
        assert!(counts.told.get(told).is_some_and(|count| *count > 0), "{counts:#?}");
    }
    for over in [agents::Over::Http, agents::Over::McpOld, agents::Over::McpNew] {
        assert!(counts.over.get(&over).is_some_and(|count| *count > 0), "{counts:#?}");
    }
    assert!(counts.lost_answers > 0, "{counts:#?}");
}
