use crate::disk;
use std::fmt;
use std::path::{Path, PathBuf};

/// Why the journal can't do what was asked. No variant holds a body's bytes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// Another process, or another handle of this one, has it.
    #[error("the journal {} is in use: another Proofport host runs on this home; stop it first", path.display())]
    AlreadyOpen {
        /// The file.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("{} is not a Proofport journal: check the home directory", path.display())]
    NotAJournal {
        /// The file.
        path: PathBuf,
    },
    /// Written by a newer program.
    #[error("the journal {} has format version {found}, this program reads up to {}: upgrade the program", path.display(), crate::tables::FORMAT)]
    UnsupportedVersion {
        /// The file.
        path: PathBuf,
        /// The version that it declares.
        found: u64,
    },
    /// Its events are authenticated under another vault's key.
    #[error("the journal {} belongs to another vault: check the home directory", path.display())]
    OtherVault {
        /// The file.
        path: PathBuf,
    },
    /// The storage below is damaged.
    #[error("the journal {} is damaged ({what}): restore it from a backup", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What was found.
        what: String,
    },
    /// A record or something that hangs on it was changed, removed or put elsewhere.
    #[error("the journal was altered: the record at sequence {seq} does not verify")]
    Tampered {
        /// The record's first sequence number.
        seq: u64,
    },
    /// Bodies can't be read without the vault.
    #[error("request and result bodies can't be read while the vault is locked")]
    BodiesLocked,
    /// The recipient to seal to isn't one.
    #[error("the vault's seal recipient is not an age X25519 recipient")]
    BadRecipient,
    /// The identity to open with isn't one.
    #[error("the vault's seal identity is not an age X25519 identity")]
    BadIdentity,
    /// The identity is not the one that this body was sealed to.
    #[error("the body was sealed to another recipient")]
    OtherRecipient,
    /// The recipient of the audit log isn't one.
    #[error("the audit log's recipient is not an age X25519 recipient")]
    BadAuditRecipient,
    /// The audit log is signed by a key that was not given.
    #[error("the audit log is signed by a key that this vault doesn't hold")]
    NoAuditKey,
    /// A newer program wrote a part of the audit log.
    #[error("the audit log can't be read: {0}")]
    AuditUnreadable(#[source] Box<crate::audit::Unreadable>),
    /// A batch without events records nothing.
    #[error("a batch needs at least one event")]
    EmptyBatch,
    /// The host's own events have no body, and no place in the open set.
    #[error("bodies and the open set belong to an invocation")]
    NoInvocation,
    /// Larger than the journal takes.
    #[error("the batch is larger than {} MiB", crate::group::LARGEST_BATCH / 1024 / 1024)]
    TooLarge,
    /// An event has no JSON form.
    #[error("an event could not be encoded")]
    Encoding,
    /// The operating system gave no randomness.
    #[error("the operating system gave no randomness")]
    NoRandomness,
    /// It was closed.
    #[error("the journal is closed")]
    Closed,
    /// A commit failed before. Whether this batch is on disk is not known.
    #[error("a commit failed; the process must end")]
    Failed,
    /// A content can't be stored for want of space: on its file system, beside what is kept in reserve,
    /// or under the limit for all contents. No commit failed, and the journal goes on.
    #[error("no room for {}: free space on its file system, or remove old results", path.display())]
    NoRoom {
        /// What was to be written.
        path: PathBuf,
    },
    /// A content of more chunks than a marker may list.
    #[error("the result is larger than {} GiB", crate::results::LARGEST_CONTENT / 1024 / 1024 / 1024)]
    ContentTooLarge,
    /// A file of a complete content is not what was stored. No byte of it is given out.
    #[error("the stored result is damaged: {} {damage}", path.display())]
    ContentDamaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        damage: Damage,
    },
    /// A content was removed while it was being read.
    #[error("the stored result {} was removed", path.display())]
    ContentGone {
        /// Its folder.
        path: PathBuf,
    },
    /// A content is being written; it can be neither begun again nor removed.
    #[error("the result {} is being written", path.display())]
    ContentBusy {
        /// Its folder.
        path: PathBuf,
    },
    /// An earlier write of this content failed, so that it can't become complete.
    #[error("an earlier write of this result failed")]
    ContentAborted,
    /// A content has fewer chunks.
    #[error("the stored result has no chunk {number}")]
    NoSuchChunk {
        /// The number that was asked for.
        number: u32,
    },
    /// A journal on bare storage has no files beside it.
    #[error("this journal has no folder for large results")]
    NoFolder,
    /// A file operation failed.
    #[error("could not {doing} {}: {source}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// On which file.
        path: PathBuf,
        /// The operating system's answer.
        source: std::io::Error,
    },
    /// Reading failed.
    #[error("could not read the journal: {0}")]
    Storage(#[source] Box<redb::Error>),
}

/// What is wrong with a file of a complete content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// It is not there.
    Missing,
    /// It is shorter or longer than what was stored.
    Length,
    /// It holds other bytes, or those of another place.
    Altered,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "is missing",
            Self::Length => "has another length than what was stored",
            Self::Altered => "was altered",
        })
    }
}

impl JournalError {
    /// Of a write that no commit depends on: a full disk is an answer of its own.
    pub(crate) fn writing(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| match disk::is_full(&source) {
            true => Self::NoRoom { path },
            false => Self::Io { doing, path, source },
        }
    }

    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { doing, path, source }
    }
}

/// Every error of redb becomes its general one.
macro_rules! storage_errors {
    ($($error:ty),+) => { $(
        impl From<$error> for JournalError {
            fn from(error: $error) -> Self {
                Self::Storage(Box::new(error.into()))
            }
        }
    )+ };
}

storage_errors!(redb::TransactionError, redb::TableError, redb::StorageError, redb::CommitError);
