//! An exec with everything that it needs, built before any connection.

use super::credential::SshCredential;
use bytes::Bytes;
use proofport_core::exchange::SshRequest;
use proofport_core::ssh::{CommandLine, Environment, Unspeakable};
use std::sync::Arc;

/// An exec that is ready to go out: quoted, checked, and with what logs in.
pub struct SshOutgoing {
    pub(super) command: CommandLine,
    pub(super) environment: Environment,
    pub(super) stdin: Bytes,
    pub(super) credential: Arc<SshCredential>,
}

impl SshOutgoing {
    /// Builds the exec. Which host it is for, the caller has resolved: the request's own word for it is
    /// not read here.
    ///
    /// # Errors
    /// When the command or its environment can't be spelled.
    pub fn prepare(request: &SshRequest, credential: Arc<SshCredential>) -> Result<Self, SshUnsendable> {
        Ok(Self {
            command: CommandLine::new(&request.command)?,
            environment: Environment::of(request)?,
            stdin: Bytes::from(request.stdin.clone().unwrap_or_default()),
            credential,
        })
    }
}

/// An exec can't go out as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SshUnsendable {
    /// It can't be spelled.
    #[error(transparent)]
    Unspeakable(#[from] Unspeakable),
}
