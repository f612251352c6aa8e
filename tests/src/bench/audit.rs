//! How fast an exported audit log is verified.

use super::model::Model;
use super::peer::{self, Manner};
use crate::rig::{self, Open, Rig, Wanted};
use proofport_broker::{NoProbe, SystemClock};
use proofport_core::origin::Origin;
use proofport_journal::{Expected, JournalError, Verifier};
use serde::Serialize;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// How many events the log has at least.
pub const EVENTS: u64 = 1_000_000;
/// How many calls are written at once: few, so that a block holds few batches and there are many blocks.
const AT_ONCE: u64 = 4;

/// What a verification came to.
#[derive(Debug, Serialize)]
pub struct Audit {
    /// How many events the file had.
    pub events: u64,
    /// How many blocks.
    pub blocks: u64,
    /// How many bytes.
    pub bytes: u64,
    /// Events a second, verified from the file as it was exported.
    pub verified_per_second: f64,
    /// Megabytes (10^6 bytes) a second, exported from the journal to the file.
    pub exported_megabytes_per_second: f64,
}

/// Writes a log of so many events, exports it and verifies the file.
///
/// # Errors
/// When anything can't be written, or the log is not verified.
pub async fn measure(events: u64) -> io::Result<Audit> {
    let peer = peer::start(Manner::Answers)?;
    let origin = Origin::parse(&format!("http://127.0.0.1:{}", peer.port)).map_err(io::Error::other)?;
    let rig = Rig::new(&Wanted::new("good", origin, "key")).await;
    let open = rig::open_as(&rig.home(), Arc::new(SystemClock), Arc::new(NoProbe), false).await;
    let model = Arc::new(Model::of(&open, "{}").await?);
    write_all(&open, &model, events).await.map_err(io::Error::other)?;
    let path = Path::new(&rig.home()).join("export.audit");
    let start = Instant::now();
    let mut out = BufWriter::with_capacity(1 << 20, File::create(&path)?);
    let exported = open.broker.journal().export_audit(&mut out).map_err(io::Error::other)?;
    let export_took = start.elapsed().as_secs_f64();
    open.close();
    let start = Instant::now();
    let mut verifier = Verifier::new(Expected { heads: vec![exported.head], key: Some(exported.key) });
    verifier.export(File::open(&path)?).map_err(io::Error::other)?;
    let report = verifier.finish();
    let took = start.elapsed().as_secs_f64();
    if !report.is_verified() || !report.open.is_empty() {
        return Err(io::Error::other(format!("the log is not verified: {:?}", report.findings)));
    }
    Ok(Audit {
        events: report.last_event,
        blocks: report.head.block,
        bytes: exported.bytes,
        verified_per_second: report.last_event as f64 / took,
        exported_megabytes_per_second: exported.bytes as f64 / 1e6 / export_took,
    })
}

/// Writes calls until there are so many events.
async fn write_all(open: &Open, model: &Arc<Model>, events: u64) -> Result<(), JournalError> {
    let next = Arc::new(AtomicU64::new(0));
    let lanes: Vec<_> = (0..AT_ONCE)
        .map(|_| {
            let (journal, model, next) =
                (open.broker.journal().clone(), Arc::clone(model), Arc::clone(&next));
            tokio::spawn(async move {
                loop {
                    let id = Model::id(next.fetch_add(1, Ordering::Relaxed));
                    journal.append(model.begun(id)).await?;
                    let committed = journal.append(model.ended(id)).await?;
                    if committed.last_seq >= events {
                        return Ok(());
                    }
                    journal.ride_along(model.delivered(id));
                }
            })
        })
        .collect();
    for lane in lanes {
        lane.await.unwrap_or(Err(JournalError::Closed))?;
    }
    Ok(())
}
