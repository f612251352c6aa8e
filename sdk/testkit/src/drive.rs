//! Driving a connector through one case.

use crate::format::{Case, End};
use crate::{Cases, KEY, REFERENCE, obeys, request, verdict};
use proofport_sdk::types::Send;
use proofport_sdk::{
    Call, Connector, Evidence, Exchange, Fault, HttpRequest, Operation, ReconcileStep, Repeat, Request, Role,
    Step, Verdict,
};

/// When a case's call was accepted, and its effect first and last dispatched, and when a reconciliation
/// began, in milliseconds since the Unix epoch.
const ACCEPTED_AT: u64 = 1_700_000_000_000;
const FIRST_DISPATCHED_AT: u64 = 1_700_003_600_999;
const LAST_DISPATCHED_AT: u64 = 1_700_003_601_000;
const RECONCILED_AT: u64 = 1_700_003_700_000;

/// What a connector did.
enum Next {
    Send(Send),
    Settle(Verdict),
    Refuse(Vec<String>),
    Unreadable,
}

pub(crate) fn check<C: Connector>(cases: &Cases, case: &Case, operation: &Operation) {
    let valid = obeys(&operation.input_schema, &case.input);
    if matches!(case.ends, End::InvalidInput) {
        assert!(!valid, "the schema lets the input through");
        return;
    }
    assert!(valid, "the schema refuses the input");
    let config = case.config.as_ref().unwrap_or(&cases.config);
    let schema = C::describe(&config.to_string()).config_schema;
    assert!(obeys(&schema, config), "the schema refuses the config");
    let call = Call {
        operation: case.operation.clone(),
        input: case.input.to_string(),
        config: config.to_string(),
        reference: REFERENCE.to_owned(),
        idempotency_key: matches!(operation.repeat, Repeat::Keyed(_)).then(|| KEY.to_owned()),
        accepted_at: ACCEPTED_AT,
    };
    let templates = C::describe(&call.config).query_templates;
    let mut history = Vec::new();
    let expected = case.exchanges.iter().flat_map(|exchange| std::iter::repeat_n(exchange, exchange.times));
    for expected in expected {
        let Next::Send(send) = next::<C>(case, &call, &history) else { panic!("it sends nothing more") };
        request::check(cases, expected, &send, &templates);
        history.push(request::answered(expected, send));
    }
    let effects = history.iter().filter(|exchange| exchange.role == Role::Effect).count();
    assert!(effects <= usize::from(!case.reconcile), "{effects} effects");
    match (next::<C>(case, &call, &history), &case.ends) {
        (Next::Settle(have), End::Settles(want)) => verdict::check(case, operation, &have, want),
        (Next::Refuse(have), End::Refuses(want)) => {
            assert!(history.is_empty(), "it refuses after something was sent");
            assert_eq!(&have, want);
        }
        (Next::Unreadable, End::Unreadable) => {}
        (Next::Send(send), _) => panic!("it sends more: {}", send.summary),
        (Next::Settle(have), _) => panic!("it settles: {have:?}"),
        (Next::Refuse(have), _) => panic!("it refuses {have:?}"),
        (Next::Unreadable, _) => panic!("it takes the answer for unreadable"),
    }
}

/// The next step. Asked twice, a connector says the same.
fn next<C: Connector>(case: &Case, call: &Call, history: &[Exchange]) -> Next {
    if case.reconcile {
        let evidence = evidence::<C>(call);
        let step = C::reconcile(call, &evidence, history);
        assert_eq!(step, C::reconcile(call, &evidence, history), "the same again");
        match step {
            Ok(ReconcileStep::Send(send)) => Next::Send(send),
            Ok(ReconcileStep::Settle(verdict)) => Next::Settle(verdict),
            Err(fault) => faulted(fault),
        }
    } else {
        let step = C::next(call, history);
        assert_eq!(step, C::next(call, history), "the same again");
        match step {
            Ok(Step::Send(send)) => Next::Send(send),
            Ok(Step::Settle(verdict)) => Next::Settle(verdict),
            Ok(Step::Refuse(fields)) => Next::Refuse(fields),
            Err(fault) => faulted(fault),
        }
    }
}

fn faulted(fault: Fault) -> Next {
    match fault {
        Fault::Input(fields) => Next::Refuse(fields),
        Fault::Unreadable => Next::Unreadable,
    }
}

/// What the host knows: the effect as the connector words it, where that is its first step.
fn evidence<C: Connector>(call: &Call) -> Evidence {
    let request = match C::next(call, &[]) {
        Ok(Step::Send(send)) if send.role == Role::Effect => send.request,
        Ok(Step::Send(_) | Step::Settle(_) | Step::Refuse(_)) | Err(_) => {
            Request::Http(HttpRequest::get("/"))
        }
    };
    Evidence {
        first_dispatched_at: FIRST_DISPATCHED_AT,
        last_dispatched_at: LAST_DISPATCHED_AT,
        now: RECONCILED_AT,
        attempts: 1,
        request,
    }
}
