//! Its output is no JSON.

use proofport_hostile_guests::{Call, Exchange, Hostile, Step, Verdict, done, honest};

struct This;

impl Hostile for This {
    fn next(call: &Call, history: &[Exchange]) -> Step {
        if history.is_empty() {
            return honest(call, history);
        }
        Step::Settle(Verdict { output: Some("{ok".into()), ..done() })
    }
}

proofport_hostile_guests::hostile!(This);
