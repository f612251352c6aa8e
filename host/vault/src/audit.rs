//! The identity that opens the audit log. It is made here and kept by the operator: no vault holds it.

use crate::error::VaultError;
use age::secrecy::ExposeSecret as _;
use age::x25519::Identity;
use proofport_core::secret::Secret;
use zeroize::Zeroizing;

/// An age X25519 identity, for the moment in which it is written or its recipient is learnt.
pub struct AuditIdentity(Identity);

impl AuditIdentity {
    /// A new one.
    #[must_use]
    pub fn generate() -> Self {
        Self(Identity::generate())
    }

    /// The one in a key file, as `age-keygen` and [`AuditIdentity::file`] write it: blank lines and those that
    /// begin with `#` are skipped.
    ///
    /// # Errors
    /// When there is none, or more than one.
    pub fn parse(text: &Secret) -> Result<Self, VaultError> {
        let text = std::str::from_utf8(text.expose()).map_err(|_| VaultError::BadAuditIdentity)?;
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        match (lines.next(), lines.next()) {
            (Some(line), None) => line.parse().map(Self).map_err(|_| VaultError::BadAuditIdentity),
            (Some(_) | None, _) => Err(VaultError::BadAuditIdentity),
        }
    }

    /// Its recipient, `age1…`.
    #[must_use]
    pub fn recipient(&self) -> String {
        self.0.to_public().to_string()
    }

    /// The text of a key file, which the age tools read, too.
    #[must_use]
    pub fn file(&self) -> Zeroizing<String> {
        Zeroizing::new(format!(
            "# Opens the audit log of a Proofport home: `proofport audit show --identity THIS-FILE`.\n\
             # The host needs only the public key. Keep this file where the host can't read it.\n\
             # public key: {}\n{}\n",
            self.recipient(),
            self.0.to_string().expose_secret(),
        ))
    }
}
