//! A host that serves MCP in this process, and clients that say exactly what a test wants said.

mod raw;
mod stdio;
mod way;

pub use raw::{Raw, Reply, Revision};
pub use stdio::Stdio;
pub use way::SocketWay;

use crate::rig::{PASSPHRASE, Rig};
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use proofport_core::secret::Secret;
use proofport_gateway::agent::Agent;
use proofport_gateway::home::Home;
use proofport_gateway::host::{Connections, Host, OpenOptions};
use proofport_gateway::mcp::{Asker, Options, router};
use proofport_gateway::{Authority, Caller};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A serving host. Dropping it ends its server; what it has taken on goes on.
pub struct McpHost {
    /// The host.
    pub host: Arc<Host>,
    /// Where it listens.
    pub address: SocketAddr,
    /// Tells that the list of tools may have changed.
    pub changes: watch::Sender<u64>,
    server: JoinHandle<()>,
}

impl Drop for McpHost {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl McpHost {
    /// Opens a host on the rig's home and serves it on a free port of 127.0.0.1. Who asks is who the bearer
    /// token says: `principal/session`, or `waiting` for somebody who is not admitted; without one,
    /// `tester/one`.
    ///
    /// # Panics
    /// When it can't be opened or served.
    pub async fn serve(rig: &Rig, options: Options) -> Self {
        let home = Home::at(rig.home()).unwrap();
        let passphrase = Secret::new(PASSPHRASE.as_bytes().to_vec());
        let host = Host::open(home, &passphrase, OpenOptions::program(Connections::All)).await.unwrap();
        let host = Arc::new(host);
        let caring = Arc::clone(&host);
        let (changes, heard) = watch::channel(0);
        let known = Arc::clone(&host);
        let app = router("/mcp", heard, options).layer(from_fn(move |mut request: Request, next: Next| {
            let asker = asker(&known, &request);
            request.extensions_mut().insert(asker);
            next.run(request)
        }));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(async move {
            tokio::select! {
                served = axum::serve(listener, app) => served.unwrap(),
                _ = caring.broker().look_after() => {}
            }
        });
        Self { host, address, changes, server }
    }

    /// A client of this revision, as `tester/one`.
    #[must_use]
    pub fn client(&self, revision: Revision) -> Raw {
        Raw::new(self.address, revision)
    }

    /// Ends the server, waits for what is under way, and closes the home.
    ///
    /// # Panics
    /// When somebody still holds it.
    pub async fn close(self) {
        self.server.abort();
        self.host.broker().stop().await;
        self.host.broker().journal().clone().close().unwrap();
    }
}

fn asker(host: &Arc<Host>, request: &Request) -> Asker {
    let token = request.headers().get("authorization").and_then(|value| value.to_str().ok());
    let token = token.and_then(|token| token.strip_prefix("Bearer ")).unwrap_or("tester/one");
    match token.split_once('/') {
        Some((principal, session)) => Asker::Agent(Agent::new(
            Arc::clone(host),
            Caller {
                principal: principal.to_owned(),
                session: session.to_owned(),
                authority: Authority::Agent,
            },
        )),
        None => Asker::Refused(proofport_core::code::Code::ApprovalPending),
    }
}
