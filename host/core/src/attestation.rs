//! What a person says of an unknown effect after looking at the remote, and why. It settles the
//! invocation beside its attempts, which stay what they were.

use crate::closed::closed_enum;
use crate::code::Code;
use crate::contract::{Outcome, Source};
use crate::event::{Event, ResultFacts, Settlement};
use serde::{Deserialize, Serialize};
use std::fmt;

closed_enum! {
    /// What a person can attest. Only what settles: nobody can know that something is unknown, and
    /// nothing that was dispatched becomes `not_attempted` again.
    pub enum AttestedOutcome {
        /// Nothing was changed.
        Rejected = "rejected",
        /// It happened.
        Committed = "committed",
    }
}

impl AttestedOutcome {
    /// What it settles as.
    #[must_use]
    pub const fn outcome(self) -> Outcome {
        match self {
            Self::Rejected => Outcome::Rejected,
            Self::Committed => Outcome::Committed,
        }
    }

    /// The code; none: it happened. What it brought was never received, so that this is no success
    /// either, which the projection says by the missing result.
    const fn code(self) -> Option<Code> {
        match self {
            Self::Rejected => Some(Code::RemoteRejected),
            Self::Committed => None,
        }
    }
}

/// The most characters of a reason.
pub const LONGEST_REASON: usize = 500;

/// Why a person attests something: one line for whoever reads the record later. It is protected, and no
/// caller sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AttestedReason(String);

impl AttestedReason {
    /// Takes a text as it was written.
    ///
    /// # Errors
    /// When it is blank, longer than [`LONGEST_REASON`] characters, more than a line, or could show
    /// something else than what is recorded.
    pub fn parse(text: &str) -> Result<Self, InvalidReason> {
        if text.trim().is_empty() {
            Err(InvalidReason::Empty)
        } else if text.chars().count() > LONGEST_REASON {
            Err(InvalidReason::TooLong)
        } else if text.chars().any(misleads) {
            Err(InvalidReason::Misleading)
        } else {
            Ok(Self(text.to_owned()))
        }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for AttestedReason {
    type Error = InvalidReason;
    fn try_from(text: String) -> Result<Self, InvalidReason> {
        Self::parse(&text)
    }
}

impl From<AttestedReason> for String {
    fn from(reason: AttestedReason) -> Self {
        reason.0
    }
}

impl fmt::Display for AttestedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Whether a character ends a line, moves a cursor, or changes the order in which others are shown.
fn misleads(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text is no reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidReason {
    /// Nothing is said.
    #[error("say why: how you know what became of it")]
    Empty,
    /// Too much is said.
    #[error("it is longer than {LONGEST_REASON} characters")]
    TooLong,
    /// What is shown could differ from what is recorded.
    #[error("it is one line, without control characters and without ones that change the reading direction")]
    Misleading,
}

/// The events of an attestation.
pub(crate) fn attested(outcome: AttestedOutcome, reason: AttestedReason) -> Vec<Event> {
    vec![
        Event::OutcomeSettled(Settlement {
            outcome: outcome.outcome(),
            code: outcome.code(),
            source: Source::OperatorAttested,
            repairable: false,
            retry_after_seconds: None,
            http_status: None,
            attested_reason: Some(reason.0),
            unknown_children: 0,
        }),
        Event::ResultCommitted(ResultFacts::Nothing),
    ]
}
