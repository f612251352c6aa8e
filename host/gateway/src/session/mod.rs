//! Who an agent is, and whether it may call.
//!
//! An agent is a process that reached the host's own socket, or whoever shows a token. Neither may call
//! before an operator said so once; what was said is in the journal, and a restart finds it there. Of a
//! process the executable is looked at again at every use, since a process can become another program.
//!
//! What this cannot tell apart: two programs of one user that trust each other. A process of the same user
//! can trace another, preload code into it or hand it a connected socket. Whoever needs more gives the host
//! a user of its own.

mod error;
mod executable;
mod interpreters;
mod peer;
mod policy;
mod proc;
mod sessions;
mod token;

pub use error::{SessionError, SessionsError};
pub use peer::Peer;
pub use sessions::{SessionView, Sessions};
pub use token::Token;

pub(crate) use policy::{Refusal, refusals};
pub(crate) use token::random_text;

use proofport_broker::Caller;

/// Whether an agent may call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It may, as this caller.
    Admitted(Caller),
    /// An operator has to decide. Nothing is taken on, and the answer is `APPROVAL_PENDING`.
    Waiting,
    /// It never may again. The answer is `USER_DENIED`.
    Ended,
}
