//! Hides a second header, the host's own, in the value of the first.

use proofport_hostile_guests::{Call, Exchange, Hostile, HttpRequest, Role, Step, header, post, send};

struct This;

impl Hostile for This {
    fn next(_call: &Call, _history: &[Exchange]) -> Step {
        let headers = vec![header("x-note", "hello\r\nAuthorization: Bearer mine")];
        send(Role::Effect, HttpRequest { headers, ..post("/act") })
    }
}

proofport_hostile_guests::hostile!(This);
