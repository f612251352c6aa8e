//! Case 9: every code of RST_STREAM in turn. Case 8: a graceful GOAWAY while the request is queued.

use crate::case::{self, Contract, Over};
use crate::site::{self, record, seen};
use crate::{CA, TLS_H2};
use proofport_broker::{Point, Probe};
use proofport_core::contract::Outcome;
use proofport_core::envelope::Envelope;
use proofport_core::event::EventKind;
use proofport_core::evidence::{Cause, HttpEvidence};
use proofport_core::row::Row;
use proofport_tests::peer::Peer;
use proofport_tests::peer::h2::{Act, Kind, Script, code, setting};
use proofport_tests::rig::{Rig, Wanted};
use std::sync::Arc;

/// The codes of RFC 9113 section 7.
const CODES: std::ops::RangeInclusive<u32> = 0..=13;

#[tokio::test(flavor = "multi_thread")]
async fn refused_stream_alone_is_a_refusal() {
    for code in CODES {
        let refused = code == code::REFUSED_STREAM;
        let (row, applies, expect) = if refused {
            (
                Row::RefusedStream,
                "[false]",
                r#"outcome = "rejected", code = "RATE_LIMITED", retry = "backoff", owner = "caller", action = "retry_after_delay""#,
            )
        } else {
            (
                Row::StreamReset,
                "[true, false]",
                r#"outcome = "unknown", code = "OUTCOME_UNKNOWN", retry = "by_contract", owner = "operator", action = "inspect_outcome""#,
            )
        };
        let text = format!(
            r#"
[[case]]
name = "RST_STREAM with code {code}"
over = ["h2"]
contracts = ["idempotent", "keyed", "expired"]
applies = {applies}
http2 = ["read_request", "effect", {{ reset_stream = {code} }}, "close"]
expect = {{ {expect}, phase = "remote_execution", source = "transport_observed" }}
"#
        );
        let cases = case::parse(&text).unwrap();
        let runs = site::runs(&cases);
        assert!(runs.iter().all(|run| run.over == Over::H2 && run.contract != Contract::Plain));
        let wrong = site::carry_out(row, &runs).await;
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    }
}

/// A reset after a response began makes it no whole one, whatever its code says. NO_ERROR among them: hyper
/// takes it for the content's end, since it may follow a whole response (RFC 9113 section 8.1).
#[tokio::test(flavor = "multi_thread")]
async fn no_reset_completes_a_response() {
    let ends = CODES
        .map(|code| format!("{{ reset_stream = {code} }}"))
        .chain([0, 7].map(|code| format!("{{ go_away = [0, {code}] }}")));
    let mut cases = [String::new(), String::new(), String::new()];
    for end in ends {
        let (row, cases) = match end.as_str() {
            "{ reset_stream = 0 }" | "{ go_away = [0, 0] }" => (Row::Incomplete, &mut cases[0]),
            end if end.contains("go_away") => (Row::GoAway, &mut cases[1]),
            _ => (Row::StreamReset, &mut cases[2]),
        };
        for head in ["headers = [200, false]", "headers = [400, false]", "headers = [429, false]"] {
            for content in ["", r#"{ data = ["{", false] }, "#] {
                *cases += &format!(
                    r#"
[[case]]
name = "{row}: {head}, {end}"
over = ["h2"]
contracts = ["idempotent", "keyed"]
applies = [true]
http2 = ["read_request", "effect", {{ {head} }}, {content}{end}, "close"]
expect = {{ outcome = "unknown", code = "REMOTE_RESULT_INCOMPLETE", retry = "by_contract", owner = "operator", action = "inspect_outcome", phase = "remote_execution", source = "transport_observed" }}
"#
                );
            }
        }
    }
    for (row, cases) in [Row::Incomplete, Row::GoAway, Row::StreamReset].into_iter().zip(cases) {
        let cases = case::parse(&cases).unwrap_or_else(|problem| panic!("{problem}"));
        let wrong = site::carry_out(row, &site::runs(&cases)).await;
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    }
}

/// Steps the peer when the dispatch is on disk.
struct Steps(Arc<Peer>);

impl Probe for Steps {
    fn at(&self, point: Point) {
        if point == Point::AfterCommit(EventKind::DispatchStarted) {
            self.0.step();
        }
    }
}

/// A request that waits since the peer allows no stream, and that the connection's end, or nothing, meets
/// there: what is claimed and what was seen. No byte of it left.
async fn queued(operation: &str, ends: &[Act], deadline: u64) -> (Envelope, HttpEvidence) {
    let opening = [
        Act::ReadPreface,
        Act::Settings(vec![(setting::MAX_CONCURRENT_STREAMS, 0)]),
        Act::ReadFrame(Kind::Settings),
        Act::Step,
    ];
    let script = Script(opening.into_iter().chain(ends.iter().cloned()).collect());
    let peer = Arc::new(Peer::https2_as(script, TLS_H2.clone()));
    let mut wanted = Wanted::new("contracts", peer.origin(), "");
    wanted.more = "ca_file = \"ca.pem\"\nfresh_connections = \"always\"\n".to_owned();
    let limits = format!("setup_attempts = 1\nidle_seconds = 0\ndeadline_seconds = {deadline}");
    let mut rig = Rig::new(&wanted.limits(&limits)).await;
    rig.probe = Arc::new(Steps(Arc::clone(&peer)));
    std::fs::write(rig.home().join("ca.pem"), CA.pem()).unwrap();
    let open = rig.open().await;
    let envelope = open.call(operation, "{}").await;
    let requests: usize = peer.requests().iter().map(Vec::len).sum();
    assert_eq!((requests, peer.effects(), peer.accepted()), (0, 0, 1), "{ends:?}: {envelope:?}");
    let evidence = seen(&record(&open, &envelope)).unwrap().clone();
    (envelope, evidence)
}

/// The end may meet the request in the queue or on its way there. Nothing about it is proof.
#[tokio::test(flavor = "multi_thread")]
async fn a_graceful_end_that_meets_a_queued_request_proves_nothing() {
    const GRACEFUL: Act = Act::GoAway { last_stream: 0x7fff_ffff, code: code::NO_ERROR };
    const LAST: Act = Act::GoAway { last_stream: 0, code: code::NO_ERROR };
    for ends in [vec![GRACEFUL, Act::Close], vec![GRACEFUL, LAST, Act::Close], vec![LAST, Act::Close]] {
        for operation in ["idempotent", "keyed"] {
            let (envelope, evidence) = queued(operation, &ends, 20).await;
            let what = format!("{operation}, {ends:?}: {evidence:?}");
            assert_eq!(envelope.outcome(), Some(Outcome::Unknown), "{what}");
            assert!(!evidence.refused_stream && evidence.cause != Some(Cause::DeadlinePassed), "{what}");
        }
    }
}

/// A stream more than the peer allows waits. h2 makes no refusal of it that could be taken for the peer's.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_peer_does_not_allow_yet_is_not_refused() {
    let (envelope, evidence) = queued("keyed", &[Act::Hold], 1).await;
    assert_eq!(envelope.outcome(), Some(Outcome::Unknown), "{evidence:?}");
    let told = (evidence.cause, evidence.refused_stream, evidence.http2_error, evidence.bytes_offered);
    assert_eq!(told, (Some(Cause::DeadlinePassed), false, None, 0));
}
