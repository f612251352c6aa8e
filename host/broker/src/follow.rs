//! Looking at a job that the remote took on. Each look is a call of its own, linked to the one that submitted
//! the job, which is never made again for it.

use crate::broker::{Broker, CallRequest, Inner, ReadError};
use crate::delivery::Delivery;
use crate::driver::add;
use crate::intent::{Authority, Caller};
use proofport_core::contract::Effect;
use proofport_core::decide::Input;
use proofport_core::id::{OperationName, RequestId};
use proofport_core::inquiry::{Move, announced};
use proofport_core::job::{Look, after_a_look, after_an_asked_look, submitted};
use proofport_core::state::{IllegalEvent, State};
use proofport_journal::JournalError;
use serde_json::json;
use std::sync::Arc;

/// The session of the looks that the host takes by itself.
const OF_THE_HOST: &str = "the host's own";

/// A job can't be looked at. Nothing was sent.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// There is no such invocation, or it is another's.
    #[error("there is no such invocation")]
    NoSuchInvocation,
    /// The vault is locked.
    #[error("the vault is locked; unlock it first")]
    VaultLocked,
    /// It submitted no job.
    #[error("it submitted no job that another operation follows")]
    NoJob,
    /// The connection is gone or is not what the invocation was bound to.
    #[error(
        "the connection is gone or its connector, config, origins or SSH hosts have changed since; restore them to \
         follow the job"
    )]
    BindingChanged,
    /// Somebody is looking at it.
    #[error("its job is being looked at right now; look again in a moment")]
    UnderWay,
    /// The record can't be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The journal can't be written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The host decided what can't happen.
    #[error("the host decided what can't happen: {0}")]
    Illegal(#[from] IllegalEvent),
    /// The task that does it ended without an answer. What is on record holds.
    #[error("the host failed")]
    Internal,
}

impl Broker {
    /// Looks at the job that this call submitted, by the operation that the connector declares for that: a call
    /// of its own, whose answer this is. While the job goes on, the answer is a success that names the job.
    ///
    /// # Errors
    /// When there is no job to look at, or the vault is locked.
    pub async fn follow(&self, id: &RequestId, caller: &Caller) -> Result<Delivery, FollowError> {
        // The broker owns the work: whoever asked may go.
        let task = tokio::spawn(Arc::clone(self.inner()).follow(*id, Some(caller.clone())));
        task.await.unwrap_or(Err(FollowError::Internal))
    }
}

impl Inner {
    /// Looks at a job: for a caller, or by itself as it was announced.
    pub(crate) async fn follow(
        self: Arc<Self>,
        id: RequestId,
        caller: Option<Caller>,
    ) -> Result<Delivery, FollowError> {
        if self.is_locked() {
            return Err(FollowError::VaultLocked);
        }
        let _entered = self.enter_asking().ok_or(FollowError::Internal)?;
        // Its own delivery is on record first, and nobody else's look comes in between.
        let _claim = self.claim(id).ok_or(FollowError::UnderWay)?;
        let state = self.state(&id)?;
        let state = state.filter(|state| {
            caller.as_ref().is_none_or(|caller| state.accepted.principal == caller.principal)
        });
        let state = state.ok_or(FollowError::NoSuchInvocation)?;
        let (job, operation) = submitted(&state).ok_or(FollowError::NoJob)?;
        let by_itself = caller.is_none();
        if by_itself && !matches!(announced(&state), Some(Move::Look { .. })) {
            return Err(FollowError::NoJob);
        }
        // Another module, or another remote, knows nothing of the job.
        let connection = self.bound_connection(&state).ok_or(FollowError::BindingChanged)?;
        let reads = connection.manifest.operation(operation).map(|follower| follower.contract.effect);
        if reads != Some(Effect::Read) {
            return Err(FollowError::BindingChanged);
        }
        let request = CallRequest {
            operation: OperationName {
                connection: state.accepted.operation.connection.clone(),
                operation: operation.clone(),
            },
            input: json!({ "job": job }).to_string().into_bytes(),
            call_key: None,
            caller: caller.unwrap_or_else(|| Caller {
                principal: state.accepted.principal.clone(),
                session: OF_THE_HOST.to_owned(),
                authority: Authority::Operator,
            }),
        };
        let delivery = Arc::clone(&self).carry_out(request, None, Some(id)).await;
        let (Some(look), Some(by)) = (&delivery.state, delivery.envelope.request_id()) else {
            // Nothing was taken on, so that nothing counts.
            return Err(FollowError::Internal);
        };
        let found = Look::of(look);
        if by_itself {
            self.looked(&id, Some(by), found).await?;
        } else {
            let next = after_an_asked_look(&state, by, found);
            self.note(state, next).await?;
        }
        Ok(delivery)
    }

    /// Puts a look of the host's own on the record of the invocation that submitted the job. Whoever calls this
    /// sees to it that nobody else does meanwhile.
    pub(crate) async fn looked(
        &self,
        id: &RequestId,
        by: Option<RequestId>,
        found: Look,
    ) -> Result<(), FollowError> {
        let Some(state) = self.state(id)? else { return Ok(()) };
        let next = after_a_look(&state, by, found, self.now(), self.roll());
        self.note(state, next).await
    }

    async fn note(&self, mut state: State, next: Input) -> Result<(), FollowError> {
        let (now, mut events) = (self.now(), Vec::new());
        add(&mut state, &mut events, next, now)?;
        Ok(self.record(&state, events, now).await?)
    }
}
