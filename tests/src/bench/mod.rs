//! What `make bench` measures, and what it asks for.

pub mod audit;
pub mod child;
pub mod contents;
pub mod load;
pub mod mcp;
pub mod model;
pub mod peer;
pub mod recovery;
pub mod retries;

use crate::rig::{self, Open, Rig, Wanted};
use load::Load;
use model::Model;
use peer::Manner;
use proofport_broker::{NoProbe, SystemClock};
use proofport_core::origin::Origin;
use serde::Serialize;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Everything that was measured.
#[derive(Debug, Serialize)]
struct Report {
    raw_new_connection: Vec<Load>,
    raw_kept_connection: Vec<Load>,
    host: Vec<Load>,
    host_without_fsync: Vec<Load>,
    durable_commit_p50_micros: u64,
    sandbox: Sandbox,
    idle_resident_kib: u64,
    first_answer_millis: f64,
    content: contents::Content,
    audit: audit::Audit,
    mcp: mcp::Mcp,
    settled_retries: Vec<Load>,
    recovery: recovery::Recovery,
    asked: Vec<Asked>,
}

#[derive(Debug, Serialize)]
struct Sandbox {
    micros_per_step_p50: f64,
    fuel_per_step: u64,
}

#[derive(Debug, Serialize)]
struct Asked {
    what: String,
    measured: f64,
    limit: f64,
    reached: bool,
}

fn at_most(what: &str, measured: f64, limit: f64) -> Asked {
    Asked { what: what.to_owned(), measured, limit, reached: measured <= limit }
}

fn at_least(what: &str, measured: f64, limit: f64) -> Asked {
    Asked { what: what.to_owned(), measured, limit, reached: measured >= limit }
}

/// How many calls are in flight at once.
const WIDTHS: [usize; 3] = [1, 16, 64];

/// Runs everything and prints it.
///
/// # Errors
/// When a process can't be started or a file can't be written.
pub fn run() -> std::io::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let report = runtime.block_on(measure())?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/evidence");
    std::fs::create_dir_all(&folder)?;
    let text = serde_json::to_string_pretty(&report).map_err(std::io::Error::other)?;
    std::fs::write(folder.join("bench.json"), text + "\n")?;
    print(&report)?;
    Ok(if report.asked.iter().all(|asked| asked.reached) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Comes back to a journal of so many invocations, and nothing else.
///
/// # Errors
/// As [`run`].
pub fn only_recovery(invocations: u64) -> std::io::Result<ExitCode> {
    let recovery = child::runtime()?.block_on(recovery::measure(invocations))?;
    let text = serde_json::to_string_pretty(&recovery).map_err(std::io::Error::other)?;
    writeln!(std::io::stdout(), "{text}")?;
    Ok(ExitCode::SUCCESS)
}

/// Verifies a log of so many events, and nothing else.
///
/// # Errors
/// As [`run`].
pub fn only_audit(events: u64) -> std::io::Result<ExitCode> {
    let audit = child::runtime()?.block_on(audit::measure(events))?;
    let text = serde_json::to_string_pretty(&audit).map_err(std::io::Error::other)?;
    writeln!(std::io::stdout(), "{text}")?;
    Ok(ExitCode::SUCCESS)
}

/// Measures what MCP adds to a call, and nothing else.
///
/// # Errors
/// As [`run`].
pub fn only_mcp() -> std::io::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let peer = peer::start(Manner::Answers)?;
    let origin = Origin::parse(&format!("http://127.0.0.1:{}", peer.port)).map_err(std::io::Error::other)?;
    let mcp = runtime.block_on(mcp::measure(&Wanted::new("good", origin, "key")))?;
    let text = serde_json::to_string_pretty(&mcp).map_err(std::io::Error::other)?;
    writeln!(std::io::stdout(), "{text}")?;
    Ok(ExitCode::SUCCESS)
}

async fn measure() -> std::io::Result<Report> {
    let peer = peer::start(Manner::Answers)?;
    let origin = Origin::parse(&format!("http://127.0.0.1:{}", peer.port)).map_err(std::io::Error::other)?;
    // The host is measured, and not how it spares a peer: every caller may have a connection.
    let widest = WIDTHS.iter().max().copied().unwrap_or(1);
    let wanted = Wanted::new("good", origin, "key").limits(&format!("connections_per_origin = {widest}"));
    let mut raw_new_connection = Vec::new();
    let mut raw_kept_connection = Vec::new();
    for width in WIDTHS {
        raw_new_connection.push(load::raw(peer.port, width, width * 400, false).await);
        raw_kept_connection.push(load::raw(peer.port, width, width * 400, true).await);
    }
    let rig = Rig::new(&wanted).await;
    let open = rig.open().await;
    let durable_commit_p50_micros = commit_p50(&open).await?;
    let (sandbox, host) = hosts(open).await?;
    let rig = Rig::new(&wanted).await;
    let without = rig::open_as(&rig.home(), Arc::new(SystemClock), Arc::new(NoProbe), false).await;
    let (_, host_without_fsync) = hosts(without).await?;
    let home = rig.home();
    let idle_resident_kib = median((0..3).map(|_| child_number("idle", &home)).collect::<Result<_, _>>()?);
    let first = median((0..7).map(|_| child_number("first-answer", &home)).collect::<Result<_, _>>()?);
    let first_answer_millis = first as f64 / 1000.0;
    let content = contents::measure().await?;
    let audit = audit::measure(audit::EVENTS).await?;
    let mcp = mcp::measure(&wanted).await?;
    let settled_retries = retries::measure().await?;
    let recovery = recovery::measure(recovery::INVOCATIONS).await?;
    let alone = host.first().map_or(0.0, |load| load.p50_micros as f64);
    let many = host.last().map_or(0.0, |load| load.per_second);
    let asked = vec![
        at_most(
            "p50 of one call at a time, µs: two durable commits + 300",
            alone,
            2.0 * durable_commit_p50_micros as f64 + 300.0,
        ),
        at_least("actions a second, 64 at once", many, 5000.0),
        at_most("sandbox, µs a step", sandbox.micros_per_step_p50, 60.0),
        at_most("idle host, MiB resident", idle_resident_kib as f64 / 1024.0, 60.0),
        at_most("start to first answer, ms, warm cache", first_answer_millis, 150.0),
        at_most("content of 1 GiB, MiB of memory over idle", content.peak_over_idle_mib(), 100.0),
        at_least("audit verify, events a second, of 1,000,000", audit.verified_per_second, 200_000.0),
        at_most("added by MCP to a direct call at p50, ms", mcp.added_millis(), 1.0),
        at_most("recovery of 1,000,000 invocations, from kill to answer, s", recovery.millis / 1000.0, 3.0),
        at_least(
            "how much faster without fsync, at 1 (shows that fsync is on)",
            host_without_fsync.first().map_or(0.0, |load| load.per_second)
                / host.first().map_or(1.0, |load| load.per_second),
            1.05,
        ),
    ];
    Ok(Report {
        raw_new_connection,
        raw_kept_connection,
        host,
        host_without_fsync,
        durable_commit_p50_micros,
        sandbox,
        idle_resident_kib,
        first_answer_millis,
        content,
        audit,
        mcp,
        settled_retries,
        recovery,
        asked,
    })
}

async fn hosts(open: Open) -> std::io::Result<(Sandbox, Vec<Load>)> {
    let open = Arc::new(open);
    // Fills caches and grows the file.
    load::host(&open, "act", "warm", 16, 800).await;
    let mut loads = Vec::new();
    for width in WIDTHS {
        loads.push(load::host(&open, "act", &format!("w{width}"), width, width.max(4) * 300).await);
    }
    let mut steps: Vec<f64> = Vec::new();
    let mut fuel = 0;
    for i in 0..50 {
        let envelope = open.call_with("act", "{}", Some(&format!("step-{i}"))).await;
        let id = envelope.request_id().ok_or_else(|| std::io::Error::other("no id"))?;
        let record = open.broker.diagnostic(&id).map_err(std::io::Error::other)?;
        if let Some(protected) = record.as_ref().and_then(|record| record.protected()) {
            let count = protected.connector_steps.max(1);
            steps.push(protected.connector_micros as f64 / f64::from(count));
            fuel = protected.connector_fuel / u64::from(count);
        }
    }
    steps.sort_by(f64::total_cmp);
    let micros_per_step_p50 = steps.get(steps.len() / 2).copied().unwrap_or(f64::INFINITY);
    if let Some(open) = Arc::into_inner(open) {
        open.close();
    }
    Ok((Sandbox { micros_per_step_p50, fuel_per_step: fuel }, loads))
}

/// What one durable commit costs alone: half of what the two of a call cost, with a real call's events
/// and bodies of the same sizes.
async fn commit_p50(open: &Open) -> std::io::Result<u64> {
    let model = Model::of(open, "{}").await?;
    let journal = open.broker.journal();
    let mut times = Vec::new();
    for n in 0..300 {
        let id = Model::id(u64::MAX - n);
        let (begun, ended) = (model.begun(id), model.ended(id));
        let start = Instant::now();
        journal.append(begun).await.map_err(std::io::Error::other)?;
        journal.append(ended).await.map_err(std::io::Error::other)?;
        times.push(start.elapsed() / 2);
    }
    times.sort();
    Ok(micros(times[times.len() / 2]))
}

fn child_number(role: &str, home: &Path) -> std::io::Result<u64> {
    let output = Command::new(std::env::current_exe()?).arg(role).arg(home).output()?;
    String::from_utf8_lossy(&output.stdout).trim().parse().map_err(std::io::Error::other)
}

fn median(mut numbers: Vec<u64>) -> u64 {
    numbers.sort_unstable();
    numbers.get(numbers.len() / 2).copied().unwrap_or(u64::MAX)
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// This process's resident memory in KiB.
///
/// # Errors
/// When `/proc` can't be read.
pub fn resident_kib() -> std::io::Result<u64> {
    status_kib("VmRSS:")
}

/// One of the sizes that the system says of this process, in KiB.
fn status_kib(name: &str) -> std::io::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .ok_or_else(|| std::io::Error::other(format!("/proc/self/status has no {name}")))
}

fn print(report: &Report) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{:<28} {:>5} {:>10} {:>9} {:>9} {:>12} {:>8}",
        "", "at", "per s", "p50 µs", "p99 µs", "syncs/action", "RSS MiB"
    )?;
    let rows = [
        ("raw client, new connection", &report.raw_new_connection),
        ("raw client, kept connection", &report.raw_kept_connection),
        ("host", &report.host),
        ("host without fsync (control)", &report.host_without_fsync),
        ("host, settled by a repeat", &report.settled_retries),
    ];
    for (name, loads) in rows {
        for load in loads {
            let syncs = load.syncs_per_action.map_or_else(|| "-".to_owned(), |syncs| format!("{syncs:.2}"));
            writeln!(
                out,
                "{name:<28} {:>5} {:>10.0} {:>9} {:>9} {syncs:>12} {:>8.0}",
                load.at_once,
                load.per_second,
                load.p50_micros,
                load.p99_micros,
                load.resident_kib as f64 / 1024.0
            )?;
        }
    }
    writeln!(
        out,
        "durable commit of a call's events and bodies, alone: {} µs p50",
        report.durable_commit_p50_micros
    )?;
    writeln!(
        out,
        "sandbox: {:.1} µs and {} units of fuel a step",
        report.sandbox.micros_per_step_p50, report.sandbox.fuel_per_step
    )?;
    writeln!(
        out,
        "content of {} MiB: {:.0} MB/s, {:.0} MiB of memory over idle at most",
        report.content.bytes >> 20,
        report.content.megabytes_per_second,
        report.content.peak_over_idle_mib()
    )?;
    let audit = &report.audit;
    writeln!(
        out,
        "audit log of {} events in {} blocks, {:.0} MB: {:.0} events/s verified, {:.0} MB/s exported",
        audit.events,
        audit.blocks,
        audit.bytes as f64 / 1e6,
        audit.verified_per_second,
        audit.exported_megabytes_per_second
    )?;
    writeln!(
        out,
        "a call at a time: {} µs p50 directly, {} µs over MCP",
        report.mcp.direct_p50_micros, report.mcp.mcp_p50_micros
    )?;
    let recovery = &report.recovery;
    writeln!(
        out,
        "journal of {} invocations, killed: {:.2} s to the first answer, {:.2} s of it to open the journal, \
         with {} to look after; a durable commit in it: {} µs p50",
        recovery.invocations,
        recovery.millis / 1000.0,
        recovery.journal_millis / 1000.0,
        recovery.open,
        recovery.durable_commit_p50_micros
    )?;
    writeln!(
        out,
        "bytes per invocation: {:.0} of the file as it was left, for {} of bodies and {} of events",
        recovery.bytes_per_invocation, recovery.body_bytes, recovery.event_bytes
    )?;
    for asked in &report.asked {
        let verdict = if asked.reached { "reached" } else { "MISSED" };
        writeln!(out, "{verdict:<8} {}: {:.1} (limit {:.1})", asked.what, asked.measured, asked.limit)?;
    }
    Ok(())
}
