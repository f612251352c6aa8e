//! A host that comes back to a large journal after it was killed.

use super::model::Model;
use super::peer::{self, Manner};
use crate::rig::{self, Open, Wanted};
use proofport_broker::{NoProbe, SystemClock};
use proofport_core::decide::{Input, propose};
use proofport_core::event::Event;
use proofport_core::id::RequestId;
use proofport_core::origin::Origin;
use proofport_core::state::State;
use proofport_gateway::home::Home;
use proofport_journal::{Batch, JournalError};
use rustix::fs::{Advice, fadvise};
use serde::Serialize;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// How many invocations a journal holds that counts as large.
pub const INVOCATIONS: u64 = 1_000_000;
/// How many of them were dispatched and have no end on record.
const OPEN: u64 = 250;
/// How many of them ended with their fate unknown.
const UNSETTLED: u64 = 250;
/// How many are written at once while the journal is made.
const AT_ONCE: u64 = 1024;
/// What each was asked for.
const INPUT: &str = r#"{"amount":1250,"currency":"eur","customer":"cus_9f8e7d6c5b4a","description":"Order 2024-118, two items","metadata":{"order":"118","shop":"north"}}"#;

/// What coming back took.
#[derive(Debug, Serialize)]
pub struct Recovery {
    /// How many invocations the journal held.
    pub invocations: u64,
    /// How many of them the host found dispatched and without an end.
    pub open: u64,
    /// How many of them were known to be unknown.
    pub unsettled: u64,
    /// From the start of opening to the first answer to a call, in milliseconds, with nothing of the
    /// journal in the system's cache.
    pub millis: f64,
    /// Of this, opening the journal, in milliseconds.
    pub journal_millis: f64,
    /// The journal's file as it was left, neither closed nor compacted, over the invocations.
    pub bytes_per_invocation: f64,
    /// The bytes of one invocation's bodies before sealing: input, request, result and protected record.
    pub body_bytes: u64,
    /// The bytes of its events in JSON.
    pub event_bytes: u64,
    /// How many invocations a second were written when the journal was made, without syncs.
    pub written_per_second: f64,
    /// What one durable commit of a call's events and bodies costs in this journal, in microseconds.
    pub durable_commit_p50_micros: u64,
}

/// Has a process make a journal of so many invocations and kills it, and has another one come back to it.
///
/// # Errors
/// When a process can't be started, or says something else than it should.
pub async fn measure(invocations: u64) -> io::Result<Recovery> {
    let peer = peer::start(Manner::Answers)?;
    let origin = Origin::parse(&format!("http://127.0.0.1:{}", peer.port)).map_err(io::Error::other)?;
    // Beside what was built, where there is room.
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/evidence");
    let dir = tempfile::tempdir_in(beside)?;
    let home = dir.path().join("home");
    rig::make_home(&home, &Wanted::new("good", origin, "key")).await;
    let [body_bytes, event_bytes, written_per_second] = made_and_killed(&home, invocations)?;
    let journal = Home::at(&home).map_err(io::Error::other)?.journal();
    let file = File::open(&journal)?;
    file.sync_all()?;
    fadvise(&file, 0, None, Advice::DontNeed)?;
    let bytes_per_invocation = file.metadata()?.len() as f64 / invocations as f64;
    let output = Command::new(std::env::current_exe()?).arg("come-back").arg(&home).output()?;
    let said = numbers(&String::from_utf8_lossy(&output.stdout));
    let [micros, journal_micros, unknown, durable_commit_p50_micros] = said[..] else {
        return Err(io::Error::other(format!("the host did not come back: {output:?}")));
    };
    if unknown != OPEN + UNSETTLED {
        return Err(io::Error::other(format!("{unknown} unknowns were found")));
    }
    Ok(Recovery {
        invocations,
        open: OPEN,
        unsettled: UNSETTLED,
        millis: micros as f64 / 1000.0,
        journal_millis: journal_micros as f64 / 1000.0,
        bytes_per_invocation,
        body_bytes,
        event_bytes,
        written_per_second: written_per_second as f64,
        durable_commit_p50_micros,
    })
}

/// Has a process make the journal, and kills it while it has the journal open.
fn made_and_killed(home: &Path, invocations: u64) -> io::Result<[u64; 3]> {
    let mut child = Command::new(std::env::current_exe()?)
        .arg("fill")
        .arg(home)
        .arg(invocations.to_string())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    let read = child.stdout.take().map(|out| BufReader::new(out).read_line(&mut line));
    child.kill()?;
    child.wait()?;
    read.transpose()?;
    numbers(&line).try_into().map_err(|_| io::Error::other(format!("no journal was made: {line:?}")))
}

fn numbers(text: &str) -> Vec<u64> {
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// The process that makes the journal. It says the bytes of one invocation's bodies and events and how
/// many it wrote a second, and then waits for its end.
///
/// # Errors
/// When anything can't be written.
pub fn fill(home: &str, invocations: u64) -> io::Result<ExitCode> {
    super::child::runtime()?.block_on(async {
        let open = rig::open_as(Path::new(home), Arc::new(SystemClock), Arc::new(NoProbe), false).await;
        let model = Arc::new(Model::of(&open, INPUT).await?);
        let start = Instant::now();
        write_all(&open, &model, invocations).await.map_err(io::Error::other)?;
        let per_second = (invocations as f64 / start.elapsed().as_secs_f64()) as u64;
        writeln!(io::stdout(), "{} {} {per_second}", model.body_bytes(), model.event_bytes())?;
        std::future::pending::<io::Result<ExitCode>>().await
    })
}

/// Writes every invocation, so many at once that each commit holds many of them.
async fn write_all(open: &Open, model: &Arc<Model>, invocations: u64) -> Result<(), JournalError> {
    let next = Arc::new(AtomicU64::new(0));
    let lanes: Vec<_> = (0..AT_ONCE)
        .map(|_| {
            let (journal, model) = (open.broker.journal().clone(), Arc::clone(model));
            let next = Arc::clone(&next);
            tokio::spawn(async move {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= invocations {
                        return Ok(());
                    }
                    let id = Model::id(n);
                    let begun = model.begun(id);
                    let unknown = lost(id, &begun.events);
                    journal.append(begun).await?;
                    // Those without an end and the unknown ones are spread over the whole journal.
                    match n % (invocations / OPEN) {
                        0 => {}
                        1 => drop(journal.append(unknown).await?),
                        _ => {
                            journal.append(model.ended(id)).await?;
                            journal.ride_along(model.delivered(id));
                        }
                    }
                }
            })
        })
        .collect();
    for lane in lanes {
        lane.await.unwrap_or(Err(JournalError::Closed))?;
    }
    Ok(())
}

/// The end of an attempt of which nothing was heard.
fn lost(id: RequestId, begun: &[Event]) -> Batch {
    let now = rig::now();
    let state = State::replay(begun).ok().flatten();
    let events = state.map_or_else(Vec::new, |state| propose(&state, Input::Recovered, now));
    Batch { open: Some(false), ..Batch::new(Some(id), now, events) }
}

/// The process that comes back. It says how long it took from opening to the first answer and how long
/// the journal took of that, in microseconds, how many unknowns it found, and what a commit costs it.
///
/// # Errors
/// When the call fails, or a record can't be read.
pub fn come_back(home: &str) -> io::Result<ExitCode> {
    super::child::runtime()?.block_on(async {
        let start = Instant::now();
        let open = rig::open(Path::new(home), Arc::new(SystemClock), Arc::new(NoProbe)).await;
        let answer = open.call_with("act", "{}", Some("first")).await;
        let took = start.elapsed();
        if !answer.ok() {
            return Err(io::Error::other(format!("the first call: {answer:?}")));
        }
        let unknown = open.broker.journal().unsettled_invocations().map_err(io::Error::other)?.len();
        let commit = super::commit_p50(&open).await?;
        let journal_took = super::micros(open.journal_took);
        writeln!(io::stdout(), "{} {journal_took} {unknown} {commit}", super::micros(took))?;
        open.close();
        Ok(ExitCode::SUCCESS)
    })
}
