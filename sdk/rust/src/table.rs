//! What a complete HTTP response proves by its status alone.

use crate::{Outcome, Reason, Verdict};

/// The parts of an operation's declared contract that change what a status means. Keep them in a
/// constant and declare the operation from it, so that the two can't differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms<'a> {
    /// Statuses that the service documents as sent before any work is done.
    pub before_work: &'a [u16],
    /// The status that means "the first request with this idempotency key is still running".
    pub running: Option<u16>,
}

impl Terms<'_> {
    /// The service promises nothing about its statuses.
    pub const NONE: Self = Self { before_work: &[], running: None };
}

/// What a complete response with this final status proves, where the service's documentation says
/// nothing better. A connector starts from it and departs from it where the documentation says more.
///
/// | status | verdict |
/// | --- | --- |
/// | `terms.running` | unknown: the first request is still running |
/// | in `terms.before_work` | rejected |
/// | 202 | committed: accepted |
/// | other 2xx | committed, a success |
/// | 303 | committed, but the result was not read |
/// | other 3xx | unknown |
/// | 408, 503 | unknown: the service may have begun |
/// | 502, 504 | unknown: an intermediary speaks |
/// | other 4xx | rejected |
/// | other 5xx | committed, not a success: the service failed while doing it |
/// | below 200, above 599 | unknown: no final status |
///
/// A success has no output yet; the connector adds it.
#[must_use]
pub fn default_verdict(status: u16, terms: Terms<'_>) -> Verdict {
    if terms.running == Some(status) {
        return Verdict::unknown(Reason::StillRunning);
    }
    // Of a success, and of 502 and 504, where an intermediary speaks, nobody can say so.
    if terms.before_work.contains(&status) && !matches!(status, 0..=299 | 303 | 502 | 504) {
        return Verdict::rejected(refusal(status));
    }
    match status {
        202 => Verdict::of(Outcome::Committed, true, Reason::Accepted),
        200..=299 => Verdict::of(Outcome::Committed, true, Reason::Done),
        // The origin answered that the result is elsewhere, and nobody has looked there.
        303 => Verdict::failed(Reason::Unreadable),
        300..=399 => Verdict::unknown(Reason::Unreadable),
        408 | 502 | 503 | 504 => Verdict::unknown(Reason::Unavailable),
        400..=499 => Verdict::rejected(refusal(status)),
        500..=599 => Verdict::failed(Reason::RemoteFailed),
        _ => Verdict::unknown(Reason::Unreadable),
    }
}

/// Why a refusal with this status was given (RFC 9110 section 15.5, RFC 6585 and RFC 4918).
const fn refusal(status: u16) -> Reason {
    match status {
        401 => Reason::Unauthenticated,
        403 | 407 | 451 => Reason::Forbidden,
        404 | 410 => Reason::NotFound,
        412 | 428 => Reason::PreconditionFailed,
        429 => Reason::RateLimited,
        // The request was fine and came to the wrong place or too early; so may a refusal before
        // work be that is no client error.
        421 | 425 | 408 | 300..=399 | 500..=599 => Reason::Unavailable,
        402 | 409 | 423 | 424 => Reason::Conflict,
        _ => Reason::InvalidInput,
    }
}

#[cfg(test)]
mod tests {
    use super::{Terms, default_verdict};
    use crate::{Outcome, Reason};
    use std::ops::RangeInclusive;

    type Row = (RangeInclusive<u16>, Outcome, bool, Reason);

    /// Every status once: the table that the code above must equal.
    fn table() -> Vec<Row> {
        use Outcome::{Committed, Rejected, Unknown};
        vec![
            (0..=199, Unknown, false, Reason::Unreadable),
            (200..=201, Committed, true, Reason::Done),
            (202..=202, Committed, true, Reason::Accepted),
            (203..=299, Committed, true, Reason::Done),
            (300..=302, Unknown, false, Reason::Unreadable),
            (303..=303, Committed, false, Reason::Unreadable),
            (304..=399, Unknown, false, Reason::Unreadable),
            (400..=400, Rejected, false, Reason::InvalidInput),
            (401..=401, Rejected, false, Reason::Unauthenticated),
            (402..=402, Rejected, false, Reason::Conflict),
            (403..=403, Rejected, false, Reason::Forbidden),
            (404..=404, Rejected, false, Reason::NotFound),
            (405..=406, Rejected, false, Reason::InvalidInput),
            (407..=407, Rejected, false, Reason::Forbidden),
            (408..=408, Unknown, false, Reason::Unavailable),
            (409..=409, Rejected, false, Reason::Conflict),
            (410..=410, Rejected, false, Reason::NotFound),
            (411..=411, Rejected, false, Reason::InvalidInput),
            (412..=412, Rejected, false, Reason::PreconditionFailed),
            (413..=420, Rejected, false, Reason::InvalidInput),
            (421..=421, Rejected, false, Reason::Unavailable),
            (422..=422, Rejected, false, Reason::InvalidInput),
            (423..=424, Rejected, false, Reason::Conflict),
            (425..=425, Rejected, false, Reason::Unavailable),
            (426..=427, Rejected, false, Reason::InvalidInput),
            (428..=428, Rejected, false, Reason::PreconditionFailed),
            (429..=429, Rejected, false, Reason::RateLimited),
            (430..=450, Rejected, false, Reason::InvalidInput),
            (451..=451, Rejected, false, Reason::Forbidden),
            (452..=499, Rejected, false, Reason::InvalidInput),
            (500..=501, Committed, false, Reason::RemoteFailed),
            (502..=504, Unknown, false, Reason::Unavailable),
            (505..=599, Committed, false, Reason::RemoteFailed),
            (600..=1000, Unknown, false, Reason::Unreadable),
        ]
    }

    #[test]
    fn every_status_has_its_row() {
        let mut next = 0;
        for (statuses, outcome, success, reason) in table() {
            assert_eq!(*statuses.start(), next, "the rows leave no status out");
            next = statuses.end() + 1;
            for status in statuses {
                let verdict = default_verdict(status, Terms::NONE);
                let have = (verdict.outcome, verdict.success, verdict.reason);
                assert_eq!(have, (outcome, success, reason), "{status}");
                assert_eq!((verdict.output, verdict.retry_after_seconds), (None, None), "{status}");
            }
        }
    }

    #[test]
    fn the_contract_changes_what_a_status_means() {
        let check = |status, before_work: &[u16], running, outcome, reason| {
            let verdict = default_verdict(status, Terms { before_work, running });
            let have = (verdict.outcome, verdict.success, verdict.reason);
            assert_eq!(have, (outcome, false, reason), "{status}");
        };
        check(503, &[503], None, Outcome::Rejected, Reason::Unavailable);
        check(408, &[408], None, Outcome::Rejected, Reason::Unavailable);
        check(500, &[500], None, Outcome::Rejected, Reason::Unavailable);
        check(307, &[307], None, Outcome::Rejected, Reason::Unavailable);
        check(429, &[429], None, Outcome::Rejected, Reason::RateLimited);
        check(401, &[401], None, Outcome::Rejected, Reason::Unauthenticated);
        check(503, &[429], None, Outcome::Unknown, Reason::Unavailable);
        check(409, &[], Some(409), Outcome::Unknown, Reason::StillRunning);
        // Still running is the more careful reading where a contract says both.
        check(409, &[409], Some(409), Outcome::Unknown, Reason::StillRunning);
        check(409, &[], Some(425), Outcome::Rejected, Reason::Conflict);
    }
}
