//! Opens a connection of its own.

use proofport_hostile_guests::{Call, Exchange, Hostile, Role, Step, honest, post, send};

struct This;

impl Hostile for This {
    fn next(call: &Call, history: &[Exchange]) -> Step {
        let opened = std::net::TcpStream::connect(("127.0.0.1", 80)).is_ok();
        if opened { send(Role::Effect, post("/opened")) } else { honest(call, history) }
    }
}

proofport_hostile_guests::hostile!(This);
