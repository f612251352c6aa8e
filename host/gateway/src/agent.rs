//! What an agent can do, whatever protocol it speaks. Every door for agents, HTTP and MCP, stands on this
//! and on nothing else of the host, so that no door says more than another.

use crate::host::Host;
use proofport_broker::{CallRequest, Caller, Delivery, Line, RetryError};
use proofport_core::code::Code;
use proofport_core::content::ContentFacts;
use proofport_core::id::{OperationName, RequestId};
use proofport_core::manifest::Operation;
use proofport_core::time::UnixMillis;
use proofport_journal::Content;
use std::sync::Arc;
use std::time::Duration;

/// One admitted agent: its session, and what it may ask of the host. Cheap to clone.
#[derive(Clone)]
pub struct Agent {
    host: Arc<Host>,
    caller: Caller,
}

/// An operation that an agent may call.
#[derive(Clone, Debug, PartialEq)]
pub struct Offered {
    /// Its full name.
    pub name: OperationName,
    /// What it is, as its connector declared it and an admin approved it. The contract in it is the
    /// connection's: an admin may have taken a promise away.
    pub operation: Operation,
}

impl Agent {
    /// An agent of this session. Whoever makes one has seen to it that the session is admitted.
    #[must_use]
    pub const fn new(host: Arc<Host>, caller: Caller) -> Self {
        Self { host, caller }
    }

    /// Who it is.
    #[must_use]
    pub const fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The answer where nothing is taken on.
    #[must_use]
    pub fn refuse(&self, code: Code) -> Delivery {
        self.host.broker().refuse(code, None)
    }

    /// What may be called, by name.
    ///
    /// # Errors
    /// While the vault is locked, nothing is said about what exists: the answer is the refusal.
    pub fn operations(&self) -> Result<Vec<Offered>, Box<Delivery>> {
        if self.host.broker().is_locked() {
            return Err(Box::new(self.host.broker().refuse(Code::VaultLocked, None)));
        }
        let mut offered: Vec<Offered> = self
            .host
            .broker()
            .connections()
            .filter(|connection| !self.host.broker().is_revoked(&connection.connector.digest()))
            .flat_map(|connection| {
                connection.manifest.operations.iter().map(|operation| Offered {
                    name: OperationName {
                        connection: connection.name.clone(),
                        operation: operation.name.clone(),
                    },
                    operation: Operation { contract: connection.contract(operation), ..operation.clone() },
                })
            })
            .collect();
        offered.sort_by_key(|offered| offered.name.to_string());
        Ok(offered)
    }

    /// The operation with this name; none where there is none, or while the vault is locked.
    #[must_use]
    pub fn operation(&self, name: &OperationName) -> Option<Offered> {
        if self.host.broker().is_locked() {
            return None;
        }
        let mut connections = self.host.broker().connections();
        let connection = connections.find(|connection| connection.name == name.connection)?;
        let operation = connection.manifest.operation(&name.operation)?;
        let contract = connection.contract(operation);
        Some(Offered { name: name.clone(), operation: Operation { contract, ..operation.clone() } })
    }

    /// Carries out a call, or answers with the first call of the same intent. The work goes on when the
    /// returned future is dropped.
    pub async fn call(&self, operation: OperationName, input: Vec<u8>, call_key: Option<String>) -> Delivery {
        self.call_on(operation, input, call_key, None).await
    }

    /// The same, with a line to the call while there is no answer.
    pub async fn call_on(
        &self,
        operation: OperationName,
        input: Vec<u8>,
        call_key: Option<String>,
        line: Option<Line>,
    ) -> Delivery {
        let caller = self.caller.clone();
        self.host.broker().call_on(CallRequest { operation, input, call_key, caller }, line).await
    }

    /// When a call of the agent's own was taken on, and when something was last put on its record.
    #[must_use]
    pub fn times(&self, id: &RequestId) -> Option<(UnixMillis, UnixMillis)> {
        self.result(id).envelope.request_id()?;
        let events = self.host.broker().timeline(id).ok()?;
        Some((events.first()?.at, events.last()?.at))
    }

    /// The newest answer of a call; nothing is sent.
    #[must_use]
    pub fn result(&self, id: &RequestId) -> Delivery {
        self.host.broker().result(id, &self.caller)
    }

    /// The answer of a call once its move is nobody's or somebody else's than the host's or a person's who
    /// was asked, and at the latest after `most`: then as it stands.
    pub async fn wait(&self, id: &RequestId, most: Duration) -> Delivery {
        self.host.broker().watch(id, &self.caller, most).await
    }

    /// Asks the remote what became of an unknown call; sends no effect. Where nothing can be asked, the
    /// answer is the record as it stands.
    pub async fn reconcile(&self, id: &RequestId) -> Delivery {
        let standing = self.result(id);
        // Another's, or one that can't be read.
        if standing.envelope.request_id().is_none() {
            return standing;
        }
        match self.host.broker().reconcile(id).await {
            Ok(delivery) => delivery,
            Err(error) => {
                // Also under a locked vault: what stands on record is no refusal, and may be an unknown.
                tracing::debug!(%id, %error, "nothing was asked");
                self.result(id)
            }
        }
    }

    /// Sends an unknown effect once more where its contract makes a second arrival harmless, within a budget;
    /// of a batch that was answered, those children whose own entries permit it, as a call of its own. Where
    /// nothing may be sent, the answer is the record as it stands.
    pub async fn retry(&self, id: &RequestId) -> Delivery {
        let standing = self.result(id);
        if standing.envelope.request_id().is_none() {
            return standing;
        }
        let broker = self.host.broker();
        let error = match broker.retry_by(id, &self.caller).await {
            Ok(delivery) => return delivery,
            // Of a batch that was answered, those children go out whose own entries permit it.
            Err(RetryError::NotPermitted(_)) => match broker.retry_batch(id, &self.caller).await {
                Ok(delivery) => return delivery,
                Err(error) => error.to_string(),
            },
            Err(error) => error.to_string(),
        };
        tracing::debug!(%id, %error, "nothing was sent again");
        self.result(id)
    }

    /// Loses interest in a call: nothing of its effect leaves if it has not left yet.
    pub async fn cancel(&self, id: &RequestId) -> Delivery {
        self.host.broker().cancel(id, &self.caller).await
    }

    /// The stored content that belongs to this answer of a call of the agent's own; none where there is
    /// none any more.
    #[must_use]
    pub fn content(&self, id: &RequestId) -> Option<(ContentFacts, Content)> {
        let facts = *self.result(id).envelope.content()?;
        match self.host.content(id, &facts) {
            Ok(content) => content.map(|content| (facts, content)),
            Err(error) => {
                tracing::error!(%id, %error, "a stored content can't be read");
                None
            }
        }
    }
}
