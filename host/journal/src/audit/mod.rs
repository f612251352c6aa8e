//! The audit log: a chain of blocks beside the records, one a transaction, that can be verified without any
//! secret and read only by the operator.
//!
//! - The clear header of a block says which kinds of events of which invocation (by an opaque tag) happened in
//!   which order. Its body holds the events, sealed under a key that lives in this process's memory and in a
//!   wrapping to the operator's recipient: the host can't read back what it wrote.
//! - Blocks are chained by SHA-256 over header and ciphertext, and signed in checkpoints.
//! - The log's end is authenticated together with the last record, in the same transaction.
//!
//! The bytes are listed in `docs/audit.md`. What verifies them is pure (`verify.rs`).

mod bytes;
mod chain;
mod dispatches;
mod export;
pub(crate) mod form;
mod keys;
mod kinds;
pub(crate) mod note;
mod open;
mod remove;
mod report;
mod state;
mod verify;

pub use chain::AuditOptions;
pub(crate) use chain::{Between, Chain, Entry, Pending};
pub use export::{Export, ExportError, Exported, Part, Then};
pub(crate) use export::{state, verify};
pub(crate) use form::hash;
pub use form::{LogId, Tag};
pub use keys::AuditKeys;
pub(crate) use keys::{Signers, tag};
pub(crate) use kinds::number;
pub use note::{InvalidKey, PublicKey};
pub use open::{AuditEntry, NotOpened, open_export};
pub(crate) use remove::Removal;
pub use remove::{Held, RemoveError, Removed};
pub use report::{Finding, Head, InvalidHead, OpenDispatch, Report, Signing, Unreadable, Wrong};
pub(crate) use state::State;
pub(crate) use verify::list;
pub use verify::{Expected, Verifier};
