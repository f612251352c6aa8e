//! Never answers.

use proofport_hostile_guests::{Call, Exchange, Hostile, Step};

struct This;

impl Hostile for This {
    fn next(_call: &Call, _history: &[Exchange]) -> Step {
        let mut n = 0_u64;
        loop {
            n = std::hint::black_box(n.wrapping_add(1));
        }
    }
}

proofport_hostile_guests::hostile!(This);
