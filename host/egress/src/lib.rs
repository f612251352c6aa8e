//! Egress: opens connections, carries out exactly one exchange and says what was seen of it.
//!
//! This crate knows no journal, no vault and no connector. It never retries an exchange, follows no
//! redirect, reads no proxy from the environment and never reuses a connection behind its caller's
//! back. What it returns is evidence; what the evidence means is decided elsewhere.
//!
//! An exchange takes four steps, so that nothing but input and output can fail in the last one:
//!
//! 1. [`Credential::new`] checks that a secret may stand where it is to be attached and builds the
//!    [`Guard`] that recognises it in whatever comes back;
//! 2. [`Outgoing::prepare`] builds the whole request, credential included;
//! 3. [`HttpEgress::connect`] resolves, checks the address, dials, verifies the peer, and
//!    [`Ready::load`] binds the request to that connection, if both are for the same origin;
//! 4. [`Loaded::exchange`] sends the request and reads the response. The caller makes its intent
//!    durable between 3 and 4.
//!
//! Rooms: [`address`] (which addresses may be dialled), [`trust`] (which certificates are believed),
//! [`guard`] (recognising secrets), [`inject`] (attaching them), [`pins`] (certificates that
//! are expected), [`http`], [`ssh`] (which has steps of its own, and the same rule about the last one).

pub mod address;
mod dial;
mod figures;
pub mod guard;
pub mod http;
pub mod inject;
mod lookup;
pub mod pins;
pub mod ssh;
mod tls_error;
pub mod trust;

pub use self::http::{
    ContentSink, ExchangeDiagnostic, ExchangeOptions, HttpEgress, HttpExchange, HttpTarget, Loaded, Outgoing,
    PoolLimits, Proxy, Ready, Redirect, Setup, Unloadable, Unsendable, Watch, WirePoint,
};
pub use address::AddressPolicy;
pub use dial::{Resolver, SetupDeadlines, SetupFailure};
pub use figures::ConnectionFigures;
pub use guard::{Guard, GuardStream, Scan, Withheld};
pub use inject::{ClientIdentity, Credential, Injection, InvalidInjection};
pub use pins::{PinMismatch, Pins};
pub use trust::Trust;
