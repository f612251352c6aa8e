//! Sending children of a batch once more: those that their own records permit, as an invocation of their
//! own that is linked to the first.

use crate::broker::{Broker, CallRequest, Delivery, Inner, ReadError};
use crate::intent::Caller;
use proofport_core::batch::again::{Again, again, continues};
use proofport_core::batch::{ChildId, claims, only};
use proofport_core::canonical::canonical;
use proofport_core::contract::{Outcome, Retry};
use proofport_core::digest::Digest;
use proofport_core::event::Continues;
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
    /// It is being carried out, repeated or reconciled.
    #[error("it is being carried out, repeated or reconciled right now; look again in a moment")]
    UnderWay,
    /// No child's record permits it.
    #[error("none of its children may be sent again; each one's entry says why")]
    Nothing,
    /// The remote asked to wait.
    #[error("the remote asked to wait: none of its children may be sent again yet")]
    TooEarly {
        /// Until then.
        until: UnixMillis,
    },
    /// The connection is gone or is not what the batch was bound to.
    #[error(
        "the connection is gone or its connector, config, origins, SSH hosts or credentials have changed since; \
         restore them first"
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

impl Broker {
    /// Sends those children of a batch once more whose own records permit it now: a new invocation with the
    /// same input but for the other children, linked to this one. Whoever asks again meets the invocation
    /// that carries them already, with `repeated: true`.
    ///
    /// No command offers this: a call that was made anew of the whole batch meanwhile is not seen, a child
    /// that is repeated has the reference of its new call, and neither the machine behind an SSH host nor a
    /// redirect that was followed is looked at. Whoever calls it has to know that none of these matters.
    ///
    /// # Errors
    /// When nothing may be sent. Nothing was, then.
    pub async fn retry_batch(&self, id: &RequestId, caller: &Caller) -> Result<Delivery, RetryBatchError> {
        // The broker owns the work: whoever asked may go.
        let task = tokio::spawn(Arc::clone(self.inner()).retry_batch(*id, caller.clone()));
        task.await.unwrap_or_else(|_| Err(RetryBatchError::Internal("it panicked".to_owned())))
    }
}

/// Where the invocations are looked for that carry children of this batch.
fn link(parent: &RequestId) -> Digest {
    Digest::of_parts("proofport.continues/1", &[parent.as_bytes()])
}

impl Inner {
    async fn retry_batch(
        self: Arc<Self>,
        id: RequestId,
        caller: Caller,
    ) -> Result<Delivery, RetryBatchError> {
        if self.is_locked() {
            return Err(RetryBatchError::VaultLocked);
        }
        if self.is_entered(&id) {
            return Err(RetryBatchError::UnderWay);
        }
        // Until the linked invocation is over: nobody divides a batch twice at a time.
        let _claim = self.claim(id).ok_or(RetryBatchError::UnderWay)?;
        let state = self.state(&id)?.filter(|state| state.accepted.principal == caller.principal);
        let state = state.ok_or(RetryBatchError::NoSuchInvocation)?;
        if !state.is_batch() {
            return Err(RetryBatchError::NoBatch);
        }
        if state.active().is_some() || state.retry_at.is_some() {
            return Err(RetryBatchError::UnderWay);
        }
        let linked = self.linked(&id)?;
        let carried = carried_on(&linked);
        let permitted = again(&state, self.now());
        let bound = state.binding.as_ref().map_or(&[][..], |binding| &binding.children);
        let is_free = |index: &u32| {
            let position = usize::try_from(*index).unwrap_or(usize::MAX);
            bound.get(position).is_some_and(|id| !carried.contains(id))
        };
        let children: Vec<u32> = permitted.children.iter().copied().filter(is_free).collect();
        if children.is_empty() {
            // All that could be sent is on its way under another id.
            return match linked.into_iter().max_by_key(|linked| linked.accepted.at) {
                Some(newest) if permitted.not_before.is_none() => Ok(self.answer(&newest, true)),
                Some(_) | None => Err(nothing(&permitted)),
            };
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

    /// The invocations that carry children of this batch.
    fn linked(&self, parent: &RequestId) -> Result<Vec<State>, RetryBatchError> {
        let mut linked = Vec::new();
        for id in self.journal.intents(&link(parent))? {
            linked.extend(self.state(&id)?);
        }
        Ok(linked)
    }

    /// Another connector, target or account knows nothing of what is sent again.
    fn check_binding(&self, state: &State, continues: &Continues) -> Result<(), RetryBatchError> {
        let connection = self.bound_connection(state).ok_or(RetryBatchError::BindingChanged)?;
        let Some(used) = &continues.credential else { return Ok(()) };
        let same = match (&used.secret, used.mode) {
            (Some(secret), Some(mode)) => connection
                .credentials
                .values()
                .any(|bound| bound.secret == *secret && bound.place.mode() == mode),
            (Some(_), None) => false,
            (None, _) => true,
        };
        if same { Ok(()) } else { Err(RetryBatchError::BindingChanged) }
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

fn nothing(permitted: &Again) -> RetryBatchError {
    match permitted.not_before {
        Some(until) => RetryBatchError::TooEarly { until },
        None => RetryBatchError::Nothing,
    }
}

/// The children that another invocation took over. Its own record says what may become of them, and so one
/// child is never sent again from two. One that was refused there for good may be sent anew from here.
fn carried_on(linked: &[State]) -> BTreeSet<ChildId> {
    let mut carried = BTreeSet::new();
    for state in linked {
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
