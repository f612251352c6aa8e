//! `mcp`: MCP over standard input and output, for one agent, joined to the running host.

use super::App;
use crate::args::Mcp;
use crate::exit::{self, Usage};
use crate::harden;
use crate::secret_input;
use proofport_core::secret::Secret;
use proofport_gateway::mcp::shim;
use std::fs::File;
use std::path::Path;

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
    let token = args.token_file.as_deref().map(token).transpose()?;
    let route = shim::Route::new(&socket, token.as_ref()).map_err(|error| {
        let file = args.token_file.unwrap_or_default();
        Usage(format!("could not take the token in {}: {error}", file.display()))
    })?;
    shim::run(route, tokio::io::stdin(), tokio::io::stdout()).await?;
    Ok(exit::OK)
}

fn token(path: &Path) -> anyhow::Result<Secret> {
    let read = File::open(path).and_then(secret_input::read);
    Ok(read.map_err(|error| Usage(format!("could not read the token file {}: {error}", path.display())))?)
}
