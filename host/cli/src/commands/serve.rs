//! `serve`: the host, for as long as it is wanted.

use super::App;
use crate::exit;
use crate::notify::Manager;
use anyhow::Context as _;
use proofport_gateway::config::Config;
use proofport_gateway::host::{Connections, HostError};
use proofport_gateway::serve::{CancellationToken, Mounted, Parts, Serving};
use proofport_gateway::session::Sessions;
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The status of a host that was left while something was under way.
const LEFT: u8 = 12;

/// Where it listens, once it does.
#[derive(Serialize)]
struct Ready<'a> {
    ready: bool,
    agent_socket: &'a Path,
    #[serde(skip_serializing_if = "Option::is_none")]
    http: Option<String>,
}

pub(super) async fn run(app: &App) -> anyhow::Result<u8> {
    let manager = Manager::from_environment();
    // Before anything is opened, so that no signal ends it halfway.
    let mut interrupts = Interrupts::new()?;
    let host = Arc::new(app.open(Connections::All).await?);
    let config = Config::load_or_empty(&host.home().config()).map_err(HostError::Config)?;
    let looked = Arc::clone(&host);
    // It reads the executables that are let in.
    let sessions = tokio::task::spawn_blocking(move || Sessions::open(&looked)).await??;
    let parts = Parts {
        host,
        sessions: Arc::new(sessions),
        settings: config.serve,
        mounted: Mounted::default(),
        stopping: CancellationToken::new(),
    };
    let serving = Serving::start(parts).await?;
    // For whoever reads it elsewhere.
    let socket = std::path::absolute(serving.socket())?;
    let http = serving.http().map(|address| format!("http://{address}"));
    app.out.remark(&format!("agents: unix:{}", socket.display()));
    if let Some(http) = &http {
        app.out.remark(&format!("agents: {http}"));
    }
    if app.out.json {
        app.out.answer(&Ready { ready: true, agent_socket: &socket, http }, String::new)?;
    }
    manager.tell("READY=1");
    interrupts.next().await;
    manager.tell("STOPPING=1");
    app.out.remark("stopping: nothing new is taken on, and what is under way is waited for, at the latest until its deadline; a second signal leaves at once, and what is then under way will be unknown");
    tokio::select! {
        biased;
        stopped = serving.stop() => {
            stopped?;
            Ok(exit::OK)
        }
        () = interrupts.next() => Ok(LEFT),
    }
}

/// What asks the host to end.
struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
}

impl Interrupts {
    fn new() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("signals can't be listened for");
        Ok(Self { interrupt: listen(SignalKind::interrupt())?, terminate: listen(SignalKind::terminate())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
