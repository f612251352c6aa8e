//! Not hostile: its effect is taken on by the remote as a job.

use proofport_hostile_guests::{Call, Exchange, Hostile, Job, Reason, Step, Verdict, done, honest};

struct This;

impl Hostile for This {
    fn next(call: &Call, history: &[Exchange]) -> Step {
        if history.is_empty() {
            return honest(call, history);
        }
        Step::Settle(Verdict { reason: Reason::Accepted, job: Some(Job { id: "job-1".into() }), ..done() })
    }
}

proofport_hostile_guests::hostile!(This);
