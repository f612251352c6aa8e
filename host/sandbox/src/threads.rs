//! The threads that guests run on, so that a guest never holds up the threads that serve everybody.

use std::panic::AssertUnwindSafe;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;

type Job = Box<dyn FnOnce() + Send>;

/// A fixed number of threads and the queue before them. The queue has no bound of its own: each of
/// its entries belongs to an invocation, whose number the broker bounds, and refusing one here would
/// leave an answered effect without its reading.
pub(crate) struct GuestThreads {
    queue: Sender<Job>,
}

impl GuestThreads {
    pub(crate) fn start(count: u32) -> std::io::Result<Self> {
        let (queue, jobs) = channel::<Job>();
        let jobs = Arc::new(Mutex::new(jobs));
        for n in 0..count {
            let jobs = Arc::clone(&jobs);
            std::thread::Builder::new().name(format!("guest-{n}")).spawn(move || serve(&jobs))?;
        }
        Ok(Self { queue })
    }

    /// Runs `work` on a guest thread. None: the work panicked, or the threads are gone.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let (answer, answered) = oneshot::channel();
        let job = move || {
            // Nobody listens any more where the caller went away; the result is of no use then.
            let _gone = answer.send(work());
        };
        self.queue.send(Box::new(job)).ok()?;
        answered.await.ok()
    }
}

fn serve(jobs: &Mutex<Receiver<Job>>) {
    loop {
        let next = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = next else { return };
        // A panic drops the job's answer, which its caller sees; the thread goes on serving.
        if std::panic::catch_unwind(AssertUnwindSafe(job)).is_err() {
            tracing::error!("a guest thread recovered from a panic of the host's own");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_costs_its_own_answer_only() {
        let threads = GuestThreads::start(1).unwrap();
        assert_eq!(threads.run(|| panic!("of the test")).await, None::<()>);
        assert_eq!(threads.run(|| 7).await, Some(7));
    }
}
