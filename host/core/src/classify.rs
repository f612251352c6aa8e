//! From what was seen, and what the connector made of it, to what is claimed of one attempt.

use crate::batch::ChildJudgement;
use crate::ceiling::Ceiling;
use crate::code::Code;
use crate::contract::{Effect, Outcome, Reason, Source};
use crate::evidence::{Evidence, HttpEvidence};
use crate::manifest::Contract;
use crate::row::{Row, may_be_a_copys_refusal};
use crate::ssh;
use crate::verdict::Verdict;

/// The longest delay asked for by a remote that is passed on, in seconds.
pub const LONGEST_RETRY_AFTER: u32 = 3600;

/// What the connector made of a complete answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// There was no complete answer to read.
    None,
    /// The leak guard withheld the answer from everybody; its status is all that may be used.
    Withheld,
    /// It read it.
    Verdict(Verdict),
    /// It failed while reading: a name from the sandbox's closed list.
    Faulted(String),
}

/// What is claimed of one attempt, or of a read.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The outcome.
    pub outcome: Outcome,
    /// The code; none: success.
    pub code: Option<Code>,
    /// How it is known.
    pub source: Source,
    /// Whether the caller can repair the input.
    pub repairable: bool,
    /// A usable delay, capped.
    pub retry_after_seconds: Option<u32>,
    /// Whether the verdict claimed more than its ceiling.
    pub above_ceiling: bool,
    /// The connector's fault while reading.
    pub connector_fault: Option<String>,
    /// Whether the verdict's output may be used.
    pub output: Option<serde_json::Value>,
    /// The job that the remote took on.
    pub job: Option<String>,
    /// What is claimed of each child of a batch that is judged by itself.
    pub children: Vec<ChildJudgement>,
    /// How many children the connector spoke of that were never sent.
    pub unmatched_children: u32,
}

impl Judgement {
    /// What can be said of an exchange whose contract is not known: nothing but that it may have
    /// happened.
    #[must_use]
    pub fn unproved(evidence: &Evidence) -> Self {
        Self {
            outcome: Outcome::Unknown,
            code: Some(unknown_code(evidence.response_started())),
            source: Source::TransportObserved,
            repairable: false,
            retry_after_seconds: None,
            above_ceiling: false,
            connector_fault: None,
            output: None,
            job: None,
            children: Vec::new(),
            unmatched_children: 0,
        }
    }
}

/// Judges one attempt, or a read.
#[must_use]
pub fn judge(
    evidence: &Evidence,
    contract: &Contract,
    reading: Reading,
    asked_delay: Option<u32>,
) -> Judgement {
    match evidence {
        Evidence::Http(http) => judge_http(http, contract, reading, asked_delay),
        Evidence::Ssh(ssh) => ssh::judge(ssh, contract, reading),
    }
}

fn judge_http(
    evidence: &HttpEvidence,
    contract: &Contract,
    reading: Reading,
    asked_delay: Option<u32>,
) -> Judgement {
    let row = Row::of(evidence, contract);
    // A read that got no answer at all was simply not answered.
    let of_read = contract.effect == Effect::Read;
    if row.refused_on_the_way() && (!of_read || evidence.completion.is_some()) {
        let (outcome, reason) = row.claims();
        let refused = claim(outcome, reason, contract);
        return Judgement {
            source: if of_read { refused.source } else { Source::TransportObserved },
            retry_after_seconds: asked_delay.map(|seconds| seconds.min(LONGEST_RETRY_AFTER)),
            ..refused
        };
    }
    let ceiling = Ceiling::of_http(evidence, contract);
    let delay = asked_delay.map(|seconds| seconds.min(LONGEST_RETRY_AFTER));
    match reading {
        // The copy that the verdict is about may be a second one, by its own reason or by the status's.
        Reading::Verdict(verdict)
            if ceiling != Ceiling::Nothing
                && may_be_a_copys_refusal(evidence, contract, (verdict.outcome, verdict.reason)) =>
        {
            Judgement { retry_after_seconds: delay, ..claim(Outcome::Unknown, verdict.reason, contract) }
        }
        reading @ (Reading::Verdict(_) | Reading::Faulted(_) | Reading::Withheld | Reading::None) => {
            let shown = Shown { claims: row.claims(), ceiling, started: evidence.response_started() };
            under(shown, contract, reading, delay)
        }
    }
}

/// What the transport showed of an answer, for those who read it.
#[derive(Clone, Copy)]
pub(crate) struct Shown {
    /// What its row proves alone.
    pub(crate) claims: (Outcome, Reason),
    /// What a reading may claim.
    pub(crate) ceiling: Ceiling,
    /// Whether anything of an answer came.
    pub(crate) started: bool,
}

/// A reading under its ceiling.
pub(crate) fn under(shown: Shown, contract: &Contract, reading: Reading, delay: Option<u32>) -> Judgement {
    let Shown { claims, ceiling, started } = shown;
    match ceiling {
        Ceiling::Any | Ceiling::NoRefusal | Ceiling::Refusal | Ceiling::Failure => {}
        Ceiling::Nothing => {
            let code = Some(unknown_code(started));
            return Judgement { code, ..claim(Outcome::Unknown, Reason::Unreadable, contract) };
        }
    }
    match reading {
        Reading::Verdict(verdict) if ceiling.allows(verdict.outcome, verdict.success) => Judgement {
            code: code_of(verdict.outcome, verdict.success, verdict.reason),
            repairable: repairable(verdict.outcome, verdict.reason),
            retry_after_seconds: verdict.retry_after_seconds.map(|s| s.min(LONGEST_RETRY_AFTER)).or(delay),
            output: verdict.output,
            job: verdict.job,
            ..claim(verdict.outcome, verdict.reason, contract)
        },
        Reading::Verdict(_) => {
            let unread = unread(claims, contract);
            Judgement { above_ceiling: true, retry_after_seconds: delay, ..unread }
        }
        Reading::Faulted(fault) => {
            let unread = unread(claims, contract);
            Judgement { connector_fault: Some(fault), retry_after_seconds: delay, ..unread }
        }
        Reading::Withheld => {
            let (outcome, reason) = claims;
            let done = matches!(reason, Reason::Done | Reason::Accepted);
            Judgement {
                code: code_of(outcome, outcome == Outcome::Committed && done, reason),
                retry_after_seconds: delay,
                ..claim(outcome, reason, contract)
            }
        }
        Reading::None => Judgement { retry_after_seconds: delay, ..unread(claims, contract) },
    }
}

const fn unknown_code(started: bool) -> Code {
    if started { Code::RemoteResultIncomplete } else { Code::OutcomeUnknown }
}

/// An answer that nobody could read: its row alone speaks, and a success becomes an unreadable one.
pub(crate) fn unread((outcome, reason): (Outcome, Reason), contract: &Contract) -> Judgement {
    match (outcome, reason) {
        (Outcome::Committed, Reason::RemoteFailed) => claim(outcome, reason, contract),
        (Outcome::Committed, _) => claim(outcome, Reason::Unreadable, contract),
        (Outcome::Rejected | Outcome::Unknown | Outcome::NotAttempted, _) => claim(outcome, reason, contract),
    }
}

pub(crate) fn claim(outcome: Outcome, reason: Reason, contract: &Contract) -> Judgement {
    let source = match (outcome, contract.effect) {
        (Outcome::Unknown | Outcome::NotAttempted, _) => Source::TransportObserved,
        (Outcome::Rejected | Outcome::Committed, Effect::Read) => Source::RemoteQuery,
        (Outcome::Rejected | Outcome::Committed, Effect::Write) => Source::RemoteResponse,
    };
    Judgement {
        outcome,
        code: code_of(outcome, false, reason),
        source,
        repairable: repairable(outcome, reason),
        retry_after_seconds: None,
        above_ceiling: false,
        connector_fault: None,
        output: None,
        job: None,
        children: Vec::new(),
        unmatched_children: 0,
    }
}

pub(crate) const fn repairable(outcome: Outcome, reason: Reason) -> bool {
    match outcome {
        Outcome::Rejected => matches!(reason, Reason::InvalidInput | Reason::NotFound),
        Outcome::NotAttempted | Outcome::Committed | Outcome::Unknown => false,
    }
}

/// The code for a claim; none for success.
#[must_use]
pub const fn code_of(outcome: Outcome, success: bool, reason: Reason) -> Option<Code> {
    Some(match outcome {
        Outcome::Committed if success => return None,
        Outcome::Committed => match reason {
            Reason::Partial => Code::Partial,
            Reason::Unreadable => Code::ResultUnreadable,
            Reason::Done
            | Reason::Accepted
            | Reason::Unauthenticated
            | Reason::Forbidden
            | Reason::InvalidInput
            | Reason::NotFound
            | Reason::Conflict
            | Reason::PreconditionFailed
            | Reason::RateLimited
            | Reason::StillRunning
            | Reason::PayloadMismatch
            | Reason::Unavailable
            | Reason::RemoteFailed
            | Reason::Present
            | Reason::Absent => Code::RemoteFailed,
        },
        Outcome::Rejected => match reason {
            Reason::Unauthenticated => Code::AuthFailed,
            Reason::RateLimited | Reason::Unavailable => Code::RateLimited,
            Reason::Absent => Code::ConfirmedAbsent,
            Reason::Done
            | Reason::Accepted
            | Reason::Forbidden
            | Reason::InvalidInput
            | Reason::NotFound
            | Reason::Conflict
            | Reason::PreconditionFailed
            | Reason::StillRunning
            | Reason::PayloadMismatch
            | Reason::RemoteFailed
            | Reason::Partial
            | Reason::Present
            | Reason::Unreadable => Code::RemoteRejected,
        },
        Outcome::Unknown | Outcome::NotAttempted => Code::OutcomeUnknown,
    })
}
