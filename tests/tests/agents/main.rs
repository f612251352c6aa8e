//! Agents and operators at one running host: the program serves, an agent calls through the callers' crate,
//! people answer with the program's own commands, and the peer's log is the truth.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects by panicking"
)]

mod approvals;
mod audit;
mod taking_back;
mod unknowns;

use proofport_client::{Call, CallError, Client, Code, Envelope, RequestId, Success, Token};
use proofport_tests::peer::{Act, Peer, Script, Scripts};
use proofport_tests::rig::{Wanted, make_home};
use proofport_tests::serving::Serving;
use serde_json::json;
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;

/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(30);

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";

/// A home whose connection asks people, and a service.
struct Place {
    dir: TempDir,
    peer: Peer,
}

/// An agent that reaches the host over loopback HTTP.
struct Agent {
    client: Client,
    session: String,
}

impl Place {
    /// `first`: what the service does to the first connections; all others are answered well.
    async fn new(guest: &'static str, first: Vec<Script>, more: &str) -> Self {
        let peer = Peer::http(Scripts { each: first.into(), default: Some(Script::answer(OK)) });
        let mut wanted = Wanted::new(guest, peer.origin(), if guest == "promises" { "key" } else { "" });
        (wanted.more, wanted.asks) = (more.to_owned(), true);
        let dir = tempfile::tempdir().unwrap();
        make_home(&dir.path().join("home"), &wanted.limits("setup_attempts = 1\nidle_seconds = 0")).await;
        Self { dir, peer }
    }

    fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    fn serve(&self) -> Serving {
        tokio::task::block_in_place(|| Serving::start(&self.home()))
    }
}

impl Agent {
    fn new(host: &Serving, name: &str) -> Self {
        let (token, session) = host.token(name);
        Self { client: Self::client(host, &token), session }
    }

    fn client(host: &Serving, token: &str) -> Client {
        Client::http(host.http(), Token::new(token).unwrap()).unwrap()
    }

    async fn call(&self, operation: &str, n: u32) -> Result<Success, CallError> {
        self.client.call(&call(operation, n)).await
    }

    /// A call that a person has to be asked about.
    async fn asked(&self, operation: &str, n: u32) -> RequestId {
        let pending = refused(self.call(operation, n).await, Code::ApprovalPending);
        pending.request_id().unwrap().clone()
    }
}

fn call(operation: &str, n: u32) -> Call {
    Call::new(&format!("c.{operation}"), &json!({ "n": n })).unwrap()
}

/// What the host answered where it is no success; it has this code.
fn refused(answered: Result<Success, CallError>, code: Code) -> Envelope {
    match answered {
        Err(CallError::Answered(envelope)) if envelope.code() == Some(code) => *envelope,
        other => panic!("not {code:?}: {other:?}"),
    }
}

/// An effect whose answer is lost.
fn lost() -> Script {
    Script(vec![Act::ReadRequest, Act::Effect, Act::Close])
}

/// Everything that the service was told to do.
fn writes(peer: &Peer) -> usize {
    peer.received().iter().filter(|request| request.starts_with(b"POST")).count()
}
