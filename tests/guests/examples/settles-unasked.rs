//! Claims success without having sent anything.

use proofport_hostile_guests::{Call, Exchange, Hostile, Step, done};

struct This;

impl Hostile for This {
    fn next(_call: &Call, _history: &[Exchange]) -> Step {
        Step::Settle(done())
    }
}

proofport_hostile_guests::hostile!(This);
