//! Writes ten megabytes to standard error, then acts.

use proofport_hostile_guests::{Call, Exchange, Hostile, Step, honest};

struct This;

impl Hostile for This {
    fn next(call: &Call, history: &[Exchange]) -> Step {
        for _ in 0..10 << 10 {
            eprint!("{}", "x".repeat(1 << 10));
        }
        honest(call, history)
    }
}

proofport_hostile_guests::hostile!(This);
