//! Calls whose first answer is lost after the effect, so that the host settles them by sending them again.

use super::load::{self, Load};
use super::peer::{self, Manner};
use crate::rig::{Rig, Wanted};
use proofport_core::event::EventKind;
use proofport_core::origin::Origin;
use std::io;
use std::sync::Arc;

/// How many calls are in flight at once.
const WIDTHS: [usize; 3] = [1, 16, 64];

/// The shortest delay that a connection may declare: 5 to 10 ms.
const RETRIES: &str =
    "\n[connections.c.retries]\nattempts = 2\nfirst_delay_millis = 10\nlongest_delay_millis = 10\n";

/// Keyed calls, each of which needs a second attempt.
///
/// # Errors
/// When the peer can't be started, or a call was settled by anything but its second attempt.
pub async fn measure() -> io::Result<Vec<Load>> {
    let peer = peer::start(Manner::LosesTheFirst)?;
    let origin = Origin::parse(&format!("http://127.0.0.1:{}", peer.port)).map_err(io::Error::other)?;
    let mut wanted = Wanted::new("promises", origin, "key").limits("connections_per_origin = 64");
    wanted.more.push_str(RETRIES);
    let rig = Rig::new(&wanted).await;
    let open = Arc::new(rig.open().await);
    load::host(&open, "keyed", "warm", 16, 320).await;
    let mut loads = Vec::new();
    for width in WIDTHS {
        loads.push(load::host(&open, "keyed", &format!("w{width}"), width, width.max(4) * 100).await);
    }
    let one = open.call("keyed", r#"{"name":"one"}"#).await;
    let id = one.request_id().ok_or_else(|| io::Error::other("no id"))?;
    let record = open.broker.timeline(&id).map_err(io::Error::other)?;
    let dispatches = record.iter().filter(|r| r.event.kind() == EventKind::DispatchStarted).count();
    let failed: usize = loads.iter().map(|load| load.failed).sum();
    if !one.ok() || dispatches != 2 || failed > 0 {
        return Err(io::Error::other(format!("{failed} failed; one was sent {dispatches} times: {one:?}")));
    }
    if let Some(open) = Arc::into_inner(open) {
        open.close();
    }
    Ok(loads)
}
