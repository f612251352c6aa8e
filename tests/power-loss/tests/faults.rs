//! Laws 5 and 12 on disks of which a call fails: each call of a life in turn.

#![allow(clippy::unwrap_used, clippy::panic)]

use proofport_journal::JournalError;
use proofport_power_loss::{
    Book, Call, Desk, Fault, Host, Length, Loss, Plan, Seeded, Story, Watched, crash, folder, go_on, recover,
};
use std::path::Path;
use tempfile::TempDir;

const LENGTH: Length = Length { threads: 1, turns: 2 };

/// How the life ended in which a call failed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// The journal could not be opened.
    Unopened,
    /// A commit failed.
    Fatal,
    /// The host never knew, or could do without.
    Unharmed,
}

/// A file of which a sync failed is not written any further: what the machine shows of it may not be on
/// disk, and a later sync proves nothing.
fn no_longer_doubtful(disk: &Watched, scene: &str) {
    let history = disk.history();
    let file = history.file("journal.redb".as_ref()).unwrap();
    assert!(!history.is_doubtful(file), "{scene}: no new file was written");
}

/// A life in which a call fails, up to the end of its process. None when it was over before the fault.
fn live(host: &Host, plan: Plan, scene: &str) -> Option<(Story, End)> {
    let root = folder();
    let disk = Watched::folder(root.path());
    disk.plan(Some(plan));
    let (story, end) = match host.open(root.path(), &disk) {
        Err(error) => {
            assert!(!matches!(error, JournalError::Tampered { .. }), "{scene}: {error}");
            (Story { history: disk.history(), book: Book::default() }, End::Unopened)
        }
        Ok(open) => {
            let desk = Desk::new(&open.journal, &disk, Book::default());
            match desk.work(1, LENGTH) {
                Ok(()) => {
                    let book = desk.book();
                    drop(open);
                    (Story { history: disk.history(), book }, End::Unharmed)
                }
                Err(JournalError::Failed) => {
                    let line = open.fatal.recv().unwrap();
                    assert!(line.contains("Nothing that was waiting was acknowledged"), "{scene}: {line}");
                    match plan.fault {
                        Fault::Full => assert!(line.contains("Free space"), "{scene}: {line}"),
                        Fault::Broken => assert!(line.contains("Check the disk"), "{scene}: {line}"),
                    }
                    // Here the process would be gone. The disk works again, and nothing goes on all the same.
                    disk.plan(None);
                    let history = disk.history();
                    let again = desk.append(Some(100), |promise| promise).unwrap_err();
                    assert!(matches!(again, JournalError::Failed), "{scene}: {again}");
                    assert_eq!(disk.now(), history.now(), "{scene}: something was written");
                    (Story { history, book: desk.book() }, End::Fatal)
                }
                Err(other) => panic!("{scene}: {other}"),
            }
        }
    };
    (disk.asked() > plan.at).then_some((story, end))
}

/// The restart on the same machine, and a power loss after or during that.
fn restart(host: &Host, ended: &Story, plan: Plan, scene: &str) {
    let moment = ended.history.now();
    let (root, disk) = same_machine(ended, moment);
    let recovered = recover(host, root.path(), &disk, &ended.book, moment, scene);
    // On a disk that takes nothing any more, nothing tells the next process.
    if !plan.lasting {
        no_longer_doubtful(&disk, scene);
    }
    let since = (moment, disk.now());
    let story = go_on(&disk, recovered, &ended.book, moment, since, scene);
    let mut random = Seeded::new(plan.at);
    for loss in [Loss::Everything, Loss::TornSectors] {
        let moment = moment + random.below(story.history.now() - moment + 1);
        crash(host, &story, moment, loss, random.next(), &format!("{scene}, moment {moment}, {loss:?}"));
    }
    crash(host, &story, story.history.now(), Loss::Everything, 0, &format!("{scene}, at the end"));
}

/// Lives that ended with a failed sync of a commit, one for each of its syncs.
fn failed_commits(host: &Host) -> Vec<Story> {
    let mut stories = Vec::new();
    for offset in 0.. {
        let root = folder();
        let disk = Watched::folder(root.path());
        let open = host.open(root.path(), &disk).unwrap();
        let desk = Desk::new(&open.journal, &disk, Book::default());
        desk.work(1, Length { threads: 1, turns: 1 }).unwrap();
        disk.plan(Some(Plan { fault: Fault::Broken, at: disk.asked() + offset, lasting: false }));
        if desk.append(Some(100), |promise| promise).is_ok() {
            break;
        }
        // Here the process would be gone.
        let (history, book) = (disk.history(), desk.book());
        if history.calls().iter().any(|call| matches!(call, Call::SyncFailed(_))) {
            stories.push(Story { history, book });
        }
    }
    assert!(stories.len() >= 2, "a commit has two syncs");
    stories
}

/// The next process on the machine that this story ended on.
fn same_machine(story: &Story, moment: usize) -> (TempDir, Watched) {
    let root = folder();
    story.history.power_loss(moment, Loss::Nothing, 0).put(root.path());
    let disk = Watched::after(root.path(), story.history.until(moment));
    (root, disk)
}

/// A host that starts on that machine, writes and closes, and then loses its power.
fn start_again(host: &Host, root: &Path, disk: &Watched, book: &Book, moment: usize, scene: &str) -> Story {
    let recovered = recover(host, root, disk, book, moment, scene);
    no_longer_doubtful(disk, scene);
    let since = (moment, disk.now());
    let story = go_on(disk, recovered, book, moment, since, scene);
    let scene = format!("{scene}, at the end");
    crash(host, &story, story.history.now(), Loss::Everything, moment as u64, &scene);
    story
}

/// A sync of a commit fails, and the next start rewrites the journal. Whatever ends that one, at every
/// call of it: the power, or somebody who kills the process, after which the power ends the next start.
#[test]
fn a_rewrite_that_is_cut_short_loses_nothing() {
    let host = Host::default();
    for (number, failed) in failed_commits(&host).into_iter().enumerate() {
        let begin = failed.history.now();
        let (root, disk) = same_machine(&failed, begin);
        let scene = format!("sync {number}");
        let story = start_again(&host, root.path(), &disk, &failed.book, begin, &scene);
        for moment in begin..=story.history.now() {
            let scene = format!("{scene}, cut short at {moment}");
            for loss in [Loss::Everything, Loss::Some, Loss::TornSectors] {
                crash(&host, &story, moment, loss, moment as u64, &format!("{scene}, {loss:?}"));
            }
            let (root, disk) = same_machine(&story, moment);
            let _ = start_again(&host, root.path(), &disk, &story.book, moment, &scene);
        }
    }
}

#[test]
fn a_rewrite_that_meets_a_broken_device_begins_anew() {
    let host = Host::default();
    let mut refused = 0;
    for (number, failed) in failed_commits(&host).into_iter().enumerate() {
        let begin = failed.history.now();
        for at in 0.. {
            let (root, disk) = same_machine(&failed, begin);
            disk.plan(Some(Plan { fault: Fault::Broken, at, lasting: false }));
            let opened = host.open(root.path(), &disk);
            refused += u64::from(opened.is_err());
            let reached = disk.asked() > at;
            drop(opened);
            disk.plan(None);
            let scene = format!("sync {number}, then broken at {at}");
            let _ = start_again(&host, root.path(), &disk, &failed.book, disk.now(), &scene);
            if !reached {
                break;
            }
        }
    }
    assert!(refused > 50, "{refused}");
}

fn every_call(fault: Fault, lasting: bool) {
    let host = Host::default();
    let life = |at| {
        let plan = Plan { fault, at, lasting };
        let scene = format!("{plan:?}");
        let (ended, end) = live(&host, plan, &scene)?;
        restart(&host, &ended, plan, &scene);
        Some(end)
    };
    let ends: Vec<_> = (0..).map_while(life).collect();
    let count = |end| ends.iter().filter(|ended| **ended == end).count();
    assert!(count(End::Unopened) > 20 && count(End::Fatal) > 60 && count(End::Unharmed) > 20);
}

#[test]
fn a_call_that_meets_a_broken_device_ends_the_process() {
    every_call(Fault::Broken, false);
}

#[test]
fn a_device_that_breaks_for_good_ends_the_process() {
    every_call(Fault::Broken, true);
}

#[test]
fn a_call_that_finds_no_space_ends_the_process() {
    every_call(Fault::Full, false);
}

#[test]
fn a_disk_that_stays_full_ends_the_process() {
    every_call(Fault::Full, true);
}
