//! The trait, and its adapter to the generated one.

use crate::bindings::exports::proofport::connector::connector::Guest;
use crate::{
    Call, Effect, Evidence, Exchange, Fault, Manifest, Operation, Reason, ReconcileStep, Response, Role,
    Step, Terms, Verdict,
};
use std::marker::PhantomData;

/// A connector: three pure functions. The host may call any of them again with the same arguments
/// and may compare the answers.
pub trait Connector {
    /// What this connector is. `config` is the connection's configuration as JSON, `{}` at
    /// installation; names, contracts and slots may not depend on it.
    fn describe(config: &str) -> Manifest;

    /// The next step of a call, given its completed exchanges so far, in order.
    ///
    /// # Errors
    /// A [`Fault`] where the input can't be carried out or an answer can't be read. Before anything
    /// was sent it becomes a refusal, afterwards a verdict that claims no more than the status does.
    fn next(call: &Call, history: &[Exchange]) -> Result<Step, Fault>;

    /// The next step of finding out what became of a call's effect. `history` holds the completed
    /// queries of this reconciliation. Called only for operations that declare it.
    ///
    /// # Errors
    /// A [`Fault`] where an answer can't be read; the outcome then stays unknown.
    fn reconcile(call: &Call, evidence: &Evidence, history: &[Exchange]) -> Result<ReconcileStep, Fault> {
        let _ = (call, evidence, history);
        Ok(Verdict::unknown(Reason::Unreadable).into())
    }
}

/// Carries a [`Connector`] to the component's exports. Used by [`export!`](crate::export).
pub struct Adapter<C>(PhantomData<C>);

impl<C: Connector + 'static> Guest for Adapter<C> {
    fn describe(config: String) -> Manifest {
        C::describe(&config)
    }

    fn next(call: Call, history: Vec<Exchange>) -> Step {
        C::next(&call, &history).unwrap_or_else(|fault| settle_fault(fault, &history, || is_read::<C>(&call)))
    }

    fn reconcile(call: Call, evidence: Evidence, history: Vec<Exchange>) -> ReconcileStep {
        C::reconcile(&call, &evidence, &history)
            .unwrap_or_else(|_| Verdict::unknown(Reason::Unreadable).into())
    }
}

/// Whether the call's operation is declared to change nothing.
fn is_read<C: Connector>(call: &Call) -> bool {
    let read = |operation: &Operation| operation.name == call.operation && operation.effect == Effect::Read;
    C::describe(&call.config).operations.iter().any(read)
}

/// What a fault amounts to: a refusal while nothing was sent, else a verdict that claims no more than
/// the answer's status does.
fn settle_fault(fault: Fault, history: &[Exchange], is_read: impl FnOnce() -> bool) -> Step {
    let Some(last) = history.last() else {
        return match fault {
            Fault::Input(pointers) => Step::Refuse(pointers),
            // Nothing was sent, so there was nothing to read: only the input can be at fault.
            Fault::Unreadable => Step::Refuse(vec![String::new()]),
        };
    };
    let effect = history.iter().rfind(|exchange| exchange.role == Role::Effect);
    let verdict = match &effect.unwrap_or(last).response {
        Response::Http(response) => response.verdict(Terms::NONE),
        Response::Ssh(response) => response.verdict(),
    };
    // The status says that it went well; only the result could not be read.
    let reason = if verdict.success { Reason::Unreadable } else { verdict.reason };
    if effect.is_some() || is_read() {
        Verdict { success: false, reason, ..verdict }.into()
    } else {
        // Only preparing queries were sent: whatever they answered, the effect did not happen.
        Verdict::rejected(reason).into()
    }
}

#[cfg(test)]
mod tests {
    use super::settle_fault;
    use crate::{
        Exchange, Fault, HttpRequest, HttpResponse, Outcome, Reason, Request, Response, Role, Step, Verdict,
    };

    fn answered(role: Role, status: u16) -> Exchange {
        Exchange {
            role,
            request: Request::Http(HttpRequest::get("/")),
            response: Response::Http(HttpResponse {
                status,
                headers: Vec::new(),
                body: b"<html>".to_vec(),
                stored: None,
            }),
        }
    }

    #[test]
    fn a_fault_before_anything_was_sent_is_a_refusal() {
        let check = |fault, pointers: &[&str]| match settle_fault(fault, &[], || false) {
            Step::Refuse(have) => assert_eq!(have, pointers),
            step @ (Step::Send(_) | Step::Settle(_)) => panic!("{step:?}"),
        };
        check(Fault::field("/amount"), &["/amount"]);
        check(Fault::no_such_operation(), &[""]);
        check(Fault::Unreadable, &[""]);
    }

    #[test]
    fn a_fault_afterwards_claims_no_more_than_the_status() {
        use Outcome::{Committed, Rejected, Unknown};
        let check = |history: &[(Role, u16)], read, outcome, reason| {
            let history: Vec<_> = history.iter().map(|(role, status)| answered(*role, *status)).collect();
            for fault in [Fault::Unreadable, Fault::field("/id")] {
                let expected = Step::Settle(Verdict::of(outcome, false, reason));
                assert_eq!(settle_fault(fault, &history, || read), expected);
            }
        };
        check(&[(Role::Effect, 200)], false, Committed, Reason::Unreadable);
        check(&[(Role::Effect, 202)], false, Committed, Reason::Unreadable);
        check(&[(Role::Effect, 500)], false, Committed, Reason::RemoteFailed);
        check(&[(Role::Effect, 503)], false, Unknown, Reason::Unavailable);
        check(&[(Role::Effect, 401)], false, Rejected, Reason::Unauthenticated);
        check(&[(Role::Query, 404), (Role::Effect, 201)], false, Committed, Reason::Unreadable);
        // A query proves nothing about an effect that was not sent.
        check(&[(Role::Query, 200)], false, Rejected, Reason::Unreadable);
        check(&[(Role::Query, 503)], false, Rejected, Reason::Unavailable);
        check(&[(Role::Query, 200)], true, Committed, Reason::Unreadable);
        check(&[(Role::Query, 404)], true, Rejected, Reason::NotFound);
    }
}
