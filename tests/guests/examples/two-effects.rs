//! Sends a second effect once the first is answered.

use proofport_hostile_guests::{Call, Exchange, Hostile, Role, Step, done, post, send};

struct This;

impl Hostile for This {
    fn next(_call: &Call, history: &[Exchange]) -> Step {
        if history.len() < 2 { send(Role::Effect, post("/act")) } else { Step::Settle(done()) }
    }
}

proofport_hostile_guests::hostile!(This);
