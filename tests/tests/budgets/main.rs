//! A session that fails over and over at one operation is stopped, and nothing but a success or the end of
//! the window lets it go on.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects by panicking"
)]

mod counted;
mod lasting;

use proofport_broker::{CallRequest, Caller, Clock};
use proofport_core::code::Code;
use proofport_core::contract::{Action, Outcome, Retry, RetryOwner};
use proofport_core::envelope::Envelope;
use proofport_core::id::OperationName;
use proofport_core::origin::Origin;
use proofport_core::time::UnixMillis;
use proofport_tests::peer::{Act, Peer, Script, Scripts};
use proofport_tests::rig::{Open, Rig, Wanted, caller, name};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many failures the budgets here have, and their window in seconds.
const MOST: usize = 3;
const WITHIN: u32 = 600;

const OK: &str = "200 OK";
const BROKEN: &str = "500 Internal Server Error";

/// A connection that is answered like this, and ends.
fn answered(status: &str) -> Script {
    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 2\r\n\r\n{{}}");
    Script(vec![Act::ReadRequest, Act::Effect, Act::Send(answer.into()), Act::Close])
}

/// An effect whose answer is lost.
fn lost() -> Script {
    Script(vec![Act::ReadRequest, Act::Effect, Act::Close])
}

/// A clock that stands until it is set.
struct Standing(AtomicU64);

impl Standing {
    const START: u64 = 1_700_000_000_000;

    fn set(&self, seconds: u64) {
        self.0.store(Self::START + seconds * 1000, Ordering::SeqCst);
    }
}

impl Clock for Standing {
    fn now(&self) -> UnixMillis {
        UnixMillis(self.0.load(Ordering::SeqCst))
    }
}

/// A home of this guest with the budget of this file, and its clock.
async fn home(guest: &'static str, origin: Origin) -> (Rig, Arc<Standing>) {
    let mut wanted = Wanted::new(guest, origin, "key");
    wanted.more = format!("[connections.c.failures]\nmost = {MOST}\nwithin_seconds = {WITHIN}\n");
    let mut rig = Rig::new(&wanted.limits("setup_attempts = 1\nidle_seconds = 0")).await;
    let clock = Arc::new(Standing(AtomicU64::new(Standing::START)));
    rig.clock = Arc::<Standing>::clone(&clock);
    (rig, clock)
}

/// A peer that answers like this, one connection after another, and then well for ever.
fn peer(each: Vec<Script>) -> Peer {
    Peer::http(Scripts { each: each.into(), default: Some(answered(OK)) })
}

/// Another intent each time.
async fn call(open: &Open, operation: &str) -> Envelope {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let input = format!("{{\"n\":{}}}", NEXT.fetch_add(1, Ordering::SeqCst));
    open.call(operation, &input).await
}

/// The same in another session of the same principal.
async fn call_elsewhere(open: &Open, operation: &str) -> Envelope {
    let request = CallRequest {
        operation: OperationName { connection: name("c"), operation: name(operation) },
        input: br#"{"elsewhere":true}"#.to_vec(),
        call_key: None,
        caller: Caller { session: "two".to_owned(), ..caller() },
    };
    open.broker.call(request).await.envelope
}

/// This call carried nothing out, and says that it is the session's last failure, and when to come back.
fn assert_stopped(got: &Envelope, last: &Envelope, seconds: u32, what: &str) {
    assert!(got.repeated() && !got.ok(), "{what}: {got:?}");
    assert_eq!(got.request_id(), last.request_id(), "{what}: {got:?}");
    assert_eq!((got.code(), got.outcome()), (last.code(), last.outcome()), "{what}: {got:?}");
    let sent = serde_json::to_value(last).unwrap()["evidence"]["dispatch_started"] == true;
    let (retry, owner, action) = match last.outcome() {
        // A read that got no answer leaves nothing to find out.
        Some(Outcome::Unknown) if sent => (Retry::Reconcile, RetryOwner::Operator, Action::InspectOutcome),
        _ => (Retry::Never, RetryOwner::Nobody, Action::StopAndReport),
    };
    let said = (got.retry(), got.retry_owner(), got.action(), got.retry_after_seconds());
    assert_eq!(said, (retry, owner, Some(action), Some(seconds)), "{what}: {got:?}");
    let value = serde_json::to_value(got).unwrap();
    assert_eq!(value["retryable"], false, "{what}");
    assert_eq!(value["evidence"], serde_json::to_value(last).unwrap()["evidence"], "{what}");
    assert!(got.message().contains("failed too often"), "{what}: {got:?}");
}

/// As many failures as the budget has; the last of them.
async fn spend(open: &Open, operation: &str, code: Code) -> Envelope {
    let mut last = None;
    for n in 0..MOST {
        let envelope = call(open, operation).await;
        assert_eq!(envelope.code(), Some(code), "{operation} {n}: {envelope:?}");
        assert!(!envelope.repeated(), "{operation} {n}: {envelope:?}");
        last = Some(envelope);
    }
    last.unwrap()
}
