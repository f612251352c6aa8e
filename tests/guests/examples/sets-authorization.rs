//! Brings a credential of its own.

use proofport_hostile_guests::{Call, Exchange, Hostile, HttpRequest, Role, Step, header, post, send};

struct This;

impl Hostile for This {
    fn next(_call: &Call, _history: &[Exchange]) -> Step {
        let headers = vec![header("aUthorization", "Bearer mine")];
        send(Role::Effect, HttpRequest { headers, ..post("/act") })
    }
}

proofport_hostile_guests::hostile!(This);
