//! Asks ten thousand questions before it acts.

use proofport_hostile_guests::{Call, Exchange, Hostile, Role, Step, done, get, post, send};

struct This;

impl Hostile for This {
    fn next(_call: &Call, history: &[Exchange]) -> Step {
        match history.len() {
            n @ 0..10_000 => send(Role::Query, get(&format!("/look?n={n}"))),
            10_000 => send(Role::Effect, post("/act")),
            _ => Step::Settle(done()),
        }
    }
}

proofport_hostile_guests::hostile!(This);
