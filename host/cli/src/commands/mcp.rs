//! `mcp`: MCP over standard input and output, for one agent, joined to the running host.

use super::App;
use crate::args::Mcp;
use crate::exit;
use crate::harden;
use proofport_gateway::mcp::shim;

/// Carries the client's messages until it has no more.
///
/// # Errors
/// When standard input or output fails.
pub(super) async fn run(app: &App, args: Mcp) -> anyhow::Result<u8> {
    harden::be_seen()?;
    let socket = match args.socket {
        Some(socket) => socket,
        None => app.home_path()?.join(shim::SOCKET),
    };
    shim::run(&socket, tokio::io::stdin(), tokio::io::stdout()).await?;
    Ok(exit::OK)
}
