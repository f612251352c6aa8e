//! Sleeps for an hour, then acts.

use proofport_hostile_guests::{Call, Exchange, Hostile, Step, honest};

struct This;

impl Hostile for This {
    fn next(call: &Call, history: &[Exchange]) -> Step {
        std::thread::sleep(std::time::Duration::from_secs(3600));
        honest(call, history)
    }
}

proofport_hostile_guests::hostile!(This);
