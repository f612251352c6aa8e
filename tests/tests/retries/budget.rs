//! What the host does by itself.

use crate::{OK, answered, assert_same_bytes, lost, site, status};
use proofport_core::code::Code;
use proofport_core::contract::{Outcome, Retry, RetryOwner};
use proofport_core::event::EventKind;
use proofport_tests::peer::Script;

/// Three attempts, 1 and 2 seconds apart at most.
pub(crate) const THREE: &str = "[connections.c.retries]\nattempts = 3\nfirst_delay_millis = 1000\n";

/// What is claimed in the end, and how many requests the peer got.
pub(crate) struct Expected {
    pub(crate) outcome: Outcome,
    pub(crate) code: Option<Code>,
    pub(crate) retry: Retry,
    pub(crate) owner: RetryOwner,
    pub(crate) requests: usize,
}

pub(crate) const DONE: Expected = Expected {
    outcome: Outcome::Committed,
    code: None,
    retry: Retry::Never,
    owner: RetryOwner::Nobody,
    requests: 1,
};

pub(crate) const UNKNOWN: Expected = Expected {
    outcome: Outcome::Unknown,
    code: Some(Code::OutcomeUnknown),
    retry: Retry::Reconcile,
    owner: RetryOwner::Operator,
    requests: 1,
};

pub(crate) async fn check(
    operation: &str,
    retries: &str,
    each: Vec<Script>,
    most_seconds: u64,
    expected: Expected,
) {
    let what = format!("{operation} {} {retries}", each.len());
    let (peer, rig, clock) = site(each, retries).await;
    let open = rig.open().await;
    let envelope = open.call(operation, "{}").await;
    let got = (envelope.outcome(), envelope.code(), envelope.retry(), envelope.retry_owner());
    let wanted = (Some(expected.outcome), expected.code, expected.retry, expected.owner);
    assert_eq!(got, wanted, "{what}: {envelope:?}");
    assert_eq!(peer.accepted(), expected.requests, "{what}: {envelope:?}");
    assert_same_bytes(&peer, &what);
    assert!(clock.seconds() <= most_seconds, "{what}: after {} s", clock.seconds());
    // Every attempt is announced before it is made, and made after it is durable.
    let id = envelope.request_id().unwrap();
    let kinds: Vec<_> = open.broker.timeline(&id).unwrap().iter().map(|r| r.event.kind()).collect();
    let count = |kind: EventKind| kinds.iter().filter(|known| **known == kind).count();
    assert_eq!(count(EventKind::DispatchStarted), expected.requests, "{what}: {kinds:?}");
    assert_eq!(count(EventKind::RetryScheduled), expected.requests - 1, "{what}: {kinds:?}");
    assert_eq!(count(EventKind::OutcomeSettled), usize::from(expected.outcome != Outcome::Unknown), "{what}");
    open.close();
    // The same is said after a restart, and nothing is sent for it.
    let open = rig.open().await;
    let again = open.result(&id);
    assert_eq!(
        (again.outcome(), again.code(), again.retry_owner()),
        (wanted.0, wanted.1, wanted.3),
        "{what}"
    );
    assert_eq!(peer.accepted(), expected.requests, "{what}");
    open.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_bytes_go_out_again_within_contract_and_budget() {
    for operation in ["same", "keyed"] {
        check(operation, THREE, vec![answered(OK)], 0, DONE).await;
        check(operation, THREE, vec![lost(), answered(OK)], 1, Expected { requests: 2, ..DONE }).await;
        check(operation, THREE, vec![lost(), lost(), answered(OK)], 3, Expected { requests: 3, ..DONE })
            .await;
        let spent = Expected { requests: 3, ..UNKNOWN };
        check(operation, THREE, vec![lost(), lost(), lost(), answered(OK)], 3, spent).await;
        // Without a budget the operator may, and the host does not.
        let (retry, owner) = match operation {
            "same" => (Retry::Backoff, RetryOwner::Operator),
            _ => (Retry::SameIdempotencyKey, RetryOwner::Operator),
        };
        check(operation, "", vec![lost(), answered(OK)], 0, Expected { retry, owner, ..UNKNOWN }).await;
    }
}

/// Law 3, case 33: what a later attempt meets says nothing of the first.
#[tokio::test(flavor = "multi_thread")]
async fn a_later_refusal_settles_nothing() {
    for line in ["401 Unauthorized", "404 Not Found", "409 Conflict", "429 Too Many Requests"] {
        let each = vec![lost(), answered(&status(line)), answered(&status(line)), answered(OK)];
        check("keyed", THREE, each, 3, Expected { requests: 3, ..UNKNOWN }).await;
    }
}

/// Case 23: no status and no error makes a repeat safe.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_contract_nothing_goes_out_twice() {
    let retry = Retry::Reconcile;
    for script in [lost(), answered(&status("502 Bad Gateway")), answered(&status("504 Gateway Timeout"))] {
        check("act", THREE, vec![script, answered(OK)], 0, Expected { retry, ..UNKNOWN }).await;
    }
    let failed = Expected {
        outcome: Outcome::Committed,
        code: Some(Code::RemoteFailed),
        retry: Retry::Never,
        owner: RetryOwner::Nobody,
        requests: 1,
    };
    for operation in ["act", "same", "keyed"] {
        let each = vec![answered(&status("500 Internal Server Error")), answered(OK)];
        check(operation, THREE, each, 0, Expected { ..failed }).await;
    }
}

/// The remote's delay counts where it is longer, and takes the attempt out of the budget's time.
#[tokio::test(flavor = "multi_thread")]
async fn a_delay_that_the_remote_asks_for_is_waited_for() {
    let busy = |seconds: u32| {
        answered(&format!(
            "HTTP/1.1 503 Service Unavailable\r\nretry-after: {seconds}\r\ncontent-length: 2\r\n\r\n{{}}"
        ))
    };
    let (peer, rig, clock) = site(vec![busy(40), answered(OK)], THREE).await;
    let open = rig.open().await;
    let envelope = open.call("same", "{}").await;
    assert!(envelope.ok(), "{envelope:?}");
    assert_eq!((peer.accepted(), clock.seconds()), (2, 40));
    open.close();
    let short = format!("{THREE}total_seconds = 30\n");
    check("same", &short, vec![busy(40), answered(OK)], 0, UNKNOWN).await;
}
