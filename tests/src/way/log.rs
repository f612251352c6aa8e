//! What a way did with each request.

use super::Accident;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// What became of one request.
#[derive(Clone, Debug)]
pub struct Passed {
    /// Method and target.
    pub line: String,
    /// What happened to it on purpose.
    pub accident: Accident,
    /// How often the server answered it.
    pub answered: u32,
}

/// All that passed, in the order of arrival.
#[derive(Default)]
pub struct Log {
    entries: Mutex<Entries>,
    ended: Condvar,
}

#[derive(Default)]
struct Entries {
    passed: Vec<Passed>,
    under_way: usize,
}

/// One request that is under way, until it is dropped.
pub(super) struct Passing<'a> {
    log: &'a Log,
    index: usize,
}

impl Log {
    /// All requests so far.
    #[must_use]
    pub fn passed(&self) -> Vec<Passed> {
        self.lock().passed.clone()
    }

    /// How many requests this happened to.
    #[must_use]
    pub fn count(&self, accident: Accident) -> u64 {
        self.lock().passed.iter().filter(|passed| passed.accident == accident).count() as u64
    }

    /// Waits until nothing is on its way any more. Whoever sends must have ended.
    ///
    /// # Panics
    /// When something stays on its way for a minute.
    pub fn wait_quiet(&self) {
        let entries = self.lock();
        let wait = self.ended.wait_timeout_while(entries, Duration::from_secs(60), |e| e.under_way > 0);
        assert!(wait.is_ok_and(|(entries, _)| entries.under_way == 0), "a request stays on its way");
    }

    pub(super) fn begin(&self, line: String, accident: Accident) -> Passing<'_> {
        let mut entries = self.lock();
        entries.under_way += 1;
        entries.passed.push(Passed { line, accident, answered: 0 });
        Passing { log: self, index: entries.passed.len() - 1 }
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap()
    }
}

impl Passing<'_> {
    /// Asks the server, and counts its answer.
    pub(super) fn arrive<T>(&self, ask: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let answer = ask()?;
        self.log.lock().passed[self.index].answered += 1;
        Ok(answer)
    }
}

impl Drop for Passing<'_> {
    fn drop(&mut self) {
        self.log.lock().under_way -= 1;
        self.log.ended.notify_all();
    }
}
