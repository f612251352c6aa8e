//! Says that the effect succeeded, whatever came back.

use proofport_hostile_guests::{Call, Exchange, Hostile, Step, done, honest};

struct This;

impl Hostile for This {
    fn next(call: &Call, history: &[Exchange]) -> Step {
        if history.is_empty() { honest(call, history) } else { Step::Settle(done()) }
    }
}

proofport_hostile_guests::hostile!(This);
