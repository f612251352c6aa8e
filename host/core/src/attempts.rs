//! Law 3: what the attempts of one invocation prove together.
//!
//! An answer to a later attempt speaks for that attempt alone, with one exception: where the keyed contract
//! names a header by which the service marks the answer to the first request with a key, an answer that
//! carries it is that one's. Each attempt is sent with the same key, so that whichever of them arrived first,
//! none of the others did anything.

use crate::contract::{Outcome, Repeat};
use crate::event::AttemptEnd;
use crate::state::{Attempt, State};

/// What is proved by attempts in order, each with whether its answer is the first one's: committed if any is,
/// else unknown if any is, else rejected if any is. A refusal settles what was unknown before it only where
/// it is the first one's.
pub(crate) fn together(attempts: impl IntoIterator<Item = (Outcome, bool)>) -> Outcome {
    attempts.into_iter().fold(Outcome::NotAttempted, |known, (next, is_firsts)| {
        let answered = is_firsts && next.is_settled() && known == Outcome::Unknown;
        Outcome::aggregate([if answered { Outcome::NotAttempted } else { known }, next])
    })
}

impl Attempt {
    /// Whether its answer is the answer to the first request with its key, as the contract calls it.
    #[must_use]
    pub fn is_answered_as_the_first(&self) -> bool {
        self.end.as_ref().is_some_and(|end| end.evidence.replayed())
    }
}

impl State {
    /// What the attempts prove together with what is unknown in the record that they continue. That record's
    /// attempts had other company, so that no answer here is the first one's there.
    pub(crate) fn proved_by_attempts(&self) -> Outcome {
        let own = self.attempts.iter().map(|attempt| (attempt.outcome(), attempt.is_answered_as_the_first()));
        self.with_taken_over(together(own))
    }

    /// The same, if the attempt that is under way ended like this.
    pub(crate) fn proved_with(&self, outcome: Outcome, is_firsts: bool) -> Outcome {
        let ended = self.attempts.iter().filter(|attempt| attempt.end.is_some());
        let ended = ended.map(|attempt| (attempt.outcome(), attempt.is_answered_as_the_first()));
        self.with_taken_over(together(ended.chain([(outcome, is_firsts)])))
    }

    fn with_taken_over(&self, own: Outcome) -> Outcome {
        let before = self.taken_over().filter(|_| self.dispatched());
        Outcome::aggregate([own].into_iter().chain(before))
    }

    /// Whether the active attempt's answer can be the first one's: a complete one of the verified origin, to
    /// a request with a key, under a contract that names the header.
    pub(crate) fn may_answer_as_the_first(&self, end: &AttemptEnd) -> bool {
        let contract = self.binding.as_ref().map(|binding| &binding.contract.repeat);
        let named = match contract {
            Some(Repeat::Keyed(keyed)) => keyed.replay_header.is_some(),
            Some(Repeat::None | Repeat::Idempotent | Repeat::Conditional) | None => false,
        };
        let with_key = self.active().is_some_and(|attempt| attempt.dispatch.key.is_some());
        named && with_key && end.evidence.complete() && end.evidence.from_peer()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Outcome::{Committed, NotAttempted, Rejected, Unknown};

    #[test]
    fn a_refusal_settles_an_unknown_only_as_the_first_ones_answer() {
        let check = |attempts: &[(Outcome, bool)], expected: Outcome| {
            assert_eq!(together(attempts.iter().copied()), expected, "{attempts:?}");
        };
        check(&[], NotAttempted);
        check(&[(Unknown, false), (Rejected, false)], Unknown);
        check(&[(Unknown, false), (Rejected, true)], Rejected);
        check(&[(Unknown, false), (Unknown, false), (Rejected, true)], Rejected);
        check(&[(Unknown, false), (Rejected, false), (Rejected, true)], Rejected);
        check(&[(Unknown, false), (Unknown, true)], Unknown);
        check(&[(Unknown, false), (Committed, true)], Committed);
        check(&[(Committed, false), (Rejected, true)], Committed);
        // It says nothing of what is sent after it.
        check(&[(Rejected, true), (Unknown, false)], Unknown);
        check(&[(Unknown, false), (Rejected, true), (Unknown, false)], Unknown);
    }
}
