//! The journal: an append-only, authenticated sequence of events, and the bodies that belong to them.
//!
//! - What was acknowledged is on disk: one writer thread puts whatever is waiting into one redb
//!   transaction, two-phase and with quick repair, and acknowledges after the commit returned.
//! - Nothing goes on after a failed commit: [`FatalHook`] ends the process, the next start first
//!   rewrites the journal to a new file, and nobody who was waiting is ever acknowledged.
//! - Each record is authenticated over its bytes and its predecessor's code under a key of the vault;
//!   reading a changed one is [`JournalError::Tampered`], and [`Journal::verify`] sees a removed or
//!   moved one. What no file can prove is that it is its own newest version.
//! - What a record says is encrypted under that key, too. The file shows ids, times and sizes, which invocations
//!   are open or unsettled, and kinds of events in the audit log; of records from before the fifth version, all.
//! - Bodies are encrypted under a key of the process, which is wrapped once to the vault's recipient:
//!   a locked host can store and not read.
//! - A result too large for a record is a content: numbered chunks in files beside the journal, sealed
//!   like bodies, and a marker that is written last. Without it there is no content.
//! - Storing a content may meet a full disk without harm. For commits, space is kept in reserve, and
//!   [`Journal::room`] says whether new work may begin.
//! - Every commit also adds a block to the audit log (`journal/src/audit/`), which others can verify and only
//!   the operator can read. [`Verifier`] needs nothing but an exported file.
//!
//! Quick repair is paid for with every commit, since the state of the allocator is written with it: in a
//! journal of 1,000,000 invocations (6.4 GB; 0.5 kB of bodies and 2.6 kB of events each), on two cores, a commit of
//! one call's half writes 860 kB instead of 80 and takes 0.4 ms instead of 0.13 without its syncs. After a
//! kill such a journal opens in under 0.03 s with nothing of it in memory; without quick repair that takes
//! 30 to 70 s, because every page is read. Commits are shared, and a host that is back after a minute is no
//! use, so quick repair is on. `make bench` measures the recovery, a commit in such a journal, and the bytes
//! of an invocation.

mod audit;
mod batch;
mod disk;
mod error;
mod fatal;
mod figures;
mod files;
mod group;
mod journal;
mod keys;
mod read;
mod record;
mod results;
mod room;
mod seal;
mod tables;
#[cfg(test)]
mod tests;
mod upgrade;
mod verify;
mod writer;

pub use audit::{
    AuditEntry, AuditKeys, AuditOptions, Expected, Export, ExportError, Exported, Finding, Head, Held,
    InvalidHead, InvalidKey, LogId, NotOpened, OpenDispatch, Part, PublicKey, RemoveError, Removed, Report,
    Signing, Tag, Then, Unreadable, Verifier, Wrong, open_export,
};
pub use batch::{Batch, Body, BodyKind, Committed, Recorded};
pub use disk::{Disk, Found};
pub use error::{Damage, JournalError};
pub use fatal::{EXIT_STATUS, FatalHook};
pub use figures::{COMMIT_MICROS, CommitFigures, GROUP_SIZES};
pub use journal::{Journal, Options, Stats};
pub use keys::JournalKeys;
pub use redb::StorageBackend;
pub use redb::backends::FileBackend;
pub use results::{CHUNK_BYTES, Content, ContentFacts, ContentWriter, Keep, Resume, Swept};
pub use room::Room;
pub use verify::Verified;
