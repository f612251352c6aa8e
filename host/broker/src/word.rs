//! Asking a person before an effect (design section 8): what a run does when its next request needs a word
//! that nobody has given. Everything that can be checked was checked before, so that people are only asked
//! about what could go ahead.

use crate::broker::Inner;
use crate::connection::Connection;
use crate::prepare::over_limit;
use crate::run::Run;
use proofport_core::approval::{Approval, ApprovalTerms, Question, Word};
use proofport_core::contract::{Effect, Role};
use proofport_core::decide::Input;
use proofport_core::digest::Digest;
use proofport_core::event::Accepted;
use proofport_core::exchange::{Exchange, Send};
use proofport_core::id::{IdempotencyKey, Name, RequestId};
use proofport_core::state::State;
use proofport_core::time::UnixMillis;
use proofport_core::verdict::Step;
use proofport_journal::{Body, BodyKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Whose word the operations of a connection need: the admin's policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approvals {
    /// For reads.
    pub reads: Approval,
    /// For writes.
    pub writes: Approval,
    /// For single operations, whatever they are.
    pub operations: BTreeMap<Name, Approval>,
    /// How long a question waits for its answer, in seconds.
    pub seconds: u32,
}

/// How long a question waits unless the admin says otherwise, in seconds.
pub const QUESTION_SECONDS: u32 = 3600;

impl Default for Approvals {
    fn default() -> Self {
        Self {
            reads: Approval::Session,
            writes: Approval::Each,
            operations: BTreeMap::new(),
            seconds: QUESTION_SECONDS,
        }
    }
}

impl Approvals {
    /// The terms of one operation. Queries that prepare an effect are under the policy of reads: where each
    /// read needs a word, so do they; else a session that may call at all may look.
    #[must_use]
    pub fn terms(&self, operation: &Name, effect: Effect) -> ApprovalTerms {
        let usual = match effect {
            Effect::Read => self.reads,
            Effect::Write => self.writes,
        };
        let needs = self.operations.get(operation).copied().unwrap_or(usual);
        let queries = effect == Effect::Write && self.reads == Approval::Each;
        ApprovalTerms { needs, queries, seconds: self.seconds }
    }
}

/// What a call needs to go on after a person was asked, beside its input and its request.
#[derive(Serialize, Deserialize)]
pub(crate) struct Halted {
    pub(crate) role: Role,
    /// What the request does, in the connector's words.
    pub(crate) summary: String,
    /// The queries so far, with their answers as the leak guard let them through.
    pub(crate) history: Vec<Exchange>,
    pub(crate) steps: u32,
    pub(crate) key: Option<IdempotencyKey>,
}

/// Where the grants of a session for one operation are found.
pub(crate) fn grant_key(accepted: &Accepted) -> Digest {
    let operation = accepted.operation.to_string();
    let parts = [&accepted.principal, &accepted.session, &operation].map(|part| part.as_bytes());
    Digest::of_parts("proofport.grant/1", &parts)
}

impl Inner {
    /// The invocation whose approval covers this one, if there is one.
    pub(crate) fn granted(&self, state: &State, now: UnixMillis) -> Option<RequestId> {
        let look = || {
            for id in self.journal.intents(&grant_key(&state.accepted))? {
                if self.state(&id)?.is_some_and(|granting| granting.grants(state, now)) {
                    return Ok(Some(id));
                }
            }
            Ok(None)
        };
        look().unwrap_or_else(|error: crate::broker::ReadError| {
            // A person is asked instead.
            tracing::error!(%error, "earlier approvals could not be looked up");
            None
        })
    }
}

impl Run {
    /// What happens instead of this step, where it needs a word: an earlier one covers it, or somebody is
    /// asked. None: it may be carried out.
    pub(crate) fn ask_first(&mut self, connection: &Connection, send: &Send) -> Option<Vec<Input>> {
        let request = send.request.fingerprint();
        if !self.state.needs_word(send.role, &request) {
            return None;
        }
        if let Some(refused) = over_limit(connection, &send.request) {
            return Some(vec![refused]);
        }
        let now = self.inner.now();
        if let Some(by) = self.inner.granted(&self.state, now) {
            self.scratch.step = Some(Step::Send(send.clone()));
            return Some(vec![Input::Decided(Word { approved: true, request, grant: None, by: Some(by) })]);
        }
        let halted = Halted {
            role: send.role,
            summary: send.summary.clone(),
            history: std::mem::take(&mut self.scratch.history),
            steps: self.scratch.steps,
            key: self.scratch.key.clone(),
        };
        // What is stored is what is shown, approved and sent.
        for (kind, bytes) in [
            (BodyKind::Request, serde_json::to_vec(&send.request)),
            (BodyKind::Halted, serde_json::to_vec(&halted)),
        ] {
            if let Ok(bytes) = bytes {
                self.bodies.push(Body { kind, bytes });
            }
        }
        let seconds = self.state.approval_terms().seconds;
        Some(vec![Input::Question(Question { until: now.plus_seconds(seconds.into()), request })])
    }
}
