//! The Tasks extension: a call that waits for a person, or runs long, is a task under its `request_id`. There
//! is no store of tasks beside the journal, so that they survive a restart and belong to whom the call does.

use super::{answer, words};
use crate::agent::Agent;
use proofport_core::code::Code;
use proofport_core::contract::{Outcome, RetryOwner};
use proofport_core::envelope::Envelope;
use proofport_core::id::RequestId;
use proofport_core::time::UnixMillis;
use rmcp::model::{
    CallToolResult, CreateTaskResult, DetailedTask, GetTaskResult, JsonObject, Task, TaskPayload, TaskStatus,
};
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// How often a client should ask, in milliseconds.
const POLL_MS: u64 = 1000;

/// What a record is as a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// A person has to approve it.
    Approval,
    /// It goes on by itself.
    Working,
    /// Nothing was sent, and nothing will be: the caller wanted that.
    Cancelled,
    /// It moves no more by itself; the answer says what is proved, which may be that nothing is.
    Over,
}

impl Standing {
    /// What this answer is as a task.
    pub(super) fn of(envelope: &Envelope) -> Self {
        match envelope.code() {
            Some(Code::ApprovalPending) => Self::Approval,
            Some(Code::InProgress) => Self::Working,
            Some(Code::CallerCancelled) if envelope.outcome() == Some(Outcome::NotAttempted) => {
                Self::Cancelled
            }
            Some(
                Code::InvalidInput
                | Code::PayloadLimit
                | Code::InvalidTarget
                | Code::UnsupportedAction
                | Code::FingerprintMismatch
                | Code::IdempotencyMismatch
                | Code::CallKeyReused
                | Code::NoSuchInvocation
                | Code::ConnectorFault
                | Code::VaultLocked
                | Code::CredentialUnavailable
                | Code::UserDenied
                | Code::ApprovalExpired
                | Code::EgressDenied
                | Code::ConnectFailed
                | Code::PeerUnverified
                | Code::LoginFailed
                | Code::PreparationFailed
                | Code::AuthFailed
                | Code::RemoteRejected
                | Code::RateLimited
                | Code::ConfirmedAbsent
                | Code::RemoteFailed
                | Code::ResultUnreadable
                | Code::Partial
                | Code::OutcomeUnknown
                | Code::RemoteResultIncomplete
                | Code::CallerCancelled
                | Code::ResultUndelivered
                | Code::ResultUnavailable
                | Code::Internal,
            )
            | None => match envelope.retry_owner() {
                // It is repeated or asked about at its time.
                RetryOwner::Host => Self::Working,
                RetryOwner::Caller | RetryOwner::Operator | RetryOwner::Nobody => Self::Over,
            },
        }
    }

    /// Whether a client that knows tasks is told of one instead of waiting for the answer.
    pub(super) const fn goes_on(self) -> bool {
        match self {
            Self::Approval | Self::Working => true,
            Self::Cancelled | Self::Over => false,
        }
    }

    const fn status(self) -> TaskStatus {
        match self {
            Self::Approval | Self::Working => TaskStatus::Working,
            Self::Cancelled => TaskStatus::Cancelled,
            Self::Over => TaskStatus::Completed,
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Approval => words::TASK_APPROVAL,
            Self::Working => words::TASK_WORKING,
            Self::Cancelled => words::TASK_CANCELLED,
            Self::Over => words::TASK_OVER,
        }
    }
}

/// The task that stands for this call of the agent's own; none where its record can't be read.
pub(super) fn created(agent: &Agent, id: &RequestId, standing: Standing) -> Option<CreateTaskResult> {
    task(agent, id, standing).map(CreateTaskResult::new)
}

/// How this task of the agent's own stands, by this answer.
pub(super) fn standing(agent: &Agent, id: &RequestId, envelope: &Envelope) -> Option<GetTaskResult> {
    let standing = Standing::of(envelope);
    let payload = match standing {
        Standing::Approval | Standing::Working => TaskPayload::Working,
        Standing::Cancelled => TaskPayload::Cancelled,
        Standing::Over => TaskPayload::Completed { result: object(&answer::result(envelope)) },
    };
    Some(GetTaskResult::new(DetailedTask::new(task(agent, id, standing)?, payload)))
}

fn task(agent: &Agent, id: &RequestId, standing: Standing) -> Option<Task> {
    let (accepted, newest) = agent.times(id)?;
    let task = Task::new(id.to_string(), standing.status(), text(accepted)?, text(newest)?)
        .with_status_message(standing.words());
    Some(if standing.goes_on() { task.with_poll_interval_ms(POLL_MS) } else { task })
}

fn text(at: UnixMillis) -> Option<String> {
    let nanoseconds = i128::from(at.0).checked_mul(1_000_000)?;
    OffsetDateTime::from_unix_timestamp_nanos(nanoseconds).ok()?.format(&Rfc3339).ok()
}

fn object(result: &CallToolResult) -> JsonObject {
    match serde_json::to_value(result) {
        Ok(Value::Object(object)) => object,
        // A result is an object of parts that all have a JSON form.
        Ok(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) | Err(_) => {
            JsonObject::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_on_is_working_and_all_else_is_over() {
        let check = |envelope: &Envelope, status: TaskStatus| {
            assert_eq!(Standing::of(envelope).status(), status, "{:?}", envelope.code());
        };
        let refusal = |code| Envelope::refusal(code, None);
        check(&refusal(Code::ApprovalPending), TaskStatus::Working);
        check(&refusal(Code::InProgress), TaskStatus::Working);
        check(&refusal(Code::UserDenied), TaskStatus::Completed);
        check(&refusal(Code::ApprovalExpired), TaskStatus::Completed);
        // Nothing is proved of it, so it was not cancelled.
        check(&refusal(Code::CallerCancelled), TaskStatus::Completed);
        check(&Envelope::out_of_touch(None, None), TaskStatus::Completed);
    }

    #[test]
    fn times_are_spelt_as_the_protocol_wants() {
        assert_eq!(text(UnixMillis(1_764_529_200_250)).as_deref(), Some("2025-11-30T19:00:00.25Z"));
    }
}
