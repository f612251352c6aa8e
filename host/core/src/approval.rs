//! A person's word before an effect: when it is needed, what it covers, and what it was about (design
//! section 8).

use crate::closed::closed_enum;
use crate::contract::{Effect, Role};
use crate::digest::Digest;
use crate::id::RequestId;
use crate::state::{Standing, State};
use crate::time::UnixMillis;
use serde::{Deserialize, Serialize};

closed_enum! {
    /// Whose word an operation needs beside an operator's that its session may call at all.
    pub enum Approval {
        /// Nobody's.
        Auto = "auto",
        /// An operator's, once in a session.
        Session = "session",
        /// An operator's, for each call.
        Each = "each",
    }
}

/// The admin's terms, bound to an invocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalTerms {
    /// Whose word is needed.
    pub needs: Approval,
    /// Whether queries that prepare an effect wait for a word of their own.
    #[serde(default)]
    pub queries: bool,
    /// How long a question waits for its answer, in seconds.
    pub seconds: u32,
}

impl ApprovalTerms {
    /// Nobody is asked: an operator's own call, and records from before anybody was.
    pub const NONE: Self = Self { needs: Approval::Auto, queries: false, seconds: 0 };
}

impl Default for ApprovalTerms {
    fn default() -> Self {
        Self::NONE
    }
}

/// A question that was put to people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// When it lapses.
    pub until: UnixMillis,
    /// Fingerprint of the exact request that it is about.
    pub request: Digest,
}

/// An operator's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Word {
    /// Whether it may run.
    pub approved: bool,
    /// Fingerprint of the exact request that it is about.
    pub request: Digest,
    /// What else it covers: other calls of the same session at the same operation, bound to the same
    /// connector, config, targets and credential. None: this request alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<Grant>,
    /// The invocation whose approval covers this one; none: this was asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<RequestId>,
}

/// How far an approval reaches beyond the call that was asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Not from this time on; none: as long as the session lives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<UnixMillis>,
}

impl Grant {
    /// Whether it covers anything at this time.
    #[must_use]
    pub fn holds(self, now: UnixMillis) -> bool {
        self.until.is_none_or(|until| now < until)
    }
}

impl State {
    /// The terms that it is bound to.
    #[must_use]
    pub fn approval_terms(&self) -> ApprovalTerms {
        self.binding.as_ref().map_or(ApprovalTerms::NONE, |binding| binding.approval)
    }

    /// Whether this request may not be carried out yet: nobody gave a word that covers it. A read is covered
    /// from its first request on; of an effect exactly the bytes are that the word was about, and what is sent
    /// again over an unknown is those (laws 6 and 8).
    #[must_use]
    pub fn needs_word(&self, role: Role, request: &Digest) -> bool {
        let terms = self.approval_terms();
        let approved = self.word.filter(|word| word.approved);
        let read = self.effect() == Some(Effect::Read);
        match role {
            Role::Query if read => terms.needs != Approval::Auto && approved.is_none(),
            Role::Query => {
                terms.queries && !self.dispatched() && approved.is_none_or(|word| word.request != *request)
            }
            Role::Effect => {
                terms.needs != Approval::Auto
                    && !self.dispatched()
                    && approved.is_none_or(|word| word.request != *request)
            }
        }
    }

    /// Whether it was approved after somebody was asked, and waits to be carried out.
    #[must_use]
    pub fn waits_to_begin(&self) -> bool {
        self.standing == Standing::Authorized
            && self.question.is_some()
            && self.word.is_some_and(|word| word.approved)
    }

    /// Whether this invocation's grant covers another one: given in the same session for the same operation,
    /// to the same connector, config, contract, targets, ways and credential (law 8).
    #[must_use]
    pub fn grants(&self, other: &Self, now: UnixMillis) -> bool {
        let grant = self.word.filter(|word| word.approved).and_then(|word| word.grant);
        let same_caller = self.accepted.session == other.accepted.session
            && self.accepted.principal == other.accepted.principal
            && self.accepted.operation == other.accepted.operation;
        let same_binding = match (&self.binding, &other.binding) {
            (Some(mine), Some(others)) => {
                mine.connector == others.connector
                    && mine.config == others.config
                    && mine.contract == others.contract
                    && mine.approval.needs == others.approval.needs
                    && mine.origins == others.origins
                    && mine.redirect_origins == others.redirect_origins
                    && mine.ssh_hosts == others.ssh_hosts
                    && mine.ways == others.ways
            }
            (Some(_), None) | (None, Some(_) | None) => false,
        };
        grant.is_some_and(|grant| grant.holds(now))
            && same_caller
            && same_binding
            && self.credential == other.credential
    }
}
