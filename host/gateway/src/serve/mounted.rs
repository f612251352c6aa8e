//! What a host serves beside `/v1`: MCP for agents, and the figures for whoever can reach it.

use super::{Entrance, Mounted, Outbox};
use crate::config::ServeConfig;
use crate::host::Host;
use crate::mcp::{self, Asker, Handover, Options};
use crate::metrics;
use crate::session::Sessions;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use proofport_core::code::Code;
use proofport_core::event::EventKind;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Where MCP is spoken.
const MCP: &str = "/mcp";

/// How often it is looked whether the vault was locked or unlocked, or a connector was revoked.
const LOOK: Duration = Duration::from_secs(1);

impl Mounted {
    /// All that there is.
    #[must_use]
    pub fn all(
        host: &Arc<Host>,
        sessions: &Arc<Sessions>,
        settings: &ServeConfig,
        stopping: &CancellationToken,
    ) -> Self {
        let usual = Options::default();
        let options = Options {
            hosts: usual.hosts.iter().chain(&settings.hosts).cloned().collect(),
            origins: settings.origins.clone(),
            most_bytes: settings.request_bytes,
            request_time: settings.request_time(),
            stopping: stopping.clone(),
            ..usual
        };
        let changes = changes(Arc::clone(host), Arc::clone(sessions), stopping.clone());
        let agents = mcp::router(MCP, changes, options).layer(from_fn(introduce));
        Self { agents, open: metrics::route(Arc::clone(host)) }
    }
}

/// Tells MCP who asks, and when an answer is out.
async fn introduce(mut request: Request, next: Next) -> Response {
    let asker = match request.extensions().get::<Entrance>() {
        Some(Entrance::Admitted(agent)) => Some(Asker::Agent(agent.clone())),
        Some(Entrance::Waiting) => Some(Asker::Refused(Code::ApprovalPending)),
        Some(Entrance::Ended) => Some(Asker::Refused(Code::UserDenied)),
        None => None,
    };
    let outbox = request.extensions().get::<Outbox>().cloned();
    request.extensions_mut().extend(
        asker
            .map(|asker| {
                let mut more = http::Extensions::new();
                more.insert(asker);
                more
            })
            .unwrap_or_default(),
    );
    if let Some(outbox) = outbox {
        request.extensions_mut().insert(Handover::new(move |delivery| outbox.push(delivery)));
    }
    next.run(request).await
}

/// Differs whenever what an agent may call may do.
fn changes(host: Arc<Host>, sessions: Arc<Sessions>, stopping: CancellationToken) -> watch::Receiver<u64> {
    let (tell, changes) = watch::channel(0);
    tokio::spawn(async move {
        let mut decided = sessions.changes();
        let look = || {
            let broker = host.broker();
            let digests = broker.connections().map(|connection| connection.connector.digest());
            // Locked and unlocked again in between is a change, too.
            let turned = broker.figures().times(EventKind::VaultStateChanged);
            (broker.is_locked(), turned, digests.filter(|digest| broker.is_revoked(digest)).count())
        };
        let mut seen = look();
        loop {
            tokio::select! {
                () = stopping.cancelled() => return,
                changed = decided.changed() => if changed.is_err() {
                    return;
                },
                () = tokio::time::sleep(LOOK) => {
                    let now = look();
                    if now == seen {
                        continue;
                    }
                    seen = now;
                }
            }
            tell.send_modify(|count: &mut u64| *count = count.wrapping_add(1));
        }
    });
    changes
}
