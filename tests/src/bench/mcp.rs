//! What the way over MCP adds to a call: the same calls in turn, directly and over one kept connection.

use super::micros;
use crate::mcp::{McpHost, Raw, Revision};
use crate::rig::{Rig, Wanted};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use proofport_core::id::OperationName;
use proofport_gateway::agent::Agent;
use proofport_gateway::mcp::Options;
use proofport_gateway::{Authority, Caller};
use serde::Serialize;
use serde_json::{Value, json};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Calls in each way.
const CALLS: usize = 1000;

/// What it came to.
#[derive(Debug, Serialize)]
pub struct Mcp {
    /// The median of a direct call, in microseconds.
    pub direct_p50_micros: u64,
    /// The median of a call over MCP, in microseconds.
    pub mcp_p50_micros: u64,
}

impl Mcp {
    /// What the way adds at the median, in milliseconds.
    #[must_use]
    pub fn added_millis(&self) -> f64 {
        (self.mcp_p50_micros as f64 - self.direct_p50_micros as f64) / 1000.0
    }
}

/// Measures it.
///
/// # Errors
/// When a call does not succeed.
pub async fn measure(wanted: &Wanted) -> io::Result<Mcp> {
    let rig = Rig::new(wanted).await;
    let host = McpHost::serve(&rig, Options::default()).await;
    let caller =
        Caller { principal: "tester".to_owned(), session: "one".to_owned(), authority: Authority::Agent };
    let agent = Agent::new(Arc::clone(&host.host), caller);
    let operation = OperationName::parse("c.act").map_err(io::Error::other)?;
    let client = host.client(Revision::New);
    let mut sender = connect(&host).await?;
    let (mut direct, mut over) = (Vec::new(), Vec::new());
    // The first ones fill caches.
    for n in 0..CALLS + 100 {
        let input = json!({ "direct": n }).to_string().into_bytes();
        let start = Instant::now();
        let delivery = agent.call(operation.clone(), input, None).await;
        let took = start.elapsed();
        if !delivery.envelope.ok() {
            return Err(io::Error::other("a direct call failed"));
        }
        delivery.confirmed();
        direct.push(took);
        over.push(call(&mut sender, &client, &host, n).await?);
    }
    drop(sender);
    host.close().await;
    Ok(Mcp { direct_p50_micros: p50(direct), mcp_p50_micros: p50(over) })
}

async fn connect(host: &McpHost) -> io::Result<http1::SendRequest<Full<Bytes>>> {
    let stream = tokio::net::TcpStream::connect(host.address).await?;
    stream.set_nodelay(true)?;
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    tokio::spawn(connection);
    Ok(sender)
}

async fn call(
    sender: &mut http1::SendRequest<Full<Bytes>>,
    client: &Raw,
    host: &McpHost,
    n: usize,
) -> io::Result<Duration> {
    let params = json!({ "name": "c__act", "arguments": { "over": n } });
    let (_, message) = client.message("tools/call", params);
    let request = hyper::Request::post("/mcp")
        .header("host", host.address.to_string())
        .header("accept", "application/json, text/event-stream")
        .header("content-type", "application/json")
        .header("mcp-protocol-version", Revision::New.version())
        .header("mcp-method", "tools/call")
        .header("mcp-name", "c__act")
        .body(Full::new(Bytes::from(message.to_string())))
        .map_err(io::Error::other)?;
    let start = Instant::now();
    let response = sender.send_request(request).await.map_err(io::Error::other)?;
    let body = response.into_body().collect().await.map_err(io::Error::other)?.to_bytes();
    let took = start.elapsed();
    let answer: Value = serde_json::from_slice(&body)?;
    if answer.pointer("/result/structuredContent/ok") != Some(&Value::Bool(true)) {
        return Err(io::Error::other("a call over MCP failed"));
    }
    Ok(took)
}

/// The median without those that filled caches.
fn p50(mut times: Vec<Duration>) -> u64 {
    let mut times = times.split_off(times.len().saturating_sub(CALLS));
    times.sort();
    times.get(times.len() / 2).copied().map_or(u64::MAX, micros)
}
