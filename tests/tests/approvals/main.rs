//! People who are asked: what is shown is what is sent, a no and a silence are not the same, nothing is
//! forgotten by a restart, and an approval reaches no further than it says.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects by panicking"
)]

mod answers;
mod changes;
mod grants;

use proofport_broker::{Authority, CallRequest, Caller, Card, Clock, Reach};
use proofport_core::code::Code;
use proofport_core::envelope::Envelope;
use proofport_core::id::{OperationName, RequestId};
use proofport_core::time::UnixMillis;
use proofport_tests::peer::{Peer, Script, Scripts};
use proofport_tests::rig::{Open, Rig, Wanted, name};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(20);

/// A clock that stands still until it is moved.
struct Still(watch::Sender<u64>);

impl Still {
    fn new() -> Arc<Self> {
        Arc::new(Self(watch::Sender::new(1_700_000_000_000)))
    }

    fn forward(&self, seconds: u64) {
        self.0.send_modify(|now| *now += seconds * 1000);
    }
}

impl Clock for Still {
    fn now(&self) -> UnixMillis {
        UnixMillis(*self.0.borrow())
    }

    fn until(&self, at: UnixMillis) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            let _ = self.0.subscribe().wait_for(|now| *now >= at.0).await;
        })
    }
}

/// A home whose connection asks, and a service that answers everything well.
struct Desk {
    peer: Peer,
    rig: Rig,
    clock: Arc<Still>,
}

impl Desk {
    async fn new(guest: &'static str, more: &str) -> Self {
        Self::with(guest, more, Vec::new()).await
    }

    /// The same with a service that does this to its first connections.
    async fn with(guest: &'static str, more: &str, first: Vec<Script>) -> Self {
        let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
        let default = Some(Script::answer(answer));
        let peer = Peer::http(Scripts { each: first.into(), default });
        let mut wanted = Wanted::new(guest, peer.origin(), if guest == "promises" { "key" } else { "" });
        wanted.more = more.to_owned();
        wanted.asks = true;
        let mut rig = Rig::new(&wanted.limits("setup_attempts = 1\nidle_seconds = 0")).await;
        let clock = Still::new();
        rig.clock = Arc::<Still>::clone(&clock);
        Self { peer, rig, clock }
    }

    async fn open(&self) -> Open {
        self.rig.open().await
    }
}

/// An agent in this session.
fn agent(session: &str) -> Caller {
    Caller { principal: "agent:a".to_owned(), session: session.to_owned(), authority: Authority::Agent }
}

/// A call of an agent's.
async fn call_in(open: &Open, session: &str, operation: &str, input: &str) -> Envelope {
    let operation = OperationName { connection: name("c"), operation: name(operation) };
    let (input, caller) = (input.as_bytes().to_vec(), agent(session));
    open.broker.call(CallRequest { operation, input, call_key: None, caller }).await.envelope
}

async fn call(open: &Open, operation: &str) -> Envelope {
    call_in(open, "one", operation, input_of(operation)).await
}

fn input_of(operation: &str) -> &'static str {
    if operation == "follow" { r#"{"job":"job-1"}"# } else { "{}" }
}

/// A call that somebody is asked about.
async fn asked(open: &Open, operation: &str) -> RequestId {
    let pending = call(open, operation).await;
    assert_eq!(pending.code(), Some(Code::ApprovalPending), "{operation}: {pending:?}");
    pending.request_id().unwrap()
}

fn only_card(open: &Open) -> Card {
    let mut cards = open.broker.approvals().unwrap();
    assert_eq!(cards.len(), 1, "{cards:?}");
    cards.remove(0)
}

async fn approve(open: &Open, id: &RequestId, reach: Reach) {
    let about = open.broker.card(id).unwrap().map(|card| card.request);
    open.broker.approve(id, about, reach).await.unwrap();
}

/// Lets the host's hands work until this call is over.
async fn over(open: &Open, id: &RequestId) -> Envelope {
    let caller = agent("one");
    let over = async {
        tokio::select! {
            () = open.broker.look_after() => panic!("the hands are idle"),
            delivery = open.broker.watch(id, &caller, LONG) => delivery.envelope,
        }
    };
    tokio::time::timeout(LONG, over).await.expect("it is not over")
}
