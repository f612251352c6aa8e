//! The demo, run as a person runs it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects by panicking"
)]

// Helpers outside of `#[test]` functions say what they expect by panicking, too.
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output};

/// Runs it with this folder for temporary files.
fn demo(args: &[&str], temporary: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_proofport"));
    command.arg("demo").args(args).env("TMPDIR", temporary);
    // The demo has a home of its own; what belongs to the person's must not get in its way.
    command.env("PROOFPORT_HOME", "/nowhere").env("PROOFPORT_PASSPHRASE", "another");
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn the_story_is_told_on_one_screen_and_agrees_with_the_books() {
    let folder = tempfile::tempdir().unwrap();
    let played = demo(&[], folder.path());
    let (told, said) = (text(&played.stdout), text(&played.stderr));
    assert!(played.status.success(), "{told}\n{said}");
    assert_eq!(told.lines().last(), Some("charges made: 3, charges claimed: 3, made twice: 0"), "{told}");
    assert!(!told.contains("DISAGREES") && !told.contains('\u{1b}'), "{told}");
    assert!(told.lines().count() <= 60, "{} lines\n{told}", told.lines().count());
    for line in told.lines().filter(|line| !line.starts_with("service http")) {
        assert!(line.chars().count() <= 100, "{line}");
    }
    assert_eq!(said, "");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the home is gone");
}

#[test]
fn its_summary_is_json() {
    let folder = tempfile::tempdir().unwrap();
    let played = demo(&["--json"], folder.path());
    assert!(played.status.success(), "{}", text(&played.stderr));
    let summary: Value = serde_json::from_slice(&played.stdout).unwrap();
    let row = |scene: &str, code: Value, outcome: &str, source: Value, exit: u8, books: &[&str]| {
        json!({
            "scene": scene,
            "code": code,
            "outcome": outcome,
            "source": source,
            "exit_status": exit,
            "charges_in_books": books,
            "disagreements": [],
        })
    };
    let expected = json!({
        "schema": "proofport.demo/1",
        "scenes": [
            row("Success", Value::Null, "committed", json!("remote_response"), 0, &["ch_1"]),
            row("Rejection", json!("REMOTE_REJECTED"), "rejected", json!("remote_response"), 11, &[]),
            row("Lost response", Value::Null, "committed", json!("remote_query"), 0, &["ch_2"]),
            row("Locked vault", json!("VAULT_LOCKED"), "not_attempted", Value::Null, 10, &[]),
            row("Crash between dispatch and answer", Value::Null, "committed", json!("remote_query"), 0, &["ch_3"]),
        ],
        "charges_made": 3,
        "charges_claimed": 3,
        "made_twice": 0,
        "agrees": true,
    });
    assert_eq!(summary, expected);
}

#[test]
fn a_machine_without_room_for_temporary_files_is_told_so() {
    let played = demo(&[], Path::new("/nowhere"));
    assert_eq!(played.status.code(), Some(1));
    assert!(text(&played.stderr).contains("TMPDIR"), "{}", text(&played.stderr));
    assert_eq!(text(&played.stdout), "");
}
