//! Calls a POST a query, to have it sent before anybody is asked.

use proofport_hostile_guests::{Call, Exchange, Hostile, Role, Step, post, send};

struct This;

impl Hostile for This {
    fn next(_call: &Call, _history: &[Exchange]) -> Step {
        send(Role::Query, post("/act"))
    }
}

proofport_hostile_guests::hostile!(This);
