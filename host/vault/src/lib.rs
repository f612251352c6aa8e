//! The vault: secrets encrypted at rest, used only where both the secret and the connection say so.
//!
//! One file holds everything. From the passphrase comes a key ([`KdfParams`]), which wraps a random
//! data key; from the data key come one subkey per purpose. Each secret's value is sealed under the
//! records' subkey with its name and version as associated data; all of them, with names, versions,
//! destinations and modes, are sealed once more as a whole, with the file's header as associated
//! data. So a locked file shows no name and no number of secrets, and a record can't be taken out,
//! put back, swapped or brought from another file. What the file can't prove is that it is the
//! newest one: an older copy of the whole file is a valid vault (a running host notices a step back).
//!
//! Nothing here prints, and there is no way to read a value but [`Vault::credential`].

mod audit;
mod contents;
mod error;
mod file;
mod kdf;
mod keys;
mod seal;
mod storage;
#[cfg(test)]
mod tests;
mod uses;
mod vault;

pub use audit::AuditIdentity;
pub use contents::{SecretInfo, VersionInfo};
pub use error::{CredentialError, VaultError};
pub use kdf::KdfParams;
pub use keys::HostKeys;
pub use uses::{Destination, InvalidDestination, SshHost, Use, Uses};
pub use vault::{Credential, State, Vault};
