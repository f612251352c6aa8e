//! Speed and memory, as a table and as `target/evidence/bench.json`. Ratios come from one run on one
//! machine: a raw client, a host that syncs and a host that doesn't, against the same peer.

use proofport_tests::bench;
use proofport_tests::bench::peer::Manner;
use std::process::ExitCode;

fn main() -> std::io::Result<ExitCode> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => bench::run(),
        // The roles of child processes, so that each is measured alone.
        ["peer"] => bench::peer::serve(Manner::Answers),
        ["peer-that-loses"] => bench::peer::serve(Manner::LosesTheFirst),
        ["idle", home] => bench::child::idle(home),
        ["first-answer", home] => bench::child::first_answer(home),
        ["fill", home, invocations] => bench::recovery::fill(home, count(invocations)?),
        ["come-back", home] => bench::recovery::come_back(home),
        // One measurement alone, of a journal of another size also.
        ["recovery", invocations] => bench::only_recovery(count(invocations)?),
        ["audit", events] => bench::only_audit(count(events)?),
        ["mcp"] => bench::only_mcp(),
        ["content", home] => bench::contents::child(home),
        _ => Ok(ExitCode::from(2)),
    }
}

fn count(word: &str) -> std::io::Result<u64> {
    word.parse().map_err(std::io::Error::other)
}
