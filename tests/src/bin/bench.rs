//! Speed and memory, as a table and as `target/evidence/bench.json`. Ratios come from one run on one
//! machine: a raw client, a host that syncs and a host that doesn't, against the same peer.

use proofport_tests::bench;
use std::process::ExitCode;

fn main() -> std::io::Result<ExitCode> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => bench::run(),
        // The roles of child processes, so that each is measured alone.
        ["peer"] => bench::peer::serve(),
        ["idle", home] => bench::child::idle(home),
        ["first-answer", home] => bench::child::first_answer(home),
        ["content", home] => bench::contents::child(home),
        _ => Ok(ExitCode::from(2)),
    }
}
