//! What ends it, and what doesn't.

use crate::{BROKEN, MOST, OK, WITHIN, answered, assert_stopped, call, home, lost, peer, spend};
use proofport_core::code::Code;
use proofport_core::contract::Outcome;
use proofport_tests::killpoint::Kill;
use proofport_tests::rig::{Rig, Wanted};
use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;

/// Law 13.
#[tokio::test(flavor = "multi_thread")]
async fn a_restart_resets_nothing() {
    let peer = peer(vec![answered(BROKEN); MOST]);
    let (rig, clock) = home("promises", peer.origin()).await;
    let open = rig.open().await;
    assert_eq!(call(&open, "act").await.code(), Some(Code::RemoteFailed));
    open.close();
    let open = rig.open().await;
    assert_eq!(call(&open, "act").await.code(), Some(Code::RemoteFailed));
    open.close();
    let open = rig.open().await;
    clock.set(100);
    let last = call(&open, "act").await;
    open.close();
    let open = rig.open().await;
    assert_stopped(&call(&open, "act").await, &last, WITHIN - 100, "after three restarts");
    assert_eq!(peer.accepted(), MOST);
    open.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_success_clears_the_count() {
    for (guest, operation) in [("promises", "act"), ("good", "look")] {
        let mut each = vec![answered(BROKEN); MOST - 1];
        each.push(answered(OK));
        each.extend(vec![answered(BROKEN); MOST]);
        let peer = peer(each);
        let (rig, _) = home(guest, peer.origin()).await;
        let open = rig.open().await;
        for _ in 1..MOST {
            assert_eq!(call(&open, operation).await.code(), Some(Code::RemoteFailed), "{operation}");
        }
        assert!(call(&open, operation).await.ok(), "{operation}");
        let last = spend(&open, operation, Code::RemoteFailed).await;
        assert_stopped(&call(&open, operation).await, &last, WITHIN, operation);
        assert_eq!(peer.accepted(), 2 * MOST, "{operation}");
        open.broker.journal().verify().unwrap();
        open.close();
    }
}

/// By the clock that is on record: one that is set back ends nothing.
#[tokio::test(flavor = "multi_thread")]
async fn the_window_ends_and_begins_anew() {
    let peer = peer(vec![answered(BROKEN); 2 * MOST]);
    let (rig, clock) = home("promises", peer.origin()).await;
    let open = rig.open().await;
    let last = spend(&open, "act", Code::RemoteFailed).await;
    clock.set(u64::from(WITHIN) - 1);
    assert_stopped(&call(&open, "act").await, &last, 1, "a second before its end");
    clock.set(u64::from(WITHIN));
    let last = spend(&open, "act", Code::RemoteFailed).await;
    assert_stopped(&call(&open, "act").await, &last, WITHIN, "in the next window");
    clock.set(0);
    assert_stopped(&call(&open, "act").await, &last, WITHIN, "by a clock that was set back");
    assert_eq!(peer.accepted(), 2 * MOST);
    open.close();
}

/// What was dispatched counts from before its first byte on, however its host ends.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_killed_after_a_dispatch_has_counted_it() {
    let words: Vec<String> = Kill::all().into_iter().map(Kill::to_word).collect();
    for (word, counts) in [("before:DISPATCH_STARTED", false), ("after:DISPATCH_STARTED", true)] {
        assert!(words.iter().any(|known| known == word), "{word}");
        let peer = peer(Vec::new());
        let mut wanted = Wanted::new("promises", peer.origin(), "key");
        wanted.more = format!("[connections.c.failures]\nmost = {MOST}\nwithin_seconds = {WITHIN}\n");
        let rig = Rig::new(&wanted).await;
        for n in 0..MOST {
            let killed = Command::new(env!("CARGO_BIN_EXE_crash-host"))
                .args([rig.home().as_os_str(), word.as_ref(), "act".as_ref()])
                .arg(format!("{{\"n\":{n},\"of\":\"killed\"}}"))
                .output()
                .unwrap();
            assert_eq!(killed.status.signal(), Some(9), "{word}: {killed:?}");
        }
        let open = rig.open().await;
        let envelope = call(&open, "act").await;
        assert_eq!(envelope.repeated(), counts, "{word}: {envelope:?}");
        assert_eq!(envelope.outcome() == Some(Outcome::Unknown), counts, "{word}: {envelope:?}");
        assert_eq!(peer.effects(), usize::from(!counts), "{word}");
        open.broker.journal().verify().unwrap();
        open.close();
    }
}

/// What is found to have been done was no failure: a session is not held up by it.
#[tokio::test(flavor = "multi_thread")]
async fn a_last_failure_that_turns_out_to_be_none_holds_nobody_up() {
    let peer = peer(vec![lost(); MOST]);
    let (rig, _) = home("promises", peer.origin()).await;
    let open = rig.open().await;
    let last = spend(&open, "keyed", Code::OutcomeUnknown).await;
    assert_stopped(&call(&open, "keyed").await, &last, WITHIN, "before");
    let again = open.broker.retry(&last.request_id().unwrap()).await.unwrap().envelope;
    assert!(again.ok(), "{again:?}");
    let then = call(&open, "keyed").await;
    assert!(then.ok() && !then.repeated(), "{then:?}");
    open.close();
}
