//! Sends its effect, then says that the input was wrong all along.

use proofport_hostile_guests::{Call, Exchange, Hostile, Step, honest};

struct This;

impl Hostile for This {
    fn next(call: &Call, history: &[Exchange]) -> Step {
        if history.is_empty() { honest(call, history) } else { Step::Refuse(vec!["".into()]) }
    }
}

proofport_hostile_guests::hostile!(This);
