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
    #[error("the journal {} has format version {found}, this program reads 1: upgrade the program", path.display())]
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

impl JournalError {
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
