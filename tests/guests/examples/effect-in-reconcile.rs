//! Asked what became of the effect, it sends it again.

use proofport_hostile_guests::{
    Call, Exchange, Hostile, Manifest, ReconcileContract, ReconcileStep, Request, Role, Send, manifest, post,
};

struct This;

impl Hostile for This {
    fn describe() -> Manifest {
        let mut manifest = manifest();
        let terms = ReconcileContract { absence_settles_after_seconds: Some(60), automatic: true };
        manifest.operations[0].reconcile = Some(terms);
        manifest
    }

    fn reconcile(_call: &Call, _history: &[Exchange]) -> ReconcileStep {
        ReconcileStep::Send(Send {
            role: Role::Effect,
            request: Request::Http(post("/act")),
            summary: "Again".into(),
        })
    }
}

proofport_hostile_guests::hostile!(This);
