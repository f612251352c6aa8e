//! Commands over SSH.
//!
//! A command is an argument vector. The host quotes it for the remote's shell, so that an argument
//! arrives as it is, whatever it holds. Where a shell is wanted, it is a [`Script`]: a fixed text in
//! the connector, and everything that varies is one of its positional parameters. No text is ever
//! assembled into a command, so this crate has no function that quotes; a raw command
//! ([`SshRequest::raw`](crate::SshRequest::raw)) is a fixed text too.
//!
//! [`run_once`] is such a script: it runs a command at most once under the call's reference and
//! answers later what became of it.

mod request;
mod response;
pub mod run_once;
mod script;

pub use script::Script;
