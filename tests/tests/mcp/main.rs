//! MCP, spoken by hand over both revisions against a whole host and a scripted peer.

// Helpers outside of `#[test]` functions say what they expect by panicking, too.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod again;
mod cancelled;
mod clients;
mod guarded;
mod lost;
mod tasks;
mod tools;

use proofport_gateway::mcp::Options;
use proofport_tests::mcp::McpHost;
use proofport_tests::peer::{Act, Peer, Script, Scripts};
use proofport_tests::rig::{Rig, Wanted};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _};

pub(crate) const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";

/// A peer with these scripts, then nothing; a host with the guest's operations on it.
pub(crate) async fn setting(
    guest: &'static str,
    each: Vec<Script>,
    options: Options,
) -> (Peer, Rig, McpHost) {
    let peer = Peer::http(Scripts { each: each.into(), default: None });
    let limits = "deadline_seconds = 20\nsetup_attempts = 1";
    // It declares no place for a credential.
    let slot = if guest == "contracts" { "" } else { "key" };
    let rig = Rig::new(&Wanted::new(guest, peer.origin(), slot).limits(limits)).await;
    let host = McpHost::serve(&rig, options).await;
    (peer, rig, host)
}

/// Applies the effect, waits until the peer is released, and answers.
pub(crate) fn held() -> Script {
    Script(vec![Act::ReadRequest, Act::Effect, Act::Hold, Act::Send(OK.into()), Act::Close])
}

/// Applies the effect; its answer is lost.
pub(crate) fn lost() -> Script {
    Script(vec![Act::ReadRequest, Act::Effect, Act::Close])
}

/// Waits, off the runtime's threads, until the peer has applied so many effects.
pub(crate) fn wait_effects(peer: &Peer, effects: usize) {
    tokio::task::block_in_place(|| peer.wait_effects(effects));
}

/// These fields of an envelope, absent ones as null.
pub(crate) fn fields<const N: usize>(envelope: &Value, names: [&str; N]) -> [Value; N] {
    names.map(|name| envelope.get(name).cloned().unwrap_or_default())
}

/// Reads from a stream until it has said this.
pub(crate) async fn until(stream: &mut (impl AsyncRead + Unpin), said: &str) -> String {
    let mut heard = String::new();
    while !heard.contains(said) {
        let mut bytes = [0; 4096];
        let got = stream.read(&mut bytes).await.unwrap();
        assert_ne!(got, 0, "it ended: {heard}");
        heard.push_str(&String::from_utf8_lossy(&bytes[..got]));
    }
    heard
}
