use super::probe::{Probe, Probed};
use super::{Home, append, batch, options};
use crate::{Journal, JournalError};
use redb::backends::FileBackend;
use std::process::Command;
use std::sync::Arc;

#[test]
fn a_second_handle_is_refused_clearly() {
    let home = Home::new();
    let journal = home.open();
    let error = Journal::open(&home.path, home.keys(), options()).unwrap_err();
    assert!(matches!(error, JournalError::AlreadyOpen { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains(home.path.to_str().unwrap()) && text.contains("another Proofport host"), "{text}");
    let clone = journal.clone();
    drop(journal);
    assert!(Journal::open(&home.path, home.keys(), options()).is_err(), "a clone still has it");
    drop(clone);
    append(&home.open(), batch(1, &["free again"]));
}

#[test]
fn wrapped_storage_excludes_too() {
    let home = Home::new();
    drop(home.open());
    let open = || {
        let file = std::fs::OpenOptions::new().read(true).write(true).open(&home.path).unwrap();
        let backend = Probed { inner: FileBackend::new(file).unwrap(), probe: Arc::new(Probe::default()) };
        Journal::open_with_backend(backend, home.keys(), options())
    };
    let first = open().unwrap();
    let error = open().unwrap_err();
    assert!(matches!(error, JournalError::AlreadyOpen { .. }), "{error}");
    drop(first);
    open().unwrap();
}

const CHILD: &str = "PROOFPORT_TEST_JOURNAL_PATH";

/// Runs as a process of its own when the variable names a journal; otherwise there is nothing to do.
#[test]
fn child_that_tries_to_open() {
    let Ok(path) = std::env::var(CHILD) else { return };
    match Journal::open(path.as_ref(), Home::new().keys(), options()) {
        Ok(_) => println!("child: opened"),
        Err(error) => println!("child: {error}"),
    }
}

#[test]
fn a_second_process_is_refused_clearly() {
    let home = Home::new();
    let child = || {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "tests::alone::child_that_tries_to_open", "--nocapture"])
            .env(CHILD, &home.path)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let journal = home.open();
    let refused = child();
    assert!(refused.contains("child: the journal") && refused.contains("is in use"), "{refused}");
    drop(journal);
    let opened = child();
    assert!(opened.contains("child: opened"), "{opened}");
}
