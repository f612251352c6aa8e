//! Histories that reach a standing.

use super::values::{
    LEASE_END, accepted, binding, complete, credential, dispatch, end, output, query, settlement, stop,
};
use proofport_core::approval::Question;
use proofport_core::code::Code;
use proofport_core::contract::{Effect, Outcome, Phase, Source};
use proofport_core::event::{Event, QueryPurpose};
use proofport_core::manifest::Contract;
use proofport_core::state::{Standing, State};

/// How an invocation gets where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// A write by its first attempt.
    Write,
    /// A write by its second attempt; the first is unknown.
    WriteAgain,
    /// A read.
    Read,
}

/// The state after these events, all of which must apply.
pub(crate) fn fold(events: &[Event]) -> State {
    State::replay(events).unwrap().expect("a history has events")
}

/// A history that ends in this standing; none where this way doesn't lead there. A new standing does
/// not compile until it has one.
pub(crate) fn reach(standing: Standing, way: Way, contract: &Contract) -> Option<Vec<Event>> {
    let then = |before: Standing, more: Vec<Event>| {
        reach(before, way, contract).map(|mut history| {
            history.extend(more);
            history
        })
    };
    let read = way == Way::Read;
    let again = way == Way::WriteAgain;
    let generation = if again { 2 } else { 1 };
    assert_eq!(read, contract.effect == Effect::Read);
    match standing {
        Standing::Accepted if again => None,
        Standing::Accepted => Some(vec![accepted()]),
        Standing::Validated => {
            then(Standing::Accepted, vec![Event::PreflightValidated(Box::new(binding(contract.clone())))])
        }
        Standing::Authorized => then(Standing::Validated, vec![Event::CredentialAuthorized(credential())]),
        Standing::AwaitingApproval => then(
            Standing::Authorized,
            vec![Event::ApprovalRequested(Question {
                until: LEASE_END,
                request: dispatch(1, contract).request,
            })],
        ),
        Standing::Leased if read => None,
        Standing::Leased => {
            let lease = Event::LeaseTaken { generation, until: LEASE_END };
            let before = if again {
                reach(Standing::Ended, Way::Write, contract)
            } else {
                reach(Standing::Authorized, way, contract)
            };
            before.map(|mut history| {
                history.push(lease);
                history
            })
        }
        Standing::Dispatched => {
            then(Standing::Leased, vec![Event::DispatchStarted(dispatch(generation, contract))])
        }
        Standing::Answered => then(
            Standing::Dispatched,
            vec![
                Event::RequestSent { generation },
                Event::RemoteResponseStarted { generation },
                Event::RemoteResponseComplete { generation },
            ],
        ),
        // A later attempt's refusal leaves the first unknown.
        Standing::Ended if again => {
            then(Standing::Answered, vec![Event::AttemptEnded(end(2, Outcome::Rejected))])
        }
        Standing::Ended => then(Standing::Dispatched, vec![Event::AttemptEnded(end(1, Outcome::Unknown))]),
        Standing::Settled if read => then(
            Standing::Authorized,
            vec![
                Event::QueryExchanged(query(QueryPurpose::Read, complete(200))),
                Event::OutcomeSettled(settlement(Outcome::Committed, Source::RemoteQuery)),
            ],
        ),
        Standing::Settled => then(
            Standing::Answered,
            vec![
                Event::AttemptEnded(end(generation, Outcome::Committed)),
                Event::OutcomeSettled(settlement(Outcome::Committed, Source::RemoteResponse)),
            ],
        ),
        Standing::Stored => then(Standing::Settled, vec![Event::ResultCommitted(output())]),
        Standing::Delivered => then(Standing::Stored, vec![Event::ResultDelivered]),
        Standing::Stopped => {
            then(Standing::Accepted, vec![Event::Stopped(stop(Phase::Validation, Code::InvalidInput))])
        }
    }
}
