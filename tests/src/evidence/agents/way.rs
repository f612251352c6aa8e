//! How an agent reaches the host: over HTTP by the crate for callers, or over MCP in either revision.

use crate::mcp::{Raw, Revision};
use proofport_client::{Call, CallError, Client, Envelope, RequestId, Token};
use serde::Serialize;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::Duration;

/// How long an agent has the host wait for news.
const WAIT: Duration = Duration::from_secs(20);

/// Which way an agent goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Over {
    /// The host's own HTTP.
    Http,
    /// MCP 2025-11-25.
    McpOld,
    /// MCP 2026-07-28.
    McpNew,
}

impl Over {
    /// The ways in turn.
    pub(super) const fn of(number: u32) -> Self {
        match number % 3 {
            0 => Self::Http,
            1 => Self::McpOld,
            _ => Self::McpNew,
        }
    }
}

/// A client at one host.
pub(super) enum Way {
    Http(Client),
    Mcp(Raw),
}

/// What an agent asks.
#[derive(Clone, Copy)]
pub(super) enum Ask<'a> {
    /// To make a charge of this amount.
    Charge(u64),
    /// For news of it.
    Wait(&'a RequestId),
    /// To have it settled.
    Settle(&'a RequestId),
}

/// It was done, or what was said instead.
pub(super) type Answer = Result<(), Box<Envelope>>;

impl Way {
    pub(super) fn new(over: Over, address: SocketAddr, token: &str) -> Self {
        let mcp = |revision| Self::Mcp(Raw::new(address, revision).as_whom(token));
        match over {
            Over::Http => {
                let token = Token::new(token).expect("the host minted it");
                Self::Http(Client::http(address, token).expect("the host listens on a loopback address"))
            }
            Over::McpOld => mcp(Revision::Old),
            Over::McpNew => mcp(Revision::New),
        }
    }

    /// What the host answered; none: nothing came, or no answer to this.
    pub(super) async fn ask(&self, what: Ask<'_>) -> Option<Answer> {
        match self {
            Self::Http(client) => http(client, what).await,
            Self::Mcp(raw) => {
                let (tool, arguments) = tool(what);
                let reply = raw.try_call(tool, arguments).await.ok()?;
                let said = reply.messages.last()?.pointer("/result/structuredContent")?;
                let envelope: Envelope = serde_json::from_value(said.clone()).expect("it is an envelope");
                Some(if envelope.ok() { Ok(()) } else { Err(Box::new(envelope)) })
            }
        }
    }
}

fn tool(what: Ask<'_>) -> (&'static str, Value) {
    match what {
        Ask::Charge(amount) => ("c__create_charge", input(amount)),
        Ask::Wait(id) => ("wait", json!({ "request_id": id.as_str(), "seconds": WAIT.as_secs() })),
        Ask::Settle(id) => ("inspect_outcome", json!({ "request_id": id.as_str() })),
    }
}

fn input(amount: u64) -> Value {
    json!({ "amount": amount, "currency": "eur" })
}

async fn http(client: &Client, what: Ask<'_>) -> Option<Answer> {
    let answered = match what {
        Ask::Charge(amount) => {
            let call = Call::new("c.create_charge", &input(amount)).expect("it is a call");
            client.call(&call).await
        }
        Ask::Wait(id) => client.wait(id, WAIT).await,
        Ask::Settle(id) => client.reconcile(id).await,
    };
    match answered {
        Ok(_) => Some(Ok(())),
        Err(CallError::Answered(envelope)) => Some(Err(envelope)),
        Err(
            CallError::NoAnswer(_)
            | CallError::Malformed(_)
            | CallError::InDoubt(_)
            | CallError::NotRepeatable(_)
            | CallError::Unsendable,
        ) => None,
    }
}
