//! Recurses without end.

use proofport_hostile_guests::{Call, Exchange, Hostile, Role, Step, honest, post, send};

struct This;

impl Hostile for This {
    fn next(call: &Call, history: &[Exchange]) -> Step {
        if deeper(0) == 1 { send(Role::Effect, post("/never")) } else { honest(call, history) }
    }
}

fn deeper(n: u64) -> u64 {
    let here = std::hint::black_box([n; 64]);
    if here[0] == u64::MAX {
        return 0;
    }
    std::hint::black_box(deeper(here[63].wrapping_add(1))).wrapping_add(here[0])
}

proofport_hostile_guests::hostile!(This);
