//! `serve`: the host, for as long as it is wanted.

use super::{App, told_of};
use crate::exit;
use crate::notify::Manager;
use anyhow::Context as _;
use proofport_gateway::config::Config;
use proofport_gateway::host::{Connections, Host, HostError, OpenOptions};
use proofport_gateway::notify;
use proofport_gateway::operator_side::{self, Door};
use proofport_gateway::serve::{CancellationToken, Mounted, Parts, Serving};
use proofport_gateway::session::Sessions;
use proofport_gateway::telemetry::Exporter;
use serde::Serialize;
use std::path::{Path, PathBuf};
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
    operator_socket: &'a Path,
}

/// A host serves this home already.
#[derive(Debug, thiserror::Error)]
#[error("a host serves {} already: stop that one first, or serve another home", .0.display())]
struct AlreadyServed(PathBuf);

pub(super) async fn run(app: &App) -> anyhow::Result<u8> {
    let manager = Manager::from_environment();
    // Before anything is opened, so that no signal ends it halfway.
    let mut interrupts = Interrupts::new()?;
    let home = app.home()?;
    if Door::of(&home).await?.is_some() {
        return Err(AlreadyServed(home.path().to_owned()).into());
    }
    let passphrase = app.passphrases.required()?;
    let host = Arc::new(Host::open(home, &passphrase, OpenOptions::program(Connections::All)).await?);
    drop(passphrase);
    told_of(app.out, &host);
    let config = Config::load_or_empty(&host.home().config()).map_err(HostError::Config)?;
    let traces = Exporter::start(host.broker(), &config.telemetry);
    let looked = Arc::clone(&host);
    // It reads the executables that are let in.
    let sessions = Arc::new(tokio::task::spawn_blocking(move || Sessions::open(&looked)).await??);
    let stopping = CancellationToken::new();
    let mounted = Mounted::all(&host, &sessions, &config.serve, &stopping);
    let parts = Parts {
        host: Arc::clone(&host),
        sessions: Arc::clone(&sessions),
        settings: config.serve,
        mounted,
        stopping: stopping.clone(),
    };
    let serving = Serving::start(parts).await?;
    let operators = operator_side::start(Arc::clone(&host), sessions)?;
    let broker = host.broker().clone();
    let told = tokio::spawn(async move { notify(&broker, &config.notify).await });
    drop(host);
    // For whoever reads it elsewhere.
    let socket = std::path::absolute(serving.socket())?;
    let http = serving.http().map(|address| format!("http://{address}"));
    app.out.remark(&format!("agents: unix:{}", socket.display()));
    if let Some(http) = &http {
        app.out.remark(&format!("agents: {http}"));
    }
    app.out.remark(&format!("operators: unix:{}", operators.path().display()));
    if app.out.json {
        let operator_socket = operators.path();
        app.out.answer(&Ready { ready: true, agent_socket: &socket, http, operator_socket }, String::new)?;
    }
    manager.tell("READY=1");
    interrupts.next().await;
    manager.tell("STOPPING=1");
    app.out.remark("stopping: nothing new is taken on, and what is under way is waited for, at the latest until its deadline; a second signal leaves at once, and what is then under way will be unknown");
    told.abort();
    // From here on nothing new is taken on from anybody.
    stopping.cancel();
    tokio::select! {
        biased;
        stopped = async {
            operators.stop().await;
            let stopped = serving.stop().await;
            // What was under way until now is in the last of them.
            if let Some(traces) = traces {
                traces.stop().await;
            }
            stopped
        } => {
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
