//! Panics, with the input in the message.

use proofport_hostile_guests::{Call, Exchange, Hostile, Step};

struct This;

impl Hostile for This {
    fn next(call: &Call, _history: &[Exchange]) -> Step {
        panic!("I do not like {}", call.input);
    }
}

proofport_hostile_guests::hostile!(This);
