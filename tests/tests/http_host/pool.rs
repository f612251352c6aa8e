//! Which exchanges use a kept connection, and what may be claimed of those that do.

use crate::{CA, NAMES, OK, Site, record};
use proofport_core::code::Code;
use proofport_core::contract::{Outcome, Retry, Stage};
use proofport_core::evidence::{Cause, HttpVersion, SetupAttempt};
use proofport_tests::peer::{Act, Alpn, Peer, Script, Scripts, h2};
use proofport_tests::rig::Open;
use std::sync::Arc;
use tokio::task::block_in_place;

const NEVER: &str = "fresh_connections = \"never\"";

fn seen(attempts: &[SetupAttempt]) -> Vec<(u32, Stage, Option<Cause>, bool)> {
    attempts.iter().map(|attempt| (attempt.n, attempt.stage, attempt.cause, attempt.reused)).collect()
}

/// Calls each in turn; whether its last exchange went over a kept connection, by setup and evidence both.
async fn reuses(open: &Open, operations: &[&str]) -> Vec<bool> {
    let mut all = Vec::new();
    for (n, operation) in operations.iter().enumerate() {
        let envelope = open.call_with(operation, "{}", Some(&format!("call-{n}"))).await;
        assert!(envelope.ok(), "{operation}: {envelope:?}");
        let state = record(open, &envelope);
        let reused = state.setup.last().unwrap().reused;
        let evidence = match state.attempts.last() {
            Some(attempt) => &attempt.end.as_ref().unwrap().evidence,
            None => &state.queries.last().unwrap().evidence,
        };
        assert_eq!(evidence.http().unwrap().reused, reused, "{operation}");
        all.push(reused);
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn the_connection_says_what_is_reused() {
    const ALL: [&str; 8] = ["look", "look", "act", "act", "keyed", "idempotent", "look", "prepared"];
    let cases: [(&str, &str, [bool; 8], usize); 6] = [
        ("", "", [false, true, false, false, true, true, true, false], 4),
        ("fresh_connections = \"effects\"", "", [false, true, false, false, false, false, true, false], 6),
        ("fresh_connections = \"always\"", "", [false; 8], 9),
        (NEVER, "", [false, true, false, true, true, true, true, true], 2),
        (NEVER, "idle_seconds = 0", [false; 8], 9),
        ("repeat = \"none\"", "", [false, true, false, false, false, false, true, false], 6),
    ];
    for (more, limits, expected, connections) in cases {
        let peer = Peer::http(Script::keep_alive(99, OK));
        let site = Site { more: more.to_owned(), limits, ..Site::of(peer.origin()) };
        let rig = site.make().await;
        let open = rig.open().await;
        assert_eq!(reuses(&open, &ALL).await, expected, "{more} {limits}");
        assert_eq!((peer.accepted(), peer.effects()), (connections, 9), "{more} {limits}");
        open.close();
        // What is kept open keeps no host alive that is gone: its home is free.
        rig.open().await.close();
    }
}

/// Case 2: that it was a kept connection proves nothing.
#[tokio::test(flavor = "multi_thread")]
async fn an_effect_that_is_lost_on_a_kept_connection_is_unknown() {
    let answered = [Act::ReadRequest, Act::Effect, Act::Send(OK.into())];
    let ends: [(&str, Vec<Act>, usize); 4] = [
        ("applied, then RST", vec![Act::ReadRequest, Act::Effect, Act::Reset], 2),
        ("applied, then FIN", vec![Act::ReadRequest, Act::Effect, Act::Close], 2),
        ("read, then RST", vec![Act::ReadHead, Act::Reset], 1),
        ("a byte, then RST", vec![Act::Read(1), Act::Reset], 1),
    ];
    for (what, end, effects) in ends {
        for (operation, more, retry) in [
            ("act", NEVER, Retry::Reconcile),
            ("keyed", "", Retry::SameIdempotencyKey),
            ("idempotent", "", Retry::Backoff),
        ] {
            for tls in [false, true] {
                let script = Script([&answered[..], &end].concat());
                let scripts = Scripts { each: [script].into(), default: Some(Script::answer(OK)) };
                let peer = if tls { Peer::https(scripts, &CA) } else { Peer::http(scripts) };
                let what = format!("{what}: {operation} {tls}");
                let rig = Site { more: more.to_owned(), ..Site::of(peer.origin()) }.make().await;
                let open = rig.open().await;
                assert!(open.call_with(operation, "{}", Some("one")).await.ok());
                let lost = open.call_with(operation, "{}", Some("two")).await;
                let got = (lost.code(), lost.outcome(), lost.retry());
                assert_eq!(
                    got,
                    (Some(Code::OutcomeUnknown), Some(Outcome::Unknown), retry),
                    "{what}: {lost:?}"
                );
                let state = record(&open, &lost);
                assert_eq!(seen(&state.setup), [(1, Stage::Pool, None, true)], "{what}");
                assert!(state.attempts[0].end.as_ref().unwrap().evidence.http().unwrap().reused, "{what}");
                assert_eq!(state.attempts.len(), 1, "{what}");
                // Calling again meets it.
                let again = open.call_with(operation, "{}", Some("two")).await;
                assert!(again.repeated() && again.outcome() == Some(Outcome::Unknown), "{what}");
                block_in_place(|| peer.wait_ended(1));
                assert_eq!((peer.accepted(), peer.effects()), (1, effects), "{what}: nothing is resent");
                open.close();
            }
        }
    }
}

/// Case 3: a connection that ended while it was idle costs nothing but an attempt on record.
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_is_found_dead_is_replaced() {
    let idle: [(&str, Vec<Act>); 3] = [
        ("FIN", vec![Act::Fin, Act::Signal, Act::Hold]),
        ("stray bytes", vec![Act::Send(b"HTTP/1.1 408 Late\r\n\r\n".to_vec()), Act::Signal, Act::Hold]),
        ("RST", vec![Act::Signal, Act::Reset]),
    ];
    for (what, idle) in idle {
        for tls in [false, true] {
            let opening = [Act::ReadRequest, Act::Effect, Act::Send(OK.into()), Act::Step];
            let script = Script(opening.into_iter().chain(idle.clone()).collect());
            let scripts = Scripts { each: [script].into(), default: Some(Script::answer(OK)) };
            let peer = if tls { Peer::https(scripts, &CA) } else { Peer::http(scripts) };
            let rig = Site { more: NEVER.to_owned(), ..Site::of(peer.origin()) }.make().await;
            let open = rig.open().await;
            assert!(open.call_with("act", "{}", Some("one")).await.ok(), "{what}");
            peer.step();
            block_in_place(|| if what == "RST" { peer.wait_ended(1) } else { peer.wait_signals(1) });
            let second = open.call_with("act", "{}", Some("two")).await;
            assert!(second.ok() && second.outcome() == Some(Outcome::Committed), "{what}: {second:?}");
            let state = record(&open, &second);
            let stale = (1, Stage::Pool, Some(Cause::ConnectionStale), true);
            assert_eq!(seen(&state.setup), [stale, (2, Stage::HttpHandshake, None, false)], "{what} {tls}");
            assert_eq!(state.attempts.len(), 1, "{what}");
            assert_eq!((peer.accepted(), peer.effects()), (2, 2), "{what}");
            let first = String::from_utf8_lossy(&peer.received()[0]).into_owned();
            assert_eq!(first.matches("POST").count(), 1, "{what}: the dead one carried the first alone");
            open.close();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_finds_no_free_connection_is_not_attempted() {
    let held = Script(vec![Act::ReadRequest, Act::Effect, Act::Hold, Act::Send(OK.into()), Act::Close]);
    let peer = Peer::http(Scripts { each: [held].into(), default: Some(Script::answer(OK)) });
    let limits = "connections_per_origin = 1\nconnect_seconds = 1\nsetup_attempts = 3";
    let rig = Site { limits, ..Site::of(peer.origin()) }.make().await;
    let open = Arc::new(rig.open().await);
    let first = {
        let open = Arc::clone(&open);
        tokio::spawn(async move { open.call_with("act", "{}", Some("one")).await })
    };
    block_in_place(|| peer.wait_effects(1));
    let second = open.call_with("act", "{}", Some("two")).await;
    let got = (second.code(), second.outcome(), second.retry());
    assert_eq!(got, (Some(Code::ConnectFailed), Some(Outcome::NotAttempted), Retry::Backoff), "{second:?}");
    let state = record(&open, &second);
    assert_eq!(seen(&state.setup), [(1, Stage::Pool, Some(Cause::PoolExhausted), false)]);
    assert_eq!(peer.accepted(), 1);
    peer.release();
    assert!(first.await.unwrap().ok());
    // The room is there again, and the call that had none is tried anew.
    assert!(open.call_with("act", "{}", Some("two")).await.ok());
    assert_eq!((peer.accepted(), peer.effects()), (2, 2));
}

/// What nothing may repeat goes out on HTTP/1.1, whatever the peer prefers.
#[tokio::test(flavor = "multi_thread")]
async fn the_contract_chooses_the_protocol() {
    use HttpVersion::{Http2, Http11};
    let cases: [(Alpn, &str, [HttpVersion; 5]); 4] = [
        (Alpn::Either, "", [Http2, Http2, Http2, Http11, Http11]),
        (Alpn::Either, "repeat = \"none\"", [Http2, Http11, Http11, Http11, Http11]),
        (Alpn::Http1, "", [Http11; 5]),
        (Alpn::Ignored, "", [Http11; 5]),
    ];
    for (alpn, more, expected) in cases {
        let server = CA.server_offering(NAMES, alpn);
        let peer =
            Peer::https_either(Script::keep_alive(99, OK), h2::Script::keep_alive(99, 200, "{}"), server);
        let rig = Site { more: more.to_owned(), ..Site::of(peer.origin()) }.make().await;
        let open = rig.open().await;
        for (operation, version) in
            ["look", "keyed", "idempotent", "act", "prepared"].into_iter().zip(expected)
        {
            let envelope = open.call(operation, "{}").await;
            assert!(envelope.ok(), "{alpn:?} {operation}: {envelope:?}");
            let state = record(&open, &envelope);
            let mut queries = state.queries.iter().map(|query| query.evidence.http().unwrap().version);
            let query = if alpn == Alpn::Either { Http2 } else { Http11 };
            assert!(queries.clone().all(|spoken| spoken == query), "{alpn:?} {operation}");
            if let Some(attempt) = state.attempts.last() {
                let evidence = &attempt.end.as_ref().unwrap().evidence;
                assert_eq!(evidence.http().unwrap().version, version, "{alpn:?} {more} {operation}");
            } else {
                assert_eq!(queries.next_back(), Some(version), "{alpn:?} {more} {operation}");
            }
        }
        // By the peer's log: no effect without a promise came over HTTP/2.
        let over_http2: Vec<_> = peer.requests().into_iter().flatten().collect();
        for request in &over_http2 {
            assert!(!matches!(request.path(), "/act" | "/prepared"), "{alpn:?}");
            let keyed = request.path() == "/keyed";
            assert_eq!(request.field("idempotency-key").is_some(), keyed, "{alpn:?}");
        }
        let posts = over_http2.iter().filter(|request| request.method() == "POST").count();
        assert_eq!(
            posts,
            expected.iter().filter(|version| **version == Http2).count().saturating_sub(1),
            "{alpn:?}"
        );
        assert_eq!(peer.effects(), 6, "{alpn:?} {more}");
        open.close();
    }
}
