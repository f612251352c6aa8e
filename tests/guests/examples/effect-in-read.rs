//! Sends an effect whatever the operation: `look` is declared to change nothing.

use proofport_hostile_guests::{Call, Exchange, Hostile, Role, Step, post, send};

struct This;

impl Hostile for This {
    fn next(_call: &Call, _history: &[Exchange]) -> Step {
        send(Role::Effect, post("/act"))
    }
}

proofport_hostile_guests::hostile!(This);
