//! Measurements that need a process of their own.

use crate::rig;
use proofport_broker::{NoProbe, SystemClock};
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

pub(super) fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()
}

/// Opens a host, makes one call, and says how much memory it holds then, in KiB.
///
/// # Errors
/// When `/proc` can't be read.
pub fn idle(home: &str) -> std::io::Result<ExitCode> {
    let resident = runtime()?.block_on(async {
        let open = rig::open(Path::new(home), Arc::new(SystemClock), Arc::new(NoProbe)).await;
        let envelope = open.call_with("act", "{}", Some("idle")).await;
        if !envelope.ok() {
            return Err(std::io::Error::other("the call failed"));
        }
        let resident = super::resident_kib()?;
        open.close();
        Ok(resident)
    })?;
    writeln!(std::io::stdout(), "{resident}")?;
    Ok(ExitCode::SUCCESS)
}

/// Opens a host and makes one call; says how long both took together, in microseconds. The key
/// derivation of a rig is as cheap as can be, so that it does not count.
///
/// # Errors
/// When the call fails.
pub fn first_answer(home: &str) -> std::io::Result<ExitCode> {
    let start = Instant::now();
    let ok = runtime()?.block_on(async {
        let open = rig::open(Path::new(home), Arc::new(SystemClock), Arc::new(NoProbe)).await;
        open.call_with("act", "{}", Some("first")).await.ok()
    });
    writeln!(std::io::stdout(), "{}", start.elapsed().as_micros())?;
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
