//! The ceiling over a connector's verdict: what the transport proved limits what may be claimed.

use crate::contract::Outcome;
use crate::evidence::{Evidence, HttpEvidence};
use crate::manifest::Contract;
use crate::row::{Row, is_before_work};
use crate::ssh;

/// What a verdict may claim at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ceiling {
    /// A complete final 2xx, 3xx or 4xx of the verified origin, or exit status 0: anything.
    Any,
    /// A complete refusal that an earlier copy of the request may have caused, a status that the contract
    /// defines as "the first is still running", or a command that is known to have finished and not how: no
    /// refusal, since it may have been carried out.
    NoRefusal,
    /// A complete 5xx, or an exit status, that the contract lists as sent before work: a refusal or less.
    Refusal,
    /// A complete 5xx, another exit status, a signal: committed without success, or unknown.
    Failure,
    /// No complete answer: unknown only. The connector is not even asked.
    Nothing,
}

impl Ceiling {
    /// The ceiling that this evidence sets under this contract.
    #[must_use]
    pub fn of(evidence: &Evidence, contract: &Contract) -> Self {
        match evidence {
            Evidence::Http(http) => Self::of_http(http, contract),
            Evidence::Ssh(ssh) => ssh::ceiling(ssh, contract),
        }
    }

    pub(crate) fn of_http(evidence: &HttpEvidence, contract: &Contract) -> Self {
        let row = Row::of(evidence, contract);
        if row.refused_on_the_way() {
            return Self::Nothing;
        }
        if row == Row::PerhapsRepeated && evidence.from_origin {
            return Self::NoRefusal;
        }
        match (evidence.completion, evidence.status) {
            (Some(_), Some(status)) if evidence.from_origin => match status {
                200..=499 if row == Row::StillRunning => Self::NoRefusal,
                500..=599 if row == Row::StillRunning => Self::Failure,
                200..=499 => Self::Any,
                500..=599 if is_before_work(status, contract) => Self::Refusal,
                500..=599 => Self::Failure,
                _ => Self::Nothing,
            },
            (Some(_) | None, Some(_) | None) => Self::Nothing,
        }
    }

    /// Whether this claim stays under the ceiling.
    #[must_use]
    pub const fn allows(self, outcome: Outcome, success: bool) -> bool {
        match (self, outcome) {
            (_, Outcome::NotAttempted) => false,
            (_, Outcome::Unknown) => !success,
            (Self::Any | Self::NoRefusal, Outcome::Committed) => true,
            (Self::Any | Self::Refusal, Outcome::Rejected) => !success,
            (Self::Failure | Self::Refusal, Outcome::Committed) => !success,
            (Self::Failure | Self::NoRefusal | Self::Nothing, Outcome::Rejected)
            | (Self::Nothing, Outcome::Committed) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Completion;
    use crate::testing::{contract, evidence};

    #[test]
    fn a_verdict_stays_under_what_was_proved() {
        use Outcome::{Committed, NotAttempted, Rejected, Unknown};
        let before_work = contract(&[503]);
        let check = |status: Option<u16>, completion, allowed: [bool; 5]| {
            let ceiling = Ceiling::of_http(&evidence(status, completion), &before_work);
            let claims = [
                (Committed, true),
                (Committed, false),
                (Rejected, false),
                (Unknown, false),
                (NotAttempted, false),
            ];
            let got = claims.map(|(outcome, success)| ceiling.allows(outcome, success));
            assert_eq!(got, allowed, "{status:?} {completion:?}");
        };
        let complete = Some(Completion::ContentLength);
        check(Some(200), complete, [true, true, true, true, false]);
        check(Some(302), complete, [true, true, true, true, false]);
        check(Some(404), complete, [true, true, true, true, false]);
        check(Some(500), complete, [false, true, false, true, false]);
        check(Some(502), complete, [false, true, false, true, false]);
        check(Some(503), complete, [false, true, true, true, false]);
        check(Some(200), None, [false, false, false, true, false]);
        check(None, None, [false, false, false, true, false]);
        check(Some(101), complete, [false, false, false, true, false]);
        let mut proxied = evidence(Some(200), complete);
        proxied.from_origin = false;
        assert_eq!(Ceiling::of_http(&proxied, &before_work), Ceiling::Nothing);
    }
}
