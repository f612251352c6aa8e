use super::probe::{Probe, Probed};
use super::{Home, append, batch, id, options, texts};
use crate::{Committed, Journal, Stats};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};

fn probed(home: &Home) -> (Journal, Arc<Probe>) {
    let probe = Arc::new(Probe::default());
    let wrap = |inner| Probed { inner, probe: Arc::clone(&probe) };
    (Journal::open_wrapped(&home.path, home.keys(), options(), wrap).unwrap(), probe)
}

#[test]
fn an_append_is_one_commit_of_two_syncs() {
    let home = Home::new();
    let (journal, probe) = probed(&home);
    for turn in 1..=100 {
        let before = probe.commit_syncs();
        let committed = append(&journal, batch(1, &["a", "b"]));
        assert_eq!(probe.commit_syncs() - before, 2, "append {turn}");
        assert_eq!(committed, Committed { first_seq: turn * 2 - 1, last_seq: turn * 2 });
    }
    assert_eq!(journal.stats(), Stats { commits: 100, appended_batches: 100, largest_group: 1, riding: 0 });
    // The file doubles, so that this happens a handful of times and then hardly ever.
    let grown = probe.grown.load(Ordering::SeqCst);
    assert!(grown <= 5, "{grown}");
}

#[test]
fn what_waits_during_a_commit_shares_the_next_one() {
    let home = Home::new();
    let (journal, probe) = probed(&home);
    let mut context = Context::from_waker(Waker::noop());
    let before = probe.commit_syncs();
    probe.close_gate();
    let mut first = pin!(journal.append(batch(1, &["first"])));
    assert!(first.as_mut().poll(&mut context).is_pending());
    probe.wait_for_sync();
    // The writer stands before the sync; these can only wait.
    let mut waiting: Vec<_> = (0..200).map(|of| Box::pin(journal.append(batch(of, &["next"])))).collect();
    for append in &mut waiting {
        assert!(append.as_mut().poll(&mut context).is_pending());
    }
    assert!(first.as_mut().poll(&mut context).is_pending(), "acknowledged before the sync returned");
    probe.open_gate();
    let first = super::block_on(first).unwrap();
    assert_eq!(first.first_seq, 1);
    let all: Vec<_> = waiting.into_iter().map(|append| super::block_on(append).unwrap().first_seq).collect();
    assert_eq!(all, (2..=201).collect::<Vec<_>>(), "in the order of the calls");
    assert_eq!(journal.stats(), Stats { commits: 2, appended_batches: 201, largest_group: 200, riding: 0 });
    let figures = journal.commit_figures();
    let groups: Vec<_> = figures.groups.iter().filter(|(_, count)| *count > 0).copied().collect();
    assert_eq!((groups, figures.batches), (vec![(Some(1), 1), (Some(256), 1)], 201));
    assert_eq!(figures.durations.iter().map(|(_, count)| count).sum::<u64>(), 2);
    assert!(figures.micros > 0);
    assert_eq!(probe.commit_syncs() - before, 4, "two commits of two syncs each");
}

#[test]
fn what_rides_along_costs_no_commit() {
    let home = Home::new();
    let (journal, probe) = probed(&home);
    append(&journal, batch(1, &["accepted"]));
    let before = probe.commit_syncs();
    journal.ride_along(batch(1, &["delivered"]));
    journal.ride_along(batch(2, &["also"]));
    // Until the writer has them and decided to wait, or committed.
    while journal.stats().riding < 2 && journal.stats().commits == 1 {
        std::thread::yield_now();
    }
    assert_eq!(journal.stats(), Stats { commits: 1, appended_batches: 1, largest_group: 1, riding: 2 });
    assert_eq!(journal.history(&id(1)).unwrap().len(), 1);
    append(&journal, batch(3, &["next"]));
    assert_eq!(probe.commit_syncs() - before, 2);
    assert_eq!(journal.stats(), Stats { commits: 2, appended_batches: 4, largest_group: 3, riding: 0 });
    assert_eq!(
        texts(&journal.history(&id(1)).unwrap()),
        [(1, "accepted".to_owned()), (2, "delivered".to_owned())]
    );

    // At the end there is a last commit for them.
    journal.ride_along(batch(4, &["late"]));
    journal.close().unwrap();
    let journal = home.open();
    assert_eq!(texts(&journal.history(&id(4)).unwrap()), [(5, "late".to_owned())]);
    // Dropping the last handle is an end, too.
    journal.ride_along(batch(4, &["later"]));
    drop(journal);
    assert_eq!(home.open().history(&id(4)).unwrap().len(), 2);
}

#[test]
fn a_dropped_caller_changes_nothing() {
    let home = Home::new();
    let (journal, probe) = probed(&home);
    probe.close_gate();
    {
        let mut call = Box::pin(journal.append(batch(1, &["orphan"])));
        assert_eq!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).map(|_| ()), Poll::Pending);
        probe.wait_for_sync();
    }
    probe.open_gate();
    append(&journal, batch(2, &["next"]));
    assert_eq!(texts(&journal.history(&id(1)).unwrap()), [(1, "orphan".to_owned())]);
}

#[test]
fn many_threads_lose_nothing() {
    let home = Home::new();
    let journal = home.open();
    std::thread::scope(|scope| {
        for of in 0..8 {
            let journal = journal.clone();
            scope.spawn(move || {
                for turn in 0..25 {
                    append(&journal, batch(of, &[&turn.to_string()]));
                }
            });
        }
    });
    for of in 0..8 {
        let history = texts(&journal.history(&id(of)).unwrap());
        let turns: Vec<_> = history.iter().map(|(_, text)| text.clone()).collect();
        assert_eq!(turns, (0..25).map(|turn| turn.to_string()).collect::<Vec<_>>());
        assert!(history.is_sorted());
    }
    let verified = journal.verify().unwrap();
    assert_eq!((verified.records, verified.last_seq), (200, 200));
}
