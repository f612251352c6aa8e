//! `proofport demo`: the whole story against a payment service that misbehaves.
//!
//! The service runs in this process and keeps its own books. Every command is this very program, run
//! as a process of its own on a temporary home, and what it claims is held against those books. The
//! demo fails if any claim disagrees with them.

mod claim;
mod http;
mod report;
mod scenes;
mod service;
mod stage;
mod telling;

use report::Summary;
use stage::Stage;
use std::io::Write as _;
use std::process::ExitCode;

/// Plays the demo. With `json` only the summary is printed, as one line of JSON.
///
/// # Errors
/// When the story can't be played to its end: no loopback address, no temporary files, a program that
/// prints something else than it should. A claim that disagrees with the books is no such error: it
/// is shown, and the exit code is 1.
pub(crate) fn run(json: bool) -> anyhow::Result<ExitCode> {
    let mut out = anstream::stdout().lock();
    let stage = Stage::set_up()?;
    if !json {
        writeln!(
            out,
            "A payment service that misbehaves, and a host that claims only what its records prove."
        )?;
        writeln!(out, "service {} · home {} (temporary)", stage.service.origin(), stage.home().display())?;
        writeln!(out)?;
    }
    let mut played = Vec::new();
    for (number, play) in (1..).zip(scenes::ALL) {
        let scene = play(&stage)?;
        if !json {
            report::show(&mut out, number, &scene)?;
            out.flush()?;
        }
        played.push(scene);
    }
    stage.close()?;
    let summary = Summary::of(&played);
    if json {
        serde_json::to_writer(&mut out, &summary)?;
        writeln!(out)?;
    } else {
        summary.show(&mut out)?;
    }
    out.flush()?;
    Ok(if summary.agrees { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
