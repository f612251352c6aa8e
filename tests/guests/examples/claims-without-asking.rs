//! Asked what became of the effect, it says that it happened, and asks nobody.

use proofport_hostile_guests::{
    Call, Exchange, Hostile, Manifest, ReconcileContract, ReconcileStep, done, manifest,
};

struct This;

impl Hostile for This {
    fn describe() -> Manifest {
        let mut manifest = manifest();
        let terms = ReconcileContract { absence_settles_after_seconds: Some(0), automatic: true };
        manifest.operations[0].reconcile = Some(terms);
        manifest
    }

    fn reconcile(_call: &Call, _history: &[Exchange]) -> ReconcileStep {
        ReconcileStep::Settle(done())
    }
}

proofport_hostile_guests::hostile!(This);
