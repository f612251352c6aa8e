//! A killed process loses nothing that it acknowledged.

use super::{Home, append, batch, body, id, options, read, texts};
use crate::{Batch, BodyKind, Journal};
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

const CHILD: &str = "PROOFPORT_TEST_KILLED_JOURNAL_PATH";

/// Runs as a process of its own when the variable names a journal; otherwise there is nothing to do.
#[test]
fn child_that_is_killed() {
    let Ok(path) = std::env::var(CHILD) else { return };
    let journal = Journal::open(path.as_ref(), Home::new().keys(), options()).unwrap();
    for turn in 0.. {
        let text = turn.to_string();
        let bodies = vec![body(BodyKind::Input, &text)];
        append(&journal, Batch { bodies, ..batch(1, &[&text]) });
        println!("acknowledged {turn}");
    }
}

#[test]
fn a_killed_process_loses_nothing_acknowledged() {
    let home = Home::new();
    let mut least = 0;
    for round in 1..=3 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "tests::crash::child_that_is_killed", "--nocapture"])
            .env(CHILD, &home.path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let acknowledged = BufReader::new(child.stdout.take().unwrap())
            .lines()
            .map(Result::unwrap)
            .filter(|line| line.starts_with("acknowledged"))
            .take(20)
            .count();
        child.kill().unwrap();
        child.wait().unwrap();
        least += acknowledged;
        let journal = Journal::open(&home.path, home.locked_keys(), options()).unwrap();
        let history = texts(&journal.history(&id(1)).unwrap());
        assert!(history.len() >= least, "round {round}: {} of {least}", history.len());
        journal.verify().unwrap();
        least = history.len();
    }
}

#[test]
fn a_leftover_of_a_rewrite_is_no_obstacle() {
    let home = Home::new();
    std::fs::write(home.path.with_extension("redb.new"), b"half a file").unwrap();
    let journal = home.open();
    append(&journal, Batch { bodies: vec![body(BodyKind::Input, "x")], ..batch(1, &["x"]) });
    drop(journal);
    // Killed in the middle of a rewrite: the mark and the new file are there.
    std::fs::write(home.path.with_extension("redb.new"), b"half a file").unwrap();
    std::fs::write(home.path.with_extension("redb.lock"), b"failed \n").unwrap();
    assert_eq!(read(&home.open(), 1, BodyKind::Input), Some("x".to_owned()));
}
