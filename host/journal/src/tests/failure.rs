//! Law 12: after a failed commit nothing goes on.

use super::probe::{Probe, Probed};
use super::{Home, append, batch, body, id, read, texts};
use crate::{Batch, BodyKind, EXIT_STATUS, FatalHook, Journal, JournalError, Keep, Options};
use std::os::unix::fs::MetadataExt as _;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

fn lock_state(home: &Home) -> String {
    std::fs::read_to_string(home.path.with_extension("redb.lock")).unwrap()
}

fn check(broken_device: bool, advice: &str, fail: impl FnOnce(&Probe) -> &AtomicBool) {
    let home = Home::new();
    let probe = Arc::new(Probe::default());
    probe.broken.store(broken_device, Ordering::SeqCst);
    let (said, heard) = mpsc::channel();
    let on_fatal = FatalHook::new(move |line| said.send(line).unwrap());
    let options = Options { on_fatal, ..super::options() };
    let wrap = |inner| Probed { inner, probe: Arc::clone(&probe) };
    let journal = Journal::open_wrapped(&home.path, home.keys(), options, wrap).unwrap();
    append(&journal, Batch { bodies: vec![body(BodyKind::Result, "kept")], ..batch(1, &["acknowledged"]) });
    assert_eq!(lock_state(&home), "serving\n");

    let broken = fail(&probe);
    broken.store(true, Ordering::SeqCst);
    let error = super::block_on(journal.append(batch(1, &["doubtful"]))).unwrap_err();
    assert!(matches!(error, JournalError::Failed), "{error}");
    let line = heard.recv().unwrap();
    assert!(line.contains(home.path.to_str().unwrap()) && line.contains("the probe refuses"), "{line}");
    assert!(line.contains("Nothing that was waiting was acknowledged") && !line.contains('\n'), "{line}");
    assert!(line.contains(advice) && line.contains("start again"), "{line}");
    assert_eq!(lock_state(&home), "failed \n");

    // The disk works again; the process may not go on all the same.
    broken.store(false, Ordering::SeqCst);
    let (syncs, writes) = (probe.syncs(), probe.writes.load(Ordering::SeqCst));
    let error = super::block_on(journal.append(batch(2, &["later"]))).unwrap_err();
    assert!(matches!(error, JournalError::Failed), "{error}");
    assert!(matches!(journal.close(), Err(JournalError::Failed)));
    assert_eq!((probe.syncs(), probe.writes.load(Ordering::SeqCst)), (syncs, writes), "nothing is retried");

    // The next start writes a new file first.
    let inode = std::fs::metadata(&home.path).unwrap().ino();
    let journal = home.open();
    assert_ne!(std::fs::metadata(&home.path).unwrap().ino(), inode);
    assert_eq!(lock_state(&home), "serving\n");
    assert_eq!(texts(&journal.history(&id(1)).unwrap())[0], (1, "acknowledged".to_owned()));
    assert_eq!(read(&journal, 1, BodyKind::Result), Some("kept".to_owned()));
    assert!(journal.history(&id(2)).unwrap().is_empty());
    append(&journal, batch(2, &["after"]));
    journal.verify().unwrap();
    drop(journal);
    let inode = std::fs::metadata(&home.path).unwrap().ino();
    drop(home.open());
    assert_eq!(std::fs::metadata(&home.path).unwrap().ino(), inode, "once is enough");
}

const FULL: &str = "The disk is full. Free space";
const BROKEN: &str = "Check the disk";

#[test]
fn a_failed_sync_ends_everything() {
    check(false, FULL, |probe| &probe.fail_syncs);
    check(true, BROKEN, |probe| &probe.fail_syncs);
}

#[test]
fn a_failed_write_ends_everything() {
    check(false, FULL, |probe| &probe.fail_writes);
    check(true, BROKEN, |probe| &probe.fail_writes);
}

#[test]
fn a_disk_that_is_full_at_the_settlement_leaves_a_dispatch_without_an_end() {
    let home = Home::new();
    let probe = Arc::new(Probe::default());
    let (said, heard) = mpsc::channel();
    let on_fatal = FatalHook::new(move |line| said.send(line).unwrap());
    let options = Options { on_fatal, ..super::options() };
    let wrap = |inner| Probed { inner, probe: Arc::clone(&probe) };
    let journal = Journal::open_wrapped(&home.path, home.keys(), options, wrap).unwrap();
    append(&journal, Batch { open: Some(true), ..batch(1, &["accepted", "dispatched"]) });
    let mut content = journal.begin_content(&id(1)).unwrap();
    content.push(b"a large answer").unwrap();
    content.finish().unwrap();

    probe.fail_writes.store(true, Ordering::SeqCst);
    let settlement = Batch {
        open: Some(false),
        bodies: vec![body(BodyKind::Envelope, "the answer")],
        ..batch(1, &["settled", "result stored"])
    };
    let error = super::block_on(journal.append(settlement)).unwrap_err();
    assert!(matches!(error, JournalError::Failed), "{error}");
    let line = heard.recv().unwrap();
    assert!(line.contains("will say unknown") && line.contains("at least another journal"), "{line}");
    drop(journal);

    let journal = home.open();
    let dispatched = [(1, "accepted".to_owned()), (2, "dispatched".to_owned())];
    assert_eq!(texts(&journal.history(&id(1)).unwrap()), dispatched);
    assert_eq!(journal.open_invocations().unwrap(), [id(1)]);
    assert_eq!(read(&journal, 1, BodyKind::Envelope), None);
    // The content is whole, but no record names it: what was recorded decides.
    assert!(journal.content(&id(1)).unwrap().is_some());
    let swept = journal.sweep_contents(|_| Keep::Remove).unwrap();
    assert_eq!(swept.unwanted, 1);
}

#[test]
fn nobody_who_waits_is_acknowledged() {
    use std::task::{Context, Waker};
    let home = Home::new();
    let probe = Arc::new(Probe::default());
    // The hook never returns before the test looked, as in a process that is ending.
    let (looked, wait) = mpsc::channel::<()>();
    let (called, was_called) = mpsc::channel();
    let hook = FatalHook::new(move |_| {
        called.send(()).unwrap();
        let _ = wait.recv();
    });
    let options = Options { on_fatal: hook, ..super::options() };
    let wrap = |inner| Probed { inner, probe: Arc::clone(&probe) };
    let journal = Journal::open_wrapped(&home.path, home.keys(), options, wrap).unwrap();
    let mut context = Context::from_waker(Waker::noop());
    probe.close_gate();
    let mut appends: Vec<_> = (0..5).map(|of| Box::pin(journal.append(batch(of, &["x"])))).collect();
    for append in &mut appends {
        assert!(append.as_mut().poll(&mut context).is_pending());
    }
    probe.wait_for_sync();
    probe.fail_syncs.store(true, Ordering::SeqCst);
    probe.open_gate();
    was_called.recv().unwrap();
    for append in &mut appends {
        assert!(append.as_mut().poll(&mut context).is_pending(), "answered while the process ends");
    }
    drop(looked);
    for append in appends {
        assert!(matches!(super::block_on(append), Err(JournalError::Failed)));
    }
}

const CHILD: &str = "PROOFPORT_TEST_FAILING_JOURNAL_PATH";

/// Runs as a process of its own when the variable names a journal; otherwise there is nothing to do.
#[test]
fn child_whose_disk_fails() {
    let Ok(path) = std::env::var(CHILD) else { return };
    let home = Home::new();
    let probe = Arc::new(Probe::default());
    let wrap = |inner| Probed { inner, probe: Arc::clone(&probe) };
    let options = Options { reserve_bytes: 0, ..Options::default() };
    let journal = Journal::open_wrapped(path.as_ref(), home.keys(), options, wrap).unwrap();
    append(&journal, batch(1, &["acknowledged"]));
    probe.fail_syncs.store(true, Ordering::SeqCst);
    let answer = super::block_on(journal.append(batch(1, &["doubtful"])));
    println!("child: went on with {answer:?}");
}

#[test]
fn the_process_ends_by_itself() {
    let home = Home::new();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tests::failure::child_whose_disk_fails", "--nocapture"])
        .env(CHILD, &home.path)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(EXIT_STATUS));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("proofport: writing the journal") && said.contains("start again"), "{said}");
    assert!(!String::from_utf8(output.stdout).unwrap().contains("went on"));
    let journal = home.open();
    assert_eq!(texts(&journal.history(&id(1)).unwrap())[0], (1, "acknowledged".to_owned()));
}
