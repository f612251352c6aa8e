//! HTTP/1.1 (RFC 9110, RFC 9112) through hyper's low-level client.

mod cause;
mod connect;
mod exchange;
mod framing;
mod outgoing;
mod response;
mod retry_after;
mod tls;
mod transport;
mod wire;

pub use connect::{HttpEgress, HttpTarget, Loaded, Ready, Setup, WrongOrigin};
pub use exchange::ExchangeOptions;
pub use outgoing::{Outgoing, Unsendable};
pub use response::{ExchangeDiagnostic, HttpExchange};
pub use wire::{Watch, WirePoint};
