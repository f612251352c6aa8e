//! Reading answers: the connector's verdict under the transport's ceiling, the output under its
//! schema, the deliverable bytes under the leak guard.

use crate::connection::Connection;
use crate::exchange::Exchanged;
use crate::run::Run;
use proofport_core::batch::{Answer, judge};
use proofport_core::classify::{Judgement, Reading};
use proofport_core::contract::{Outcome, Reason, Role};
use proofport_core::decide::{Input, Judged};
use proofport_core::digest::Digest;
use proofport_core::event::ResultFacts;
use proofport_core::evidence::{Cause, Evidence, HttpEvidence};
use proofport_core::exchange::{Exchange, HttpRequest, Request, Send};
use proofport_core::verdict::{Step, Verdict};
use proofport_journal::{Body, BodyKind};
use std::sync::Arc;

/// How often one effect may be sent on.
const MOST_REDIRECTS: u32 = 3;

impl Run {
    /// Judges the effect's complete answer.
    pub(crate) async fn judge(&mut self) -> Input {
        let Some(connection) = self.scratch.connection.clone() else { return Input::Recovered };
        let Some(exchange) = self.scratch.exchange.take() else { return Input::Recovered };
        if let Some(followed) = self.follow(&exchange) {
            return followed;
        }
        let evidence = exchange.evidence();
        let reading = if exchange.response().is_none() {
            // The guard withheld it: nobody reads it, and the status alone speaks.
            Reading::Withheld
        } else {
            match self.step(&connection).await {
                Ok(Step::Settle(verdict)) => Reading::Verdict(verdict),
                Ok(Step::Send(_)) => Reading::Faulted("a request after the effect".to_owned()),
                Ok(Step::Refuse(_)) => Reading::Faulted("a refusal after the effect".to_owned()),
                Err(fault) => Reading::Faulted(fault.to_string()),
            }
        };
        Input::Judged(Box::new(self.judged(&connection, evidence, reading)))
    }

    /// Judges a read by the connector's verdict, or by its fault, on the newest complete answer.
    pub(crate) fn judge_read(&mut self, read: Result<Verdict, String>) -> Input {
        let newest = self.state.queries.last().map(|query| query.evidence.clone());
        let evidence = newest.unwrap_or_else(|| HttpEvidence::nothing_seen(Cause::LocalIo).into());
        let reading = match read {
            Ok(verdict) => Reading::Verdict(verdict),
            Err(fault) => Reading::Faulted(fault),
        };
        self.read_judged(evidence, reading)
    }

    /// Judges a read whose newest answer nobody may read, or that has none.
    pub(crate) fn judge_unread(&mut self, evidence: Evidence) -> Input {
        let reading = if evidence.withheld() { Reading::Withheld } else { Reading::None };
        self.read_judged(evidence, reading)
    }

    fn read_judged(&mut self, evidence: Evidence, reading: Reading) -> Input {
        let Some(connection) = self.scratch.connection.clone() else { return Input::Recovered };
        Input::ReadJudged(Box::new(self.judged(&connection, evidence, reading)))
    }

    pub(crate) fn judged(
        &mut self,
        connection: &Arc<Connection>,
        evidence: Evidence,
        reading: Reading,
    ) -> Judged {
        let withheld = matches!(reading, Reading::Withheld);
        let mut reading = reading;
        let said = self.said_of_children(connection, &mut reading);
        let reading = self.held_to_schema(connection, reading);
        let contract = self.scratch.contract.clone().or_else(|| self.bound_contract());
        let Some(contract) = contract else {
            return Judged {
                judgement: Judgement::unproved(&evidence),
                evidence,
                result: ResultFacts::Nothing,
            };
        };
        let answer = Answer {
            bound: self.bound_children(),
            evidence: &evidence,
            contract: &contract,
            asked_delay: self.scratch.asked_delay,
        };
        let mut judgement = judge(answer, reading, said);
        self.keep_children(&judgement);
        let result = if withheld {
            ResultFacts::Withheld
        } else {
            self.deliverable(connection, judgement.output.take())
        };
        let result = self.with_content(result, judgement.code.is_none());
        judgement.job = judgement.job.filter(|job| is_identifier(job) && self.is_clean(job.as_bytes()));
        Judged { judgement, evidence, result }
    }

    /// A success has the content that was stored for it; of anything else none is kept.
    fn with_content(&mut self, result: ResultFacts, success: bool) -> ResultFacts {
        let Some(storage) = self.scratch.storage.take() else { return result };
        match result {
            ResultFacts::Output { digest, bytes, .. } if success => {
                ResultFacts::Output { digest, bytes, content: storage.hand_over() }
            }
            result @ (ResultFacts::Output { .. }
            | ResultFacts::Nothing
            | ResultFacts::Withheld
            | ResultFacts::OverLimit) => {
                let id = self.state.accepted.request_id;
                if let Err(error) = self.inner.journal.discard_content(&id) {
                    tracing::warn!(%id, %error, "a content that nobody wants could not be removed");
                }
                result
            }
        }
    }

    /// A complete 307 or 308 to an origin that the connection lists for that sends the effect on, with its
    /// method and content. Whatever else it says is an answer.
    fn follow(&mut self, exchanged: &Exchanged) -> Option<Input> {
        let Exchanged::Http(exchange) = exchanged else { return None };
        let to = exchange.redirect.as_ref()?;
        // A copy that was sent before may have been carried out.
        let binding = self.state.binding.as_ref()?;
        let known = !exchange.evidence.may_be_repeated && binding.redirect_origins.contains(&to.origin);
        // Nor does another origin know of an earlier attempt whose fate is unknown.
        let known = known && self.state.may_be_sent_on();
        if !known || exchange.evidence.withheld || self.scratch.followed >= MOST_REDIRECTS {
            return None;
        }
        // The connector gets to see one answer to its effect: the last.
        let Some(Exchange { request: Request::Http(request), .. }) = self.scratch.history.pop() else {
            return None;
        };
        let request = HttpRequest { origin: to.origin.clone(), path: to.path.clone(), ..request };
        let summary = self.scratch.protected.summary.clone().unwrap_or_default();
        self.scratch.step =
            Some(Step::Send(Send { role: Role::Effect, request: Request::Http(request), summary }));
        self.scratch.follows = Some(to.origin.clone());
        self.scratch.followed += 1;
        let (evidence, to) = (Box::new(exchange.evidence.clone()), to.origin.clone());
        Some(Input::Redirected { evidence, to })
    }

    fn bound_contract(&self) -> Option<proofport_core::manifest::Contract> {
        self.state.binding.as_ref().map(|binding| binding.contract.clone())
    }

    /// A success must satisfy the output schema, or the answer counts as unreadable; a failure's
    /// output is used only where a schema for it is declared and satisfied.
    pub(crate) fn held_to_schema(&self, connection: &Connection, reading: Reading) -> Reading {
        let Reading::Verdict(mut verdict) = reading else { return reading };
        let Some(validators) = connection.validators(&self.state.accepted.operation.operation) else {
            return Reading::Faulted("an operation without schemas".to_owned());
        };
        if verdict.success {
            match &verdict.output {
                Some(output) if validators.output.is_valid(output) => Reading::Verdict(verdict),
                Some(_) => Reading::Faulted("an output that breaks its schema".to_owned()),
                None => Reading::Faulted("a success without its output".to_owned()),
            }
        } else {
            let valid = verdict
                .output
                .take()
                .filter(|output| validators.failure.as_ref().is_some_and(|failure| failure.is_valid(output)));
            verdict.output = valid;
            Reading::Verdict(verdict)
        }
    }

    /// The bytes that can be delivered, scanned once more as they are, and kept for their commit.
    pub(crate) fn deliverable(
        &mut self,
        connection: &Connection,
        output: Option<serde_json::Value>,
    ) -> ResultFacts {
        let Some(output) = output else { return ResultFacts::Nothing };
        let Ok(bytes) = serde_json::to_vec(&output) else { return ResultFacts::Nothing };
        if bytes.len() > connection.limits.response_bytes {
            return ResultFacts::OverLimit;
        }
        if !self.is_clean(&bytes) {
            return ResultFacts::Withheld;
        }
        let facts = ResultFacts::Output {
            digest: Digest::of_bytes(&bytes),
            bytes: bytes.len() as u64,
            content: None,
        };
        self.bodies.push(Body { kind: BodyKind::Result, bytes });
        self.scratch.result = Some(output);
        facts
    }

    /// Whether nothing in these bytes may be a secret that was injected.
    pub(crate) fn is_clean(&self, bytes: &[u8]) -> bool {
        !self.scratch.blind && self.scratch.guards.iter().all(|guard| guard.is_clean(bytes))
    }
}

/// Whether a remote's id of a job can be shown: a word, and no prose.
fn is_identifier(text: &str) -> bool {
    let word = |b: u8| b.is_ascii_alphanumeric() || b"-._~:/+=@".contains(&b);
    (1..=200).contains(&text.len()) && text.bytes().all(word)
}

/// Whether a finding of absence is old enough to be proof.
pub(crate) fn absence_is_proof(settles_after: Option<u32>, waited_seconds: u64) -> bool {
    settles_after.is_some_and(|seconds| waited_seconds >= u64::from(seconds))
}

/// What a reconciliation's claim comes to, of the whole or of a child.
pub(crate) fn found(
    outcome: Outcome,
    reason: Reason,
    settles_after: Option<u32>,
    waited_seconds: u64,
) -> Outcome {
    match outcome {
        Outcome::Rejected if reason == Reason::Absent => {
            if absence_is_proof(settles_after, waited_seconds) {
                Outcome::Rejected
            } else {
                Outcome::Unknown
            }
        }
        Outcome::Committed => Outcome::Committed,
        // A query can show that something is there or is not; it can't show a refusal.
        Outcome::Rejected | Outcome::Unknown | Outcome::NotAttempted => Outcome::Unknown,
    }
}
