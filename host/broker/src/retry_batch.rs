//! Sending children of a batch once more: those that their own records permit, as an invocation of their
//! own that is linked to the first.

use crate::broker::{Broker, CallRequest, Inner, ReadError};
use crate::delivery::Delivery;
use crate::intent::{Authority, Caller};
use crate::links::link;
use crate::refuse;
use crate::run::Run;
use proofport_core::batch::again::{Again, again, continues};
use proofport_core::batch::{ChildId, claims, only};
use proofport_core::canonical::canonical;
use proofport_core::code::Code;
use proofport_core::contract::{Outcome, Retry};
use proofport_core::decide::Input;
use proofport_core::digest::Digest;
use proofport_core::event::{Continues, StopDetail};
use proofport_core::evidence::{Cause, PeerIdentity};
use proofport_core::id::RequestId;
use proofport_core::state::State;
use proofport_core::time::UnixMillis;
use proofport_journal::{BodyKind, JournalError};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Children of a batch can't be sent again. Nothing was sent.
#[derive(Debug, thiserror::Error)]
pub enum RetryBatchError {
    /// There is no such invocation, or it is another's.
    #[error("there is no such invocation")]
    NoSuchInvocation,
    /// The vault is locked.
    #[error("the vault is locked; unlock it first")]
    VaultLocked,
    /// It carries no children.
    #[error("it is no batch")]
    NoBatch,
    /// It, or a call with the same input, is being carried out, repeated or reconciled.
    #[error("it is being carried out, repeated or reconciled right now; look again in a moment")]
    UnderWay,
    /// No child's record permits it.
    #[error("none of its children may be sent again; each one's entry says why")]
    Nothing,
    /// The same call was made anew, and may have carried the children out.
    #[error("the same call was made anew since, and may have carried its children out; go on from {by}")]
    MadeAnew {
        /// What carries them.
        by: RequestId,
    },
    /// The remote asked to wait.
    #[error("the remote asked to wait: none of its children may be sent again yet")]
    TooEarly {
        /// Until then.
        until: UnixMillis,
    },
    /// The connection is gone or is not what the batch was bound to.
    #[error(
        "the connection is gone or its connector, contract, config, origins, SSH hosts, proxy or credentials \
         have changed since; restore them first"
    )]
    BindingChanged,
    /// What it was called with is not in the journal.
    #[error("the record of what was sent is missing")]
    RecordMissing,
    /// The record can't be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The journal can't be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The host failed.
    #[error("the host failed: {0}")]
    Internal(String),
}

/// Who asks.
enum Asker {
    Caller(Caller),
    Operator,
}

impl Broker {
    /// Sends those children of a batch once more whose own records permit it now: a new invocation with the
    /// same input but for the other children, linked to this one. Whoever asks again meets the invocation
    /// that carries them already, with `repeated: true`.
    ///
    /// # Errors
    /// When nothing may be sent. Nothing was, then.
    pub async fn retry_batch(&self, id: &RequestId, caller: &Caller) -> Result<Delivery, RetryBatchError> {
        self.divide(id, Asker::Caller(caller.clone())).await
    }

    /// The same by an operator's word, of whosever invocation. The new one is of the same principal.
    ///
    /// # Errors
    /// When nothing may be sent. Nothing was, then.
    pub async fn retry_children(&self, id: &RequestId) -> Result<Delivery, RetryBatchError> {
        self.divide(id, Asker::Operator).await
    }

    async fn divide(&self, id: &RequestId, asker: Asker) -> Result<Delivery, RetryBatchError> {
        // The broker owns the work: whoever asked may go.
        let task = tokio::spawn(Arc::clone(self.inner()).retry_batch(*id, asker));
        task.await.unwrap_or_else(|_| Err(RetryBatchError::Internal("it panicked".to_owned())))
    }
}

impl Inner {
    async fn retry_batch(self: Arc<Self>, id: RequestId, asker: Asker) -> Result<Delivery, RetryBatchError> {
        if self.is_locked() {
            return Err(RetryBatchError::VaultLocked);
        }
        if self.is_entered(&id) {
            return Err(RetryBatchError::UnderWay);
        }
        // Until the linked invocation is over: nobody divides a batch twice at a time.
        let _claim = self.claim(id).ok_or(RetryBatchError::UnderWay)?;
        let state = self.state(&id)?.ok_or(RetryBatchError::NoSuchInvocation)?;
        let caller = match asker {
            Asker::Caller(caller) if caller.principal == state.accepted.principal => caller,
            Asker::Caller(_) => return Err(RetryBatchError::NoSuchInvocation),
            Asker::Operator => {
                let (principal, session) = (state.accepted.principal.clone(), "operator".to_owned());
                Caller { principal, session, authority: Authority::Operator }
            }
        };
        if !state.is_batch() {
            return Err(RetryBatchError::NoBatch);
        }
        if state.active().is_some() || state.retry_at.is_some() {
            return Err(RetryBatchError::UnderWay);
        }
        // From here on no call with the same input begins, of this batch or of one that it goes on from.
        let ancestry = self.ancestry(&state)?;
        let mut families = Vec::with_capacity(ancestry.len());
        for state in &ancestry {
            families.push(self.family(state)?.ok_or(RetryBatchError::RecordMissing)?);
        }
        let _dividing = self.divide(&families).ok_or(RetryBatchError::UnderWay)?;
        let carried = carried_on(&self.descendants(&id)?);
        let permitted = again(&state, self.now());
        let bound = state.binding.as_ref().map_or(&[][..], |binding| &binding.children);
        let is_free = |index: &u32| {
            let position = usize::try_from(*index).unwrap_or(usize::MAX);
            bound.get(position).is_some_and(|id| !carried.contains(id))
        };
        let children: Vec<u32> = permitted.children.iter().copied().filter(is_free).collect();
        if children.is_empty() {
            // All that could be sent is on its way under another id.
            return match self.linked(&id)?.last() {
                Some(newest) if permitted.not_before.is_none() => Ok(self.answer(newest, true)),
                Some(_) | None => Err(nothing(&permitted)),
            };
        }
        if let Some(by) = self.made_anew(&ancestry)? {
            return Err(RetryBatchError::MadeAnew { by });
        }
        let continues = continues(&state, &children, &permitted.unknown);
        self.check_binding(&state, &continues)?;
        let (input, whole) = self.input_of(&state, &children)?;
        let request = CallRequest {
            operation: state.accepted.operation.clone(),
            // Where all are sent, the input is the first one's, which would be met without a key.
            call_key: whole.then(|| format!("again {id}")),
            input,
            caller,
        };
        Ok(self.carry_out(request, Some((continues, link(&id))), None).await)
    }

    /// Another connector, contract, target or account knows nothing of what is sent again. What was refused
    /// may go another way than before: nothing of it is anywhere.
    fn check_binding(&self, state: &State, continues: &Continues) -> Result<(), RetryBatchError> {
        let changed = RetryBatchError::BindingChanged;
        let Some((binding, connection)) = state.binding.as_ref().zip(self.bound_connection(state)) else {
            return Err(changed);
        };
        // The admin may have taken the contract away since.
        let granted = connection.manifest.operation(&state.accepted.operation.operation);
        if granted.map(|operation| connection.contract(operation)).as_ref() != Some(&binding.contract) {
            return Err(changed);
        }
        let same_way = binding.ways == Some(connection.ways())
            && binding.redirect_origins == connection.redirect_origins;
        if continues.unknown.is_empty() || same_way { Ok(()) } else { Err(changed) }
    }

    /// The batch's input with only these children, and whether they are all.
    fn input_of(&self, state: &State, children: &[u32]) -> Result<(Vec<u8>, bool), RetryBatchError> {
        let missing = || RetryBatchError::RecordMissing;
        let batch = state.binding.as_ref().and_then(|binding| binding.contract.batch.as_ref());
        let input = self.journal.body(&state.accepted.request_id, BodyKind::Input)?.ok_or_else(missing)?;
        let value: Value = serde_json::from_slice(&input).map_err(|_| missing())?;
        let kept = only(batch.ok_or_else(missing)?, value, children).ok_or_else(missing)?;
        let kept = canonical(&kept).into_bytes();
        let whole = Digest::of_bytes(&kept) == state.accepted.input;
        Ok((kept, whole))
    }
}

impl Run {
    /// The last look before something unknown is sent again as a first attempt here: asking a person may have
    /// taken longer than the remote remembers, and over SSH only the machine that had it may have it again.
    pub(crate) fn refuse_taken_over(&self, peer: &PeerIdentity) -> Option<Input> {
        let continues = self.taken_over()?;
        if continues.key.as_ref().is_some_and(|key| key.expires <= self.inner.now()) {
            return Some(refuse::refused(Code::IdempotencyMismatch, StopDetail::None));
        }
        let other = continues.peer.as_ref().is_some_and(|known| known != peer);
        let cause = Cause::HostKeyUnknown;
        other.then(|| refuse::refused(Code::PeerUnverified, StopDetail::Setup { cause }))
    }
}

fn nothing(permitted: &Again) -> RetryBatchError {
    match permitted.not_before {
        Some(until) => RetryBatchError::TooEarly { until },
        None => RetryBatchError::Nothing,
    }
}

/// The children that another invocation took over. Its own record says what may become of them, and so one
/// child is never sent again from two. One that was refused for good wherever it was sent may be sent anew.
fn carried_on(descendants: &[State]) -> BTreeSet<ChildId> {
    let mut carried = BTreeSet::new();
    // What was stopped before its dispatch carries nothing.
    for state in descendants.iter().filter(|state| state.stopped.is_none()) {
        // While its own outcome is open, it may be repeated whole.
        let open = state.settled.is_none();
        for claim in claims(state, UnixMillis::default()) {
            let refused = claim.outcome == Outcome::Rejected && claim.retry != Retry::Backoff;
            if open || !refused {
                carried.insert(claim.id);
            }
        }
    }
    carried
}
