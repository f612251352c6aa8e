//! Looking at a job that the remote took on. Each look is a call of its own, linked to the one that submitted
//! the job, which is never made again for it.

use crate::broker::{Broker, CallRequest, Delivery, Inner, ReadError};
use crate::driver::add;
use crate::intent::Caller;
use proofport_core::decide::Input;
use proofport_core::id::{OperationName, RequestId};
use proofport_core::job::{Look, after_a_look, submitted};
use proofport_core::state::{IllegalEvent, State};
use proofport_journal::JournalError;
use serde_json::json;
use std::sync::Arc;

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
        let task = tokio::spawn(Arc::clone(self.inner()).follow(*id, caller.clone()));
        task.await.unwrap_or(Err(FollowError::Internal))
    }
}

impl Inner {
    pub(crate) async fn follow(
        self: Arc<Self>,
        id: RequestId,
        caller: Caller,
    ) -> Result<Delivery, FollowError> {
        if self.is_locked() {
            return Err(FollowError::VaultLocked);
        }
        // Its own delivery is on record first, and nobody else's look comes in between.
        let _claim = self.claim(id).ok_or(FollowError::UnderWay)?;
        let state = self.state(&id)?.filter(|state| state.accepted.principal == caller.principal);
        let state = state.ok_or(FollowError::NoSuchInvocation)?;
        let (job, operation) = submitted(&state).ok_or(FollowError::NoJob)?;
        let request = CallRequest {
            operation: OperationName {
                connection: state.accepted.operation.connection.clone(),
                operation: operation.clone(),
            },
            input: json!({ "job": job }).to_string().into_bytes(),
            call_key: None,
            caller,
        };
        let delivery = Arc::clone(&self).carry_out(request, None, Some(id)).await;
        let found = delivery.record().map_or(Look::Failed, Look::of);
        self.looked(&id, delivery.envelope.request_id(), found).await?;
        Ok(delivery)
    }

    /// Puts a look on the record of the invocation that submitted the job.
    async fn looked(&self, id: &RequestId, by: Option<RequestId>, found: Look) -> Result<(), FollowError> {
        let Some(mut state) = self.state(id)? else { return Ok(()) };
        let (now, mut events) = (self.now(), Vec::new());
        let next: Input = after_a_look(&state, by, found, now, self.roll());
        add(&mut state, &mut events, next, now)?;
        Ok(self.record(&state, events, now).await?)
    }
}

impl Delivery {
    /// The record that the answer was made of; none where nothing was taken on.
    pub(crate) fn record(&self) -> Option<&State> {
        self.state.as_deref()
    }
}
