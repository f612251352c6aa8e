//! HTTP/1.1 and HTTP/2 (RFC 9110, RFC 9112, RFC 9113) through hyper's low-level client, and a pool of
//! our own.

mod cause;
mod connect;
mod content;
mod exchange;
mod frames;
mod framing;
mod http2;
mod open;
mod outgoing;
mod pool;
mod proxy_status;
mod redirect;
mod replay;
mod response;
mod retry_after;
mod store;
mod target;
mod tls;
mod transport;
mod tunnel;
mod wire;

pub use connect::{HttpEgress, Loaded, Ready, Setup, Unloadable};
pub use exchange::ExchangeOptions;
pub use outgoing::{Outgoing, Unsendable};
pub use redirect::Redirect;
pub use response::{ExchangeDiagnostic, HttpExchange};
pub use store::ContentSink;
pub(crate) use store::Storing;
pub use target::{HttpTarget, PoolLimits, Proxy};
pub use wire::{Watch, WirePoint};
