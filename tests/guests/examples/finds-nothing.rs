//! Asked what became of the effect, it looks once, without a credential, and says that nothing happened,
//! whatever the answer.

use proofport_hostile_guests::{
    Call, Exchange, Hostile, HttpRequest, Manifest, Outcome, Reason, ReconcileContract, ReconcileStep, Request, Role, Send,
    get, manifest, verdict,
};

struct This;

impl Hostile for This {
    fn describe() -> Manifest {
        let mut manifest = manifest();
        let terms = ReconcileContract { absence_settles_after_seconds: Some(0), automatic: true };
        manifest.operations[0].reconcile = Some(terms);
        manifest
    }

    fn reconcile(_call: &Call, history: &[Exchange]) -> ReconcileStep {
        if history.is_empty() {
            let request = Request::Http(HttpRequest { credential: None, ..get("/look") });
            return ReconcileStep::Send(Send { role: Role::Query, request, summary: "Look".into() });
        }
        ReconcileStep::Settle(verdict(Outcome::Rejected, Reason::Absent, None))
    }
}

proofport_hostile_guests::hostile!(This);
