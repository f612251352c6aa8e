//! Laws 1, 5, 12 and 13 on disks that lose their power, at every call and while recovering.

#![allow(clippy::unwrap_used, clippy::panic)]

use proofport_power_loss::{
    Book, Call, Desk, Host, Length, Loss, Seeded, Story, Watched, crash, folder, go_on, recover, run,
};
use std::panic::{AssertUnwindSafe, catch_unwind};

const LENGTH: Length = Length { threads: 3, turns: 2 };

/// Every moment from this one on with every loss, each image once.
fn every_moment(host: &Host, story: &Story, from: usize, losses: &[Loss], scene: &str) -> u64 {
    let mut recovered = 0;
    for loss in losses {
        let mut before = None;
        for moment in from..=story.history.now() {
            let seed = Seeded::new(moment as u64).next();
            let image = story.history.power_loss(moment, *loss, seed);
            // The same disk with as much promised shows nothing new.
            let promised = story.book.batches.iter().filter(|batch| batch.since <= Some(moment)).count();
            if before.as_ref() != Some(&(promised, image.clone())) {
                crash(host, story, moment, *loss, seed, &format!("{scene}, moment {moment}, {loss:?}"));
                recovered += 1;
            }
            before = Some((promised, image));
        }
    }
    recovered
}

#[test]
fn a_power_loss_at_every_call_keeps_what_was_acknowledged() {
    let host = Host::default();
    let story = host.story(1, LENGTH);
    let grown = story.history.calls().iter().filter(|call| matches!(call, Call::SetLen { .. })).count();
    assert!(grown > 2 && story.history.now() > 150, "{grown} of {}", story.history.now());
    let recovered = every_moment(&host, &story, 0, &Loss::ALL, "story 1");
    assert!(recovered > 400, "{recovered}");
}

#[test]
fn a_second_power_loss_at_every_call_of_a_recovery_keeps_it() {
    let host = Host::default();
    let story = host.story(2, LENGTH);
    let mut random = Seeded::new(2);
    for loss in [Loss::Everything, Loss::Some, Loss::TornBytes] {
        // Between a write and a sync of it, and long after the journal was made.
        let calls = story.history.calls();
        let moment = loop {
            let moment = calls.len() / 2 + random.below(calls.len() / 2);
            if matches!(calls[moment - 1], Call::Write { .. }) {
                break moment;
            }
        };
        let scene = format!("moment {moment}, {loss:?}");
        let root = folder();
        story.history.power_loss(moment, loss, random.next()).put(root.path());
        let disk = Watched::folder(root.path());
        let recovered = recover(&host, root.path(), &disk, &story.book, moment, &scene);
        let again = go_on(&disk, recovered, &story.book, moment, (0, 0), &scene);
        every_moment(&host, &again, 0, &[Loss::Everything, Loss::Some, Loss::TornBytes], &scene);
    }
}

#[test]
fn a_power_loss_after_a_kill_keeps_what_the_next_process_saw() {
    let host = Host::default();
    let story = host.story(3, LENGTH);
    let mut random = Seeded::new(3);
    for moment in 0..=story.history.now() {
        let scene = format!("killed at {moment}");
        let root = folder();
        story.history.power_loss(moment, Loss::Nothing, 0).put(root.path());
        let disk = Watched::after(root.path(), story.history.until(moment));
        let recovered = recover(&host, root.path(), &disk, &story.book, moment, &scene);
        // From here on, what the dead process had not synced was seen.
        let since = (moment, disk.now());
        let again = go_on(&disk, recovered, &story.book, moment, since, &scene);
        crash(&host, &again, again.history.now(), Loss::Everything, 0, &format!("{scene}, at the end"));
        for loss in [Loss::Tail, Loss::Reordered] {
            let later = moment + random.below(again.history.now() - moment + 1);
            let scene = format!("{scene}, then {later}, {loss:?}");
            crash(&host, &again, later, loss, random.next(), &scene);
        }
    }
}

#[test]
fn a_run_counts_what_it_tried() {
    let counts = run(1, 200);
    assert_eq!((counts.images, counts.second_crashes, counts.lost), (200, 200, 0));
    assert!(counts.lossy > 50 && counts.torn > 10 && counts.acknowledged > 200, "{counts:?}");
}

#[test]
fn a_disk_that_ignores_syncs_is_seen() {
    let host = Host::default();
    let root = folder();
    let disk = Watched::folder(root.path());
    disk.ignore_syncs();
    let open = host.open(root.path(), &disk).unwrap();
    let desk = Desk::new(&open.journal, &disk, Book::default());
    desk.work(1, Length { threads: 1, turns: 1 }).unwrap();
    let story = Story { history: disk.history(), book: desk.book() };
    let crashed = catch_unwind(AssertUnwindSafe(|| {
        crash(&host, &story, story.history.now(), Loss::Everything, 0, "no sync")
    }));
    let said = *crashed.unwrap_err().downcast::<String>().unwrap();
    assert!(said.starts_with("no sync: lost an acknowledged"), "{said}");
}
