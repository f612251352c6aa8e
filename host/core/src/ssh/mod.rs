//! SSH: whom a command is for, how it is spelled, what was seen of it and what that proves.

mod evidence;
mod host;
mod judge;
mod quote;
mod row;

pub use evidence::{SshEvidence, StreamSeen};
pub use host::{InvalidSshHost, SshHost};
pub use judge::ceiling;
pub(crate) use judge::judge;
pub use quote::{CommandLine, Environment, LONGEST_COMMAND, Unspeakable};
pub use row::SshRow;
