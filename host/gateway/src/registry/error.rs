use crate::home::HomeError;
use proofport_core::digest::Digest;
use proofport_sandbox::LARGEST_MODULE;
use std::io;
use std::path::PathBuf;

/// Why the registry can't do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// The list was altered by something without the vault's key.
    #[error(
        "{} was not written by this home's Proofport, or was altered: nothing on it is trusted; move it away and \
         approve the connectors again with `proofport connector install`",
        file.display()
    )]
    Tampered {
        /// The list.
        file: PathBuf,
    },
    /// The list is authentic and unreadable: a newer program wrote it.
    #[error("{} has a form that this program does not read: upgrade the program", file.display())]
    UnknownForm {
        /// The list.
        file: PathBuf,
    },
    /// Nobody approved this module.
    #[error("no connector with the digest {digest} is approved: see `proofport connector list`")]
    NotApproved {
        /// The digest that was asked for.
        digest: Digest,
    },
    /// An approved module's file is gone.
    #[error("the approved module {} is missing: approve it again with `proofport connector install`", path.display())]
    ModuleMissing {
        /// Where it should be.
        path: PathBuf,
    },
    /// An approved module's file holds other bytes.
    #[error(
        "the module {} is not the one that was approved: find out who changed it, then approve the right one again \
         with `proofport connector install`",
        path.display()
    )]
    DigestMismatch {
        /// The file.
        path: PathBuf,
    },
    /// The module is larger than any that can be loaded.
    #[error("the module is {size} bytes long; {LARGEST_MODULE} is the most")]
    TooLarge {
        /// Its length in bytes.
        size: usize,
    },
    /// The folder can't be made.
    #[error(transparent)]
    Folder(#[from] HomeError),
    /// A file operation failed.
    #[error("could not {doing} {}: {source}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// On which file.
        path: PathBuf,
        /// The operating system's answer.
        source: io::Error,
    },
}
