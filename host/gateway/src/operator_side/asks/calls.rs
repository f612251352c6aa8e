//! Calling, and what can be done about a call.

use crate::operator_side::answered::Answered;
use crate::operator_side::ask::{Ask, Desk};
use crate::operator_side::failure::Failure;
use crate::operator_side::wire::Base64;
use proofport_broker::{CallRequest, Delivery, FollowError, ReconcileError, RetryBatchError, RetryError};
use proofport_core::code::Code;
use proofport_core::envelope::Envelope;
use proofport_core::id::{OperationName, RequestId};
use proofport_core::retry::Leave;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How many children a remark names.
const MOST_NAMED: usize = 10;

/// For how long one ask waits; whoever wants more asks again.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Carries out an operation. The operator's own call needs nobody's approval.
#[derive(Serialize, Deserialize)]
pub struct Call {
    /// What is asked for.
    pub operation: OperationName,
    /// The input's JSON text as it came.
    pub input: Base64,
    /// The operator's own name for the intent.
    pub call_key: Option<String>,
}

/// The newest answer of a call, whoever made it.
#[derive(Serialize, Deserialize)]
pub struct Fetch {
    /// Which.
    pub id: RequestId,
}

/// The answer was handed over whole.
#[derive(Serialize, Deserialize)]
pub struct Delivered {
    /// Of which call.
    pub id: RequestId,
}

/// Waits until a call moves no more by itself; of a host that serves, for half a minute at most.
#[derive(Serialize, Deserialize)]
pub struct Wait {
    /// Which.
    pub id: RequestId,
}

/// Asks the remote what became of an unknown call.
#[derive(Serialize, Deserialize)]
pub struct Reconcile {
    /// Which.
    pub id: RequestId,
}

/// Sends an unknown effect, or those children of a batch that may be, once more.
#[derive(Serialize, Deserialize)]
pub struct Retry {
    /// Which.
    pub id: RequestId,
}

/// Loses interest in a call.
#[derive(Serialize, Deserialize)]
pub struct Cancel {
    /// Which.
    pub id: RequestId,
}

/// Looks at the job that a call submitted.
#[derive(Serialize, Deserialize)]
pub struct Follow {
    /// Which.
    pub id: RequestId,
}

impl Ask for Call {
    const PATH: &'static str = "/v1/call";
    /// More than any input that a connection takes: its own limit has its own code.
    const MOST_BYTES: usize = 96 * 1024 * 1024;
    type Answer = Answered;

    async fn carry_out(self, desk: &Desk) -> Result<Answered, Failure> {
        let Self { operation, input, call_key } = self;
        let request = CallRequest { operation, input: input.0, call_key, caller: desk.operator() };
        Answered::of(desk, &desk.host().broker().call(request).await)
    }
}

impl Ask for Fetch {
    const PATH: &'static str = "/v1/result";
    type Answer = Answered;

    async fn carry_out(self, desk: &Desk) -> Result<Answered, Failure> {
        standing(desk, &self.id)
    }
}

impl Ask for Delivered {
    const PATH: &'static str = "/v1/delivered";
    type Answer = ();

    async fn carry_out(self, desk: &Desk) -> Result<(), Failure> {
        // Another's call is not delivered by an operator's looking at its answer.
        desk.host().broker().result(&self.id, &desk.operator()).confirmed();
        Ok(())
    }
}

impl Ask for Wait {
    const PATH: &'static str = "/v1/wait";
    type Answer = Answered;

    async fn carry_out(self, desk: &Desk) -> Result<Answered, Failure> {
        let Some(reader) = desk.reader(&self.id)? else { return no_such_invocation() };
        let broker = desk.host().broker();
        let delivery = if desk.is_serving() {
            broker.watch(&self.id, &reader, LONGEST_WAIT).await
        } else {
            // Nobody else carries out what is announced.
            broker.wait(&self.id, &reader).await
        };
        Answered::of(desk, &delivery)
    }
}

impl Ask for Cancel {
    const PATH: &'static str = "/v1/cancel";
    type Answer = Answered;

    async fn carry_out(self, desk: &Desk) -> Result<Answered, Failure> {
        let Some(reader) = desk.reader(&self.id)? else { return no_such_invocation() };
        Answered::of(desk, &desk.host().broker().cancel(&self.id, &reader).await)
    }
}

impl Ask for Follow {
    const PATH: &'static str = "/v1/follow";
    type Answer = Answered;

    async fn carry_out(self, desk: &Desk) -> Result<Answered, Failure> {
        let Some(reader) = desk.reader(&self.id)? else { return no_such_invocation() };
        match desk.host().broker().follow(&self.id, &reader).await {
            Ok(delivery) => Answered::of(desk, &delivery),
            Err(FollowError::NoSuchInvocation) => no_such_invocation(),
            Err(FollowError::VaultLocked) => vault_locked(),
            Err(error @ (FollowError::NoJob | FollowError::UnderWay | FollowError::BindingChanged)) => {
                // Nothing was sent: the answer is the record as it stands.
                Ok(standing(desk, &self.id)?.remark(error.to_string()))
            }
            Err(
                error @ (FollowError::Read(_)
                | FollowError::Journal(_)
                | FollowError::Illegal(_)
                | FollowError::Internal),
            ) => Err(Failure::internal(&error)),
        }
    }
}

impl Ask for Reconcile {
    const PATH: &'static str = "/v1/reconcile";
    type Answer = Answered;

    async fn carry_out(self, desk: &Desk) -> Result<Answered, Failure> {
        match desk.host().broker().reconcile(&self.id).await {
            Ok(delivery) => Ok(beside(Answered::of(desk, &delivery)?, &delivery)),
            Err(ReconcileError::NoSuchInvocation) => no_such_invocation(),
            Err(ReconcileError::VaultLocked) => vault_locked(),
            Err(
                error @ (ReconcileError::NotUnknown(_)
                | ReconcileError::UnderWay
                | ReconcileError::NotDeclared
                | ReconcileError::BindingChanged
                | ReconcileError::RecordMissing
                | ReconcileError::NothingLearnt(_)),
            ) => {
                // Nothing changed: the answer is the record as it stands.
                Ok(standing(desk, &self.id)?.remark(error.to_string()))
            }
            Err(
                error @ (ReconcileError::Read(_)
                | ReconcileError::Journal(_)
                | ReconcileError::Stopping
                | ReconcileError::Internal(_)),
            ) => Err(Failure::internal(&error)),
        }
    }
}

impl Ask for Retry {
    const PATH: &'static str = "/v1/retry";
    type Answer = Answered;

    async fn carry_out(self, desk: &Desk) -> Result<Answered, Failure> {
        match desk.host().broker().retry(&self.id).await {
            Ok(delivery) => Answered::of(desk, &delivery),
            Err(RetryError::NotPermitted(leave)) if is_answered_batch(desk, &self.id)? => {
                retry_children(desk, &self.id, leave).await
            }
            Err(RetryError::NoSuchInvocation) => no_such_invocation(),
            Err(RetryError::VaultLocked) => vault_locked(),
            Err(
                error @ (RetryError::UnderWay
                | RetryError::NotPermitted(_)
                | RetryError::Prepared
                | RetryError::BindingChanged
                | RetryError::RecordMissing),
            ) => {
                // Nothing was sent: the answer is the record as it stands.
                Ok(standing(desk, &self.id)?.remark(error.to_string()))
            }
            Err(
                error @ (RetryError::Read(_)
                | RetryError::Journal(_)
                | RetryError::Stopping
                | RetryError::Internal(_)),
            ) => Err(Failure::internal(&error)),
        }
    }
}

/// The record as it stands, whoever's it is.
pub(super) fn standing(desk: &Desk, id: &RequestId) -> Result<Answered, Failure> {
    let Some(reader) = desk.reader(id)? else { return no_such_invocation() };
    Answered::of(desk, &desk.host().broker().result(id, &reader))
}

pub(super) fn no_such_invocation() -> Result<Answered, Failure> {
    Answered::refusal(Code::NoSuchInvocation, None)
}

pub(super) fn vault_locked() -> Result<Answered, Failure> {
    Answered::refusal(Code::VaultLocked, None)
}

/// Whether it is a batch whose whole is not sent again: then its children are, as far as they may be.
fn is_answered_batch(desk: &Desk, id: &RequestId) -> Result<bool, Failure> {
    let record = desk.host().broker().diagnostic(id)?;
    Ok(record.is_some_and(|record| record.state().is_batch() && record.state().dispatched()))
}

async fn retry_children(desk: &Desk, id: &RequestId, leave: Leave) -> Result<Answered, Failure> {
    match desk.host().broker().retry_children(id).await {
        Ok(delivery) => {
            let said = linked(id, &delivery.envelope);
            Ok(Answered::of(desk, &delivery)?.remark(said))
        }
        Err(RetryBatchError::NoSuchInvocation) => no_such_invocation(),
        Err(RetryBatchError::VaultLocked) => vault_locked(),
        Err(
            error @ (RetryBatchError::NoBatch
            | RetryBatchError::UnderWay
            | RetryBatchError::Nothing
            | RetryBatchError::MadeAnew { .. }
            | RetryBatchError::TooEarly { .. }
            | RetryBatchError::BindingChanged
            | RetryBatchError::RecordMissing),
        ) => {
            // Nothing was sent: the answer is the record as it stands.
            Ok(standing(desk, id)?.remark(format!("the whole is not sent again ({leave}), and {error}")))
        }
        Err(
            error @ (RetryBatchError::Read(_) | RetryBatchError::Journal(_) | RetryBatchError::Internal(_)),
        ) => Err(Failure::internal(&error)),
    }
}

/// What carries the children that were sent again: its answer is about them alone.
fn linked(parent: &RequestId, answer: &Envelope) -> String {
    let children = answer.children();
    let ids: Vec<_> = children.iter().take(MOST_NAMED).map(|child| child.id()).collect();
    let more = if children.len() > ids.len() { ", …" } else { "" };
    let (count, ids) = (children.len(), ids.join(", "));
    let id = answer.request_id().map(|id| id.to_string()).unwrap_or_default();
    match answer.repeated() {
        true => format!(
            "children of {parent} were sent again before, as {id} ({count}: {ids}{more}); nothing was sent now"
        ),
        false => format!(
            "children of {parent} were sent again as {id} ({count}: {ids}{more}); this is the answer to them"
        ),
    }
}

/// What the remote said of something that a person had settled is no part of the answer.
fn beside(mut answered: Answered, delivery: &Delivery) -> Answered {
    for (child, known, said) in delivery.attached_children() {
        let (child, compared) = (child.as_str(), compared(known == said));
        answered = answered.remark(format!(
            "of child {child} the remote's answer says {said}, which {compared} what an operator attested; it is on \
             record as evidence, and the attested outcome stands",
        ));
    }
    let Some(said) = delivery.attached() else { return answered };
    let compared = compared(delivery.envelope.outcome() == Some(said));
    answered.remark(format!(
        "the remote's answer says {said}, which {compared} what an operator attested; it is on record as evidence, and \
         the attested outcome stands",
    ))
}

const fn compared(same: bool) -> &'static str {
    if same { "agrees with" } else { "CONTRADICTS" }
}
