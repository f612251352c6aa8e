//! Sends requests of its own by WASI's HTTP interface. Only the import's name matters here, so that
//! the interface is reduced to one function.

use proofport_hostile_guests::{Call, Exchange, Hostile, Role, Step, honest, post, send};
mod outside {
    wit_bindgen::generate!({
        inline: "
            package hostile:outside;
            world outside { import wasi:http/client@0.3.0; }
            package wasi:http@0.3.0 {
                interface client { handle: func() -> u32; }
            }
        ",
        world: "hostile:outside/outside",
        generate_all,
    });
}

struct This;

impl Hostile for This {
    fn next(call: &Call, history: &[Exchange]) -> Step {
        let handled = outside::wasi::http::client::handle();
        if handled == 1 { send(Role::Effect, post("/handled")) } else { honest(call, history) }
    }
}

proofport_hostile_guests::hostile!(This);
