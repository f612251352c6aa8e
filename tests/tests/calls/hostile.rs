//! What hostile guests come to through a whole host: a code, an outcome, and a host that goes on.

use proofport_core::code::Code;
use proofport_core::contract::{Outcome, Phase};
use proofport_tests::peer::{Peer, Script, Scripts};
use proofport_tests::rig::{CANARY, Rig, Wanted};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
const BAD_GATEWAY: &str = "HTTP/1.1 502 Bad Gateway\r\ncontent-length: 2\r\n\r\n{}";

struct Expected {
    code: Option<Code>,
    phase: Phase,
    outcome: Outcome,
    /// How many requests the peer may have seen.
    requests: usize,
}

const fn stopped(code: Code) -> Expected {
    Expected { code: Some(code), phase: Phase::Validation, outcome: Outcome::NotAttempted, requests: 0 }
}

const fn answered(code: Code, outcome: Outcome) -> Expected {
    Expected { code: Some(code), phase: Phase::RemoteExecution, outcome, requests: 1 }
}

async fn check(guest: &'static str, operation: &str, answer: &str, expected: Expected) {
    let peer = Peer::http(Scripts { each: Default::default(), default: Some(Script::answer(answer)) });
    let rig = Rig::new(&Wanted::new(guest, peer.origin(), "key")).await;
    let open = rig.open().await;
    let envelope = open.call(operation, "{}").await;
    let got = (envelope.code(), envelope.phase(), envelope.outcome());
    assert_eq!(got, (expected.code, Some(expected.phase), Some(expected.outcome)), "{guest}: {envelope:?}");
    assert!(peer.accepted() <= expected.requests.max(1), "{guest}");
    assert_eq!(peer.effects(), expected.requests, "{guest}");
    assert!(!serde_json::to_string(&envelope).unwrap().contains(CANARY), "{guest}");
    assert!(envelope.request_id().is_some(), "{guest}: every call is on record");
    // What was claimed is what a later reader is told.
    let stored = open.result(&envelope.request_id().unwrap());
    assert_eq!((stored.code(), stored.outcome()), (envelope.code(), envelope.outcome()), "{guest}");
    // The host is healthy: another call is carried out.
    let again = open.call_with(operation, "{}", Some("again")).await;
    assert_eq!(again.code(), expected.code, "{guest}: again");
    open.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_before_dispatch_send_nothing() {
    for guest in [
        "infinite-loop",
        "memory-bomb",
        "gigabyte-output",
        "panics",
        "sets-authorization",
        "post-as-query",
        "exits",
        "overflows-stack",
        "settles-unasked",
        "smuggles-header",
    ] {
        check(guest, "act", OK, stopped(Code::ConnectorFault)).await;
    }
    check("unlisted-origin", "act", OK, stopped(Code::InvalidTarget)).await;
    check("effect-in-read", "look", OK, stopped(Code::ConnectorFault)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_after_the_answer_leave_what_it_proves() {
    use Outcome::{Committed, Unknown};
    for guest in ["above-ceiling"] {
        check(guest, "act", BAD_GATEWAY, answered(Code::OutcomeUnknown, Unknown)).await;
    }
    for guest in ["breaks-schema", "breaks-json", "two-effects", "refuses-late"] {
        check(guest, "act", OK, answered(Code::ResultUnreadable, Committed)).await;
    }
}
