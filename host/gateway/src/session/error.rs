//! What an operator is told when a session can't be decided as asked.

use super::token::NoRandomness;
use proofport_core::id::Name;
use proofport_core::session::SessionId;
use proofport_journal::JournalError;
use std::io;

/// A session was not decided as asked. Nothing changed.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// No session has this id, or its process ended long ago.
    #[error("there is no session {0} here: `proofport session list` shows those that are there")]
    NoSuchSession(SessionId),
    /// Its process is not there any more, or runs another program.
    #[error("the process of {0} has ended or runs another program by now")]
    Gone(SessionId),
    /// It was ended before, and that is for good.
    #[error("{0} was ended, and that can't be taken back; a new process or token makes a new session")]
    Ended(SessionId),
    /// Each agent has one token at a time.
    #[error("the agent `{agent}` has a token already: end {session} first, or choose another name")]
    AgentHasToken {
        /// The agent.
        agent: Name,
        /// The session that the token is of.
        session: SessionId,
    },
    /// The record can't be written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// No token could be made.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
}

/// Sessions can't be looked after.
#[derive(Debug, thiserror::Error)]
pub enum SessionsError {
    /// The decisions can't be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The kernel says nothing of processes.
    #[error("`/proc` can't be read, so that no process can be told from another: {0}")]
    Proc(#[source] io::Error),
}
