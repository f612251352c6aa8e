use proofport_core::contract::InjectionMode;
use proofport_core::id::Name;
use proofport_core::secret::SHORTEST_SECRET;
use std::path::PathBuf;

/// Why the vault can't do what was asked, for operators. No variant holds a secret's bytes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VaultError {
    /// There is no file.
    #[error("there is no vault at {}: create one with `proofport init`", path.display())]
    NotFound {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// `create` never overwrites.
    #[error("{} exists already: a vault is never overwritten; move it away first", path.display())]
    AlreadyExists {
        /// The file in the way.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("{} is not a Proofport vault: check the home directory", path.display())]
    NotAVault {
        /// The file.
        path: PathBuf,
    },
    /// The file ends too early.
    #[error("the vault {} ends too early: restore it from a backup", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
    },
    /// Written by a newer program.
    #[error("the vault {} has format version {found}, this program reads 1: upgrade the program", path.display())]
    UnsupportedVersion {
        /// The file.
        path: PathBuf,
        /// The version that it declares.
        found: u32,
    },
    /// The file was damaged or altered.
    #[error("the vault {} was damaged or altered ({what}): restore it from a backup", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Which part.
        what: &'static str,
    },
    /// Another process put an older copy of the file back while this one had it open.
    #[error("the vault {} went back to an older state while in use: restore the newest copy", path.display())]
    WentBack {
        /// The file.
        path: PathBuf,
    },
    /// The passphrase isn't this vault's.
    #[error("wrong passphrase for {}", path.display())]
    WrongPassphrase {
        /// The file.
        path: PathBuf,
    },
    /// An empty passphrase protects nothing.
    #[error("the passphrase is empty")]
    EmptyPassphrase,
    /// The key derivation's cost is outside what this program accepts.
    #[error(
        "the key derivation's cost is out of bounds: 8 KiB per lane to 1 GiB, 1 to 16 passes, 1 to 16 lanes"
    )]
    CostOutOfBounds,
    /// The key derivation got no memory.
    #[error("there is not enough memory for the key derivation ({memory_kib} KiB)")]
    NoMemory {
        /// What it asked for, in KiB.
        memory_kib: u32,
    },
    /// The passphrase must be given first.
    #[error("the vault is locked: unlock it with `proofport vault unlock`")]
    Locked,
    /// Too short to be told from ordinary text.
    #[error("the secret is shorter than {SHORTEST_SECRET} bytes, so it could not be told from ordinary text")]
    TooShort,
    /// Longer than any credential is.
    #[error("the secret is longer than {} KiB", crate::contents::LONGEST_SECRET / 1024)]
    TooLong,
    /// `set` never overwrites.
    #[error(
        "a secret named {name} exists: `proofport secret rotate {name}` gives it a new value; to change where it may be used, `proofport secret remove {name}` first"
    )]
    Exists {
        /// Its name.
        name: Name,
    },
    /// No secret has this name.
    #[error("there is no secret named {name}: see `proofport secret list`")]
    Absent {
        /// The name that was asked for.
        name: Name,
    },
    /// A secret that may go nowhere.
    #[error("a secret needs at least one destination (`--for https://host` or `--for ssh://host`)")]
    NoDestination,
    /// A secret that may be used in no way.
    #[error("a secret needs at least one injection mode (`--mode`)")]
    NoMode,
    /// A mode that no destination of the secret can take.
    #[error(
        "{mode} needs a destination of another kind (`https://host` for HTTP and TLS, `ssh://host` for SSH)"
    )]
    ModeWithoutDestination {
        /// The mode.
        mode: InjectionMode,
    },
    /// The text is no key file.
    #[error("the key file holds no single age X25519 identity")]
    BadAuditIdentity,
    /// The text is no recipient.
    #[error("the audit log's recipient is not an age X25519 recipient")]
    BadAuditRecipient,
    /// The audit log has another recipient already.
    #[error("the audit log is sealed to another recipient already")]
    AuditRecipientSet,
    /// The audit log has no recipient yet.
    #[error("the audit log has no recipient yet")]
    NoAuditRecipient,
    /// Four thousand million rotations.
    #[error("the secret has no free version number left")]
    VersionsExhausted,
    /// The vault's file would become too large to be read again.
    #[error("the vault would grow over {} MiB", crate::storage::LARGEST_FILE / 1024 / 1024)]
    Full,
    /// The operating system gave no randomness.
    #[error("the operating system gave no randomness")]
    NoRandomness,
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
}

/// Why a credential isn't handed out, for operators. A caller sees `VAULT_LOCKED` for
/// [`CredentialError::Locked`] and `CREDENTIAL_UNAVAILABLE` for every other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    /// The vault is locked, or the operator's durable mark is set.
    #[error("the vault is locked")]
    Locked,
    /// There is no such secret, or not in this version.
    #[error("there is no such secret or version")]
    Absent,
    /// The secret may not be used in this way.
    #[error("the secret does not permit this injection mode")]
    ModeNotPermitted,
    /// The secret may not be sent there.
    #[error("the secret does not permit this destination")]
    DestinationNotPermitted,
    /// The stored value doesn't open under its name and version.
    #[error("the stored secret can't be decrypted")]
    Undecryptable,
}
