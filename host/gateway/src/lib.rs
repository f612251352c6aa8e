//! The host's two sides, agents and operators, and what they stand on: the home directory, the
//! connections declared in it, the approved connectors, and the checks that meet them.

pub mod agent;
pub mod audit;
pub mod bind;
pub mod check;
pub mod config;
mod content;
pub mod home;
pub mod host;
pub mod mcp;
pub mod metrics;
mod notify;
pub mod operator;
pub mod operator_side;
pub mod registry;
pub mod review;
pub mod serve;
pub mod session;
pub mod telemetry;
mod unknown;

// What is handed in and given back, from the crates below: the program depends on this crate alone.
pub use notify::notify;
pub use proofport_broker::{
    AttestError, Authority, CallRequest, Caller, Card, Clock, DecideError, Delivery, FollowError, Reach,
    ReadError, ReconcileError, RetryBatchError, RetryError, SystemClock,
};
pub use proofport_journal::{
    AuditEntry, Content, Expected, Export, Exported, Finding, Head, Held, JournalError, NotOpened, PublicKey,
    Recorded, RemoveError, Removed, Report, Then, Unreadable, Verifier, open_export,
};
pub use proofport_vault::{Destination, KdfParams, SecretInfo, Uses, Vault, VaultError};

#[cfg(test)]
mod testing;
