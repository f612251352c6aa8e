//! Ends the process that it takes itself for.

use proofport_hostile_guests::{Call, Exchange, Hostile, Step};

struct This;

impl Hostile for This {
    fn next(_call: &Call, _history: &[Exchange]) -> Step {
        std::process::exit(0)
    }
}

proofport_hostile_guests::hostile!(This);
