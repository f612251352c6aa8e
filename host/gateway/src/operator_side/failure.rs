//! Why an ask was not carried out.

use crate::config::Problem;
use crate::host::HostError;
use crate::session::{SessionError, SessionsError};
use http::StatusCode;
use proofport_broker::ReadError;
use proofport_core::id::Name;
use proofport_core::session::SessionId;
use proofport_journal::JournalError;
use proofport_vault::VaultError;
use serde::{Deserialize, Serialize};

/// An ask was not carried out. For operators: it may name files and connections.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "failure", rename_all = "snake_case")]
pub enum Failure {
    /// No credential, one that is not this process's, or one past its time.
    #[error("this needs the operator's credential, which the passphrase gives")]
    NotProved,
    /// It is not the passphrase.
    #[error("the passphrase is wrong")]
    WrongPassphrase,
    /// Others are being checked, after wrong ones more slowly each time.
    #[error("too many ask at once; wrong passphrases slow everybody down, so try again in a moment")]
    Busy,
    /// The host doesn't know this ask, or reads it otherwise.
    #[error("the running host doesn't understand this: it is of another version than this program")]
    NotUnderstood,
    /// The vault is locked.
    #[error("the vault is locked: `proofport vault unlock` lifts that")]
    VaultLocked,
    /// See [`SessionError::NoSuchSession`].
    #[error("{}", SessionError::NoSuchSession(*session))]
    NoSuchSession {
        /// The session that was meant.
        session: SessionId,
    },
    /// See [`SessionError::Gone`].
    #[error("{}", SessionError::Gone(*session))]
    SessionGone {
        /// The session that was meant.
        session: SessionId,
    },
    /// See [`SessionError::Ended`].
    #[error("{}", SessionError::Ended(*session))]
    SessionEnded {
        /// The session that was meant.
        session: SessionId,
    },
    /// See [`SessionError::AgentHasToken`].
    #[error("{}", SessionError::AgentHasToken { agent: agent.clone(), session: *session })]
    AgentHasToken {
        /// The agent.
        agent: Name,
        /// The session that its token is of.
        session: SessionId,
    },
    /// The module is not the one that was reviewed.
    #[error("the module is not the one that was reviewed: nothing was approved")]
    OtherModule,
    /// `proofport.toml` has mistakes.
    #[error("proofport.toml has mistakes that must be mended first")]
    Config {
        /// Each of them.
        problems: Vec<Problem>,
    },
    /// It can't be done as asked.
    #[error("{said}")]
    Refused {
        /// Why.
        said: String,
    },
    /// The host itself failed.
    #[error("{said}")]
    Internal {
        /// What failed.
        said: String,
    },
}

impl Failure {
    /// A refusal in the words of an error.
    pub(crate) fn refused(error: &dyn std::error::Error) -> Self {
        Self::Refused { said: words(error) }
    }

    /// A failure of the host in the words of an error.
    pub(crate) fn internal(error: &dyn std::error::Error) -> Self {
        Self::Internal { said: words(error) }
    }

    /// The status that it is answered with.
    pub(crate) const fn status(&self) -> StatusCode {
        match self {
            Self::NotProved => StatusCode::UNAUTHORIZED,
            Self::WrongPassphrase => StatusCode::FORBIDDEN,
            Self::Busy => StatusCode::TOO_MANY_REQUESTS,
            Self::NotUnderstood => StatusCode::BAD_REQUEST,
            Self::NoSuchSession { .. } => StatusCode::NOT_FOUND,
            Self::VaultLocked
            | Self::SessionGone { .. }
            | Self::SessionEnded { .. }
            | Self::AgentHasToken { .. }
            | Self::OtherModule
            | Self::Config { .. }
            | Self::Refused { .. } => StatusCode::CONFLICT,
            Self::Internal { .. } => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// An error with those of its causes that it does not name itself.
fn words(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let said = next.to_string();
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        cause = next.source();
    }
    text
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::NoSuchSession(session) => Self::NoSuchSession { session },
            SessionError::Gone(session) => Self::SessionGone { session },
            SessionError::Ended(session) => Self::SessionEnded { session },
            SessionError::AgentHasToken { agent, session } => Self::AgentHasToken { agent, session },
            SessionError::Journal(_) | SessionError::NoRandomness(_) => Self::internal(&error),
        }
    }
}

impl From<SessionsError> for Failure {
    fn from(error: SessionsError) -> Self {
        Self::internal(&error)
    }
}

impl From<VaultError> for Failure {
    fn from(error: VaultError) -> Self {
        if matches!(error, VaultError::Locked) {
            Self::VaultLocked
        } else if matches!(error, VaultError::WrongPassphrase { .. }) {
            Self::WrongPassphrase
        } else {
            Self::refused(&error)
        }
    }
}

impl From<HostError> for Failure {
    fn from(error: HostError) -> Self {
        match error {
            HostError::Vault(error) => error.into(),
            HostError::Config(problems) => Self::Config { problems },
            HostError::Home(_)
            | HostError::AuditIdentity(_)
            | HostError::Journal(_)
            | HostError::Start(_)
            | HostError::Registry(_)
            | HostError::Sandbox(_)
            | HostError::Bind { .. } => Self::refused(&error),
        }
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        Self::refused(&error)
    }
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Self {
        Self::refused(&error)
    }
}
