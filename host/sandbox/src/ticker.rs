//! The clock of the epoch deadline: a thread that advances the engine's epoch while guests run, and
//! sleeps while none does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::Thread;
use std::time::Duration;
use wasmtime::Engine;

/// How long one epoch is. A deadline is passed by at most one of these.
pub(crate) const TICK: Duration = Duration::from_millis(10);

/// After this many ticks without a guest the thread sleeps until it is woken, so that an idle host
/// does not wake up a hundred times a second, and a busy one does not pay a wake-up for every call.
const IDLE_TICKS: u32 = 100;

struct State {
    running: AtomicUsize,
    stop: AtomicBool,
}

/// The ticking thread's handle; the thread ends when this is dropped.
pub(crate) struct Ticker {
    state: Arc<State>,
    thread: Thread,
}

impl Ticker {
    pub(crate) fn start(engine: Engine) -> std::io::Result<Self> {
        let state = Arc::new(State { running: AtomicUsize::new(0), stop: AtomicBool::new(false) });
        let shared = Arc::clone(&state);
        let handle =
            std::thread::Builder::new().name("guest-clock".into()).spawn(move || tick(&shared, &engine))?;
        Ok(Self { state, thread: handle.thread().clone() })
    }

    /// Keeps the epoch advancing until the guard is dropped.
    pub(crate) fn run(self: &Arc<Self>) -> Running {
        if self.state.running.fetch_add(1, Ordering::SeqCst) == 0 {
            self.thread.unpark();
        }
        Running(Arc::clone(self))
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.state.stop.store(true, Ordering::SeqCst);
        self.thread.unpark();
    }
}

/// A guest is running.
pub(crate) struct Running(Arc<Ticker>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.state.running.fetch_sub(1, Ordering::SeqCst);
    }
}

fn tick(state: &State, engine: &Engine) {
    let mut idle = 0;
    while !state.stop.load(Ordering::SeqCst) {
        if state.running.load(Ordering::SeqCst) > 0 {
            idle = 0;
        } else if idle >= IDLE_TICKS {
            // A guest that starts between the load and this parks nothing: `unpark` leaves a token.
            std::thread::park();
            continue;
        } else {
            idle += 1;
        }
        std::thread::sleep(TICK);
        engine.increment_epoch();
    }
}

/// How many epochs from now a guest that may run for `deadline` is stopped. One more than fits,
/// since the current epoch is partly over.
pub(crate) fn epochs(deadline: Duration) -> u64 {
    let ticks = deadline.as_millis().div_ceil(TICK.as_millis());
    u64::try_from(ticks).unwrap_or(u64::MAX - 1).saturating_add(1)
}
