//! Requests that an intermediary may send on twice (RFC 9110 section 9.2.2).

use crate::classify::{claimed, verdict};
use crate::common::values::{complete, contract, keyed, marking};
use proofport_core::classify::Reading;
use proofport_core::code::Code::{self, AuthFailed, OutcomeUnknown, RemoteFailed, RemoteRejected};
use proofport_core::contract::Outcome::{self, Committed, Rejected, Unknown};
use proofport_core::contract::{Effect, Reason, Repeat};
use proofport_core::evidence::HttpEvidence;
use proofport_core::manifest::Contract;

/// Where an intermediary may have sent a copy before, only a refusal that each copy meets is one.
#[test]
fn a_refusal_that_may_be_of_a_second_copy_settles_nothing() {
    let repeated = |status| HttpEvidence { may_be_repeated: true, ..complete(status) };
    let refusal = |reason| verdict(Rejected, false, reason);
    let check = |status: u16, terms: &Contract, reading: Reading, expected: (Outcome, Code)| {
        let what = format!("{status} {:?} {reading:?}", terms.repeat);
        let got = claimed(&repeated(status), terms, reading);
        assert_eq!(got, (expected.0, Some(expected.1)), "{what}");
    };
    let open = (Unknown, OutcomeUnknown);
    for repeat in [Repeat::None, Repeat::Idempotent, Repeat::Conditional, keyed()] {
        let terms = contract(Effect::Write, repeat);
        for (status, reason) in [
            (402, Reason::Conflict),
            (404, Reason::NotFound),
            (409, Reason::Conflict),
            (410, Reason::NotFound),
            (412, Reason::PreconditionFailed),
            (421, Reason::RateLimited),
            (423, Reason::Conflict),
            (425, Reason::RateLimited),
            (428, Reason::PreconditionFailed),
            (429, Reason::RateLimited),
        ] {
            check(status, &terms, Reading::None, open);
            check(status, &terms, Reading::Withheld, open);
            check(status, &terms, Reading::Faulted("trap".to_owned()), open);
            check(status, &terms, refusal(reason), open);
            // Another word for it makes it no other answer.
            check(status, &terms, refusal(Reason::InvalidInput), open);
        }
        // The contract knows of one copy only.
        let listing = Contract { statuses_before_work: vec![500, 503], ..terms.clone() };
        check(503, &listing, refusal(Reason::Unavailable), open);
        check(500, &listing, Reading::None, open);
        // A refusal in the body of a success.
        check(200, &terms, refusal(Reason::Conflict), open);
        check(200, &terms, refusal(Reason::InvalidInput), (Rejected, RemoteRejected));
        // Each copy meets these.
        check(400, &terms, refusal(Reason::InvalidInput), (Rejected, RemoteRejected));
        check(401, &terms, Reading::None, (Rejected, AuthFailed));
        check(403, &terms, refusal(Reason::Forbidden), (Rejected, RemoteRejected));
        check(422, &terms, Reading::None, (Rejected, RemoteRejected));
        // That it happened is true of any copy.
        let absent = verdict(Committed, true, Reason::Done);
        assert_eq!(claimed(&repeated(404), &terms, absent), (Committed, None));
        check(500, &terms, Reading::None, (Committed, RemoteFailed));
    }
    // The first copy's own answer, as the contract calls it, is no second one's.
    let firsts = HttpEvidence { replayed: true, ..repeated(404) };
    let got = claimed(&firsts, &contract(Effect::Write, marking()), refusal(Reason::NotFound));
    assert_eq!(got, (Rejected, Some(RemoteRejected)));
    // A read has nothing that a copy could have done.
    let read = contract(Effect::Read, Repeat::Idempotent);
    check(404, &read, refusal(Reason::NotFound), (Rejected, RemoteRejected));
}
