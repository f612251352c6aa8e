//! SSH (RFC 4251 to 4254) through russh: one exec on one connection.

mod auth;
mod cause;
mod connect;
mod credential;
mod drain;
mod exchange;
mod handler;
mod host_certificate;
mod host_keys;
mod known_hosts;
mod marker;
mod open;
mod outgoing;
mod target;
mod wire;

pub use connect::{SshEgress, SshLoaded, SshSetup};
pub use credential::{InvalidSshCredential, SshCredential, SshInjection};
pub use exchange::{SshExchange, SshExchangeOptions, StopFirst};
pub use host_keys::{HostKeys, InvalidHostKeys};
pub use outgoing::{SshOutgoing, SshUnsendable};
pub use target::{JumpHost, SshDeadlines, SshTarget};
