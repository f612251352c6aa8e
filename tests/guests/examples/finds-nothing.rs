//! Asked what became of the effect, it looks once, without a credential, and says that nothing happened,
//! whatever the answer. `act` takes that for proof at once, `slow` after five minutes.

use proofport_hostile_guests::{
    Call, Exchange, Hostile, HttpRequest, Manifest, Operation, Outcome, Reason, ReconcileContract, ReconcileStep, Request, Role, Send,
    get, manifest, verdict,
};

struct This;

impl Hostile for This {
    fn describe() -> Manifest {
        let mut manifest = manifest();
        let terms = ReconcileContract { absence_settles_after_seconds: Some(0), automatic: false };
        manifest.operations[0].reconcile = Some(terms);
        let terms = ReconcileContract { absence_settles_after_seconds: Some(300), automatic: false };
        let slow = Operation { name: "slow".into(), reconcile: Some(terms), ..manifest.operations[0].clone() };
        manifest.operations.push(slow);
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
