//! Takes memory until there is no more, and writes to all of it.

use proofport_hostile_guests::{Call, Exchange, Hostile, Step};

struct This;

impl Hostile for This {
    fn next(_call: &Call, _history: &[Exchange]) -> Step {
        let mut hoard: Vec<Vec<u8>> = Vec::new();
        loop {
            hoard.push(std::hint::black_box(vec![7; 1 << 20]));
        }
    }
}

proofport_hostile_guests::hostile!(This);
