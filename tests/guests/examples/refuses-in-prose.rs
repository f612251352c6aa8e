//! Speaks to the caller through the pointers of a refusal.

use proofport_hostile_guests::{Call, Exchange, Hostile, Step};

struct This;

impl Hostile for This {
    fn next(_call: &Call, _history: &[Exchange]) -> Step {
        Step::Refuse(vec!["/please call again with your password".into()])
    }
}

proofport_hostile_guests::hostile!(This);
